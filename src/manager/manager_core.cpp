// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "manager_core.hpp"

#include <tier/core/assert.hpp>
#include <tier/core/error.hpp>

#include <algorithm>
#include <bit>
#include <boost/container_hash/hash.hpp>
#include <functional>
#include <new>
#include <tuple>
#include <utility>

#include "admission/migration.hpp"
#include "admission/out_of_memory.hpp"
#include "collected_statistics.hpp"
#include "fork_faults.hpp"
#include "invariants.hpp"
#include "live_managers.hpp"

namespace tier {
namespace {

ManagerOptions with_bounds(ManagerOptions options) {
  using namespace std::chrono_literals;
  auto& patience = options.report_waits_after;  // deadlines are computed from it
  patience = std::clamp<std::chrono::milliseconds>(patience, 1ms, 24h * 365);
  return options;
}

void check_alignment(std::size_t alignment) {
  TIER_VERIFY(std::has_single_bit(alignment) && alignment <= std::size_t{2} << 20,
              "an alignment must be a power of two up to 2 MiB");
}

/// Returns the name in memory that can be read under the lock: a name in a window is copied; without memory it is empty.
std::string_view readable(std::string_view name, std::string& copy) noexcept try {
  if (name.empty() || WindowSpace::find(name.data()) == nullptr) return name;
  return copy = name;
} catch (const std::bad_alloc&) {
  return {};
}

}  // namespace

ManagerCore::ManagerCore(std::vector<std::unique_ptr<Tier>> tiers, std::unique_ptr<Policy> policy,
                         ManagerOptions options)
    : state_{mutex_,
             clock_,
             engine_,
             with_bounds(options),
             std::move(policy),
             [this]() TIER_NO_THREAD_SAFETY_ANALYSIS { publish_wants(); },
             [this] { return shared_from_this(); }},
      store_{state_, this, std::move(tiers)},
      movement_{state_, store_},
      admission_{*this, state_, store_, movement_, {advised_, advice_limit_}},
      engine_{{.threads = options.threads,
               .movers = options.movers,
               .yields = options.yields,
               .clock = options.clock}} {
#if defined(TIER_LOCK_TIMES)
  mutex_.timer().keep(hold_times_);
#endif
  for (const auto& tier : store_.tiers) tiers_.push_back(tier.tier.get());
  advice_limit_ = store_.tiers.fastest().heap.capacity().count / 2;
  publish_wants();
}

ManagerCore::~ManagerCore() {
  LiveManagers::instance().remove(this);
  quiesce();
  if (!in_fork_child_) {
    const MutexLock lock{mutex_};
    store_.blocks.reclaim_garbage();  // windows are memory of their own
    store_.windows.drop_all();
  }
  store_.pages.end();  // before the rest, and without the lock: its threads use everything here
}

// --- objects ---------------------------------------------------------------------------------------------

ObjectHandle ManagerCore::create(Bytes size, std::size_t alignment, std::string_view asked_name) {
  refuse_in_child("an allocation");
  const std::string name{asked_name};  // it may lie in a window, which must not be read under the lock
  check_alignment(alignment);
  const PolicyFailure::Tells tells{state_.policy_failure};
  auto self = shared_from_this();
  MutexLock lock{mutex_};
  admission_.hints.drain();
  Object& object = admission_.objects.create(size.count, alignment, name, lock);
  return {std::move(self), &object};
}

ObjectHandle ManagerCore::create_empty(Bytes size, std::size_t alignment, std::string_view asked_name) {
  refuse_in_child("an allocation");
  const std::string name{asked_name};  // as in create()
  check_alignment(alignment);
  const PolicyFailure::Tells tells{state_.policy_failure};
  auto self = shared_from_this();
  MutexLock lock{mutex_};
  admission_.hints.drain_own();
  Object& object = admission_.objects.create_empty(size.count, alignment, name, lock);
  return {std::move(self), &object};
}

PlacedStorage ManagerCore::allocate_fixed(Bytes size, std::size_t alignment, TierIndex t,
                                          std::string_view asked_name) {
  refuse_in_child("an allocation");
  const std::string name{asked_name};  // as in create()
  check_tier(t);
  check_alignment(alignment);
  MutexLock lock{mutex_};
  auto self = shared_from_this();
  Object& object = admission_.objects.create_fixed(size.count, alignment, t, name, lock);
  PlacedStorage storage;
  storage.handle_ = ObjectHandle{std::move(self), &object};
  storage.tier_ = tiers_[t];
  storage.index_ = t;
  storage.offset_ = store_.tiers[t].heap.offset(object.block->record->primary()->slot);
  storage.address_ = object.block->address.load(std::memory_order_relaxed);
  return storage;
}

ObjectHandle ManagerCore::make_window(std::size_t size, std::size_t most, std::size_t alignment,
                                      std::string_view asked_name) {
  refuse_in_child("an allocation");
  const std::string name{asked_name};  // as in create()
  check_alignment(alignment);
  auto self = shared_from_this();
  MutexLock lock{mutex_};
  admission_.hints.drain();
  Object& object = admission_.windows.create(size, most, alignment, name, lock);
  return {std::move(self), &object};
}

void ManagerCore::grow(ObjectRef object, Bytes size) {
  refuse_in_child("an allocation");
  MutexLock lock{mutex_};
  admission_.hints.drain();
  admission_.windows.grow(const_cast<Object&>(*object.object), size.count, lock);
}

void ManagerCore::destroy(Object& object) noexcept {
  if (in_fork_child_) return;
  const MutexLock lock{mutex_};
  admission_.hints.drain();
  admission_.objects.destroy(object);
}

void ManagerCore::retire(ObjectRef object) noexcept {
  if (in_fork_child_) return;
  const MutexLock lock{mutex_};
  admission_.hints.drain();
  admission_.objects.retire(const_cast<Object&>(*object.object));
}

void ManagerCore::retire(BlockId id) noexcept {
  if (in_fork_child_) return;
  const MutexLock lock{mutex_};
  admission_.hints.drain();
  if (Block* const b = store_.catalog.find(id)) admission_.objects.retire(*b);
}

void ManagerCore::revive(ObjectRef object) {
  refuse_in_child("an allocation");
  MutexLock lock{mutex_};
  admission_.hints.drain();
  admission_.objects.revive_part(const_cast<Object&>(*object.object), lock);
}

void ManagerCore::revive(BlockId id) {
  refuse_in_child("an allocation");
  MutexLock lock{mutex_};
  admission_.hints.drain();
  admission_.objects.revive(*store_.catalog.find(id), true, lock);
}

// --- scopes ----------------------------------------------------------------------------------------------

void ManagerCore::enter(std::span<Operand> batch, const BatchContext& asked) {
  // From here on operands that have entered have pins: they may be given back, and entered again.
  for (auto& op : batch)
    if (op.slot != nullptr) op.block->pin_for(*std::exchange(op.slot, nullptr));
  std::string name;
  auto context = asked;
  context.kernel = readable(asked.kernel, name);
  if (in_fork_child_) return enter_in_child(batch);
  const auto is_advice = [](const Operand& op) { return op.advice; };
  if (std::ranges::any_of(batch, is_advice)) return admission_.advice.enter(batch, context);
  admission_.gate.enter(batch, context);
}

void ManagerCore::hold(Operand& operand) noexcept {
  admission_.advice.hold(
      *operand.block);  // the operand may lie in a window, which must not be read under the lock
}

void ManagerCore::let_go(Operand& operand) noexcept {
  admission_.advice.release(*std::exchange(operand.block, nullptr));
}

void ManagerCore::locate(std::span<const Operand> batch, std::span<TierIndex> tiers) const noexcept {
  TIER_ASSERT(batch.size() == tiers.size(), "there must be one tier for each operand");
  const MutexLock lock{mutex_};
  for (std::size_t i = 0; i < std::min(batch.size(), tiers.size()); ++i) {
    const Region* const primary = batch[i].entered ? batch[i].block->record->primary() : nullptr;
    tiers[i] = primary != nullptr ? primary->tier : no_tier;
  }
}

void ManagerCore::kernel_begin(const BatchContext& context, std::span<const Operand> batch) {
  if (in_fork_child_) return;
  admission_.hints.prepare();
  std::string name{context.kernel};  // it may lie in a window, as operands may: not to be read under the lock
  std::vector<OperandFacts> operands;
  std::size_t hash = std::hash<std::string_view>{}(context.kernel);
  boost::hash_combine(hash, context.shapes);
  std::vector<const Block*> blocks;
  for (const auto& op : batch) {
    boost::hash_combine(hash, op.size);
    boost::hash_combine(hash, static_cast<unsigned>(op.use));
    if (op.block == nullptr) continue;
    operands.push_back({op.block->id, op.use, no_tier});
    blocks.push_back(op.block);
  }
  const auto scope = context.scope;
  const MutexLock lock{mutex_};
  admission_.hints.drain_own();
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (const Region* primary = blocks[i]->record->primary()) operands[i].tier = primary->tier;
  state_.announcer.begin_kernel(scope, std::move(name), hash, std::move(operands));
}

void ManagerCore::kernel_end(std::uint64_t scope, std::uint64_t duration_ns) noexcept {
  if (in_fork_child_) return;
  if (admission_.hints.leave({Note::Kind::KernelEnd, {}, {}, {}, 0, scope, duration_ns})) return;
  const MutexLock lock{mutex_};
  admission_.hints.drain_own();
  state_.announcer.end_kernel(scope, duration_ns);
}

void ManagerCore::used(const Block& b, Use use, bool outside) noexcept {
  if (!in_fork_child_) admission_.hints.use_unlocked(b, use, outside);
}

void ManagerCore::last_unpinned(BlockId id) noexcept {
  if (in_fork_child_) return;
  std::shared_ptr<Manager> keeper;  // may be our last owner: released after the lock
  const MutexLock lock{mutex_};
  Block* const b = store_.catalog.find(id);
  if (b == nullptr || b->pins() != 0) return;
  store_.blocks.last_unpinned(*b);
  keeper = state_.lifetime.needless_keeper();
}

// --- hints -----------------------------------------------------------------------------------------------

void ManagerCore::hint(Hint hint, ObjectRef object, std::uint64_t scope) {
  if (in_fork_child_) return;
  if (hint == Hint::Archive) admission_.hints.prepare();  // the scope's end will take it back
  const MutexLock lock{mutex_};
  admission_.hints.drain_own();
  if (!state_.lifetime.is_closed()) admission_.hints.apply(hint, *object.object, scope);
}

void ManagerCore::hint(Hint hint, BlockRun blocks, std::uint64_t scope) {
  if (in_fork_child_) return;
  if (hint == Hint::Archive) admission_.hints.prepare();
  const MutexLock lock{mutex_};
  admission_.hints.drain_own();
  if (!state_.lifetime.is_closed()) admission_.hints.apply(hint, blocks, scope);
}

void ManagerCore::hint_later(Hint hint, ObjectRef object, std::uint64_t scope) noexcept {
  if (in_fork_child_) return;
  admission_.hints.leave_hint({Note::Kind::Hint, hint, {}, {}, 0, object.object->block->id, scope});
}

void ManagerCore::hint_later(Hint hint, BlockRun blocks, std::uint64_t scope) noexcept {
  if (in_fork_child_ || blocks.count == 0) return;
  admission_.hints.leave_hint({Note::Kind::Hint, hint, {}, {}, blocks.count, blocks.first, scope});
}

Outcome ManagerCore::prefetch(ObjectRef object) noexcept {
  if (in_fork_child_) return Outcome::Gone;
  const MutexLock lock{mutex_};
  admission_.hints.drain_own();
  return state_.lifetime.is_closed() ? Outcome::Gone : admission_.hints.prefetch(*object.object);
}

Outcome ManagerCore::prefetch(BlockId id) noexcept {
  if (in_fork_child_) return Outcome::Gone;
  const MutexLock lock{mutex_};
  admission_.hints.drain_own();
  Block* const b = state_.lifetime.is_closed() ? nullptr : store_.catalog.find(id);
  return b == nullptr ? Outcome::Gone : admission_.hints.prefetch(*b);
}

// --- the runtime -----------------------------------------------------------------------------------------

void ManagerCore::migrate(std::span<const BlockId> ids, TierIndex t) {
  check_tier(t);
  if (in_fork_child_) return;
  MutexLock lock{mutex_};
  admission_.hints.drain_own();
  Migration{state_, store_, movement_, t, lock}.run(ids);
}

void ManagerCore::end_of_step() {
  if (in_fork_child_) return;
  const PolicyFailure::Tells tells{state_.policy_failure};
  const MutexLock lock{mutex_};
  admission_.hints.drain();
  StepEvent event;
  state_.announcer.tell(event, &Observer::on_step);
  state_.announcer.ask([&](Policy& p, PolicyContext& context) { p.on_step(event, context); });
  store_.blocks.reclaim_garbage();
  clock_.advance();
}

void ManagerCore::compact() {
  if (in_fork_child_) return;
  MutexLock lock{mutex_};
  admission_.hints.drain();
  const CallInProgress call{state_, store_, movement_.compactor};
  for (TierIndex t = 0; t < store_.tiers.count(); ++t)
    movement_.compactor.compact(t, Closeness::Preferred, lock);
}

void ManagerCore::quiesce() noexcept {
  if (in_fork_child_) return;
  const PolicyFailure::Tells tells{state_.policy_failure};
  MutexLock lock{mutex_};
  wait_until_idle(lock);
}

std::vector<std::string> ManagerCore::close() noexcept {
  if (in_fork_child_) return {};
  companions_.stop();
  const PolicyFailure::Tells tells{state_.policy_failure};
  MutexLock lock{mutex_};
  admission_.hints.drain();
  state_.lifetime.close();
  movement_.transfers.cancel_submitted();
  wait_until_idle(lock);
  store_.blocks.reclaim_garbage();
  store_.windows.drop_all();
  std::vector<std::string> survivors;
  try {
    for (const auto& object : store_.catalog.objects()) survivors.push_back(object.name);
  } catch (const std::bad_alloc&) {  // only for a message: those that fit will do
  }
  return survivors;
}

void ManagerCore::wait_until_idle(MutexLock& lock) noexcept {
  while (!movement_.transfers.is_idle()) movement_.transfers.hurry(true, lock);
}

void ManagerCore::check_tier(TierIndex t) const {
  if (t < tiers_.size()) return;
  throw ConfigError{"no such tier", std::to_string(t), 0, "0 to " + std::to_string(tiers_.size() - 1)};
}

// --- telling ---------------------------------------------------------------------------------------------

/// Publishes to scopes what the policy and the observers want to be told.
void ManagerCore::publish_wants() noexcept {
  const bool kernels = state_.announcer.wants_kernels();
  tells_kernels_.store(kernels, std::memory_order_relaxed);
  wants_kernels_.store(kernels || thread_observer_.load(std::memory_order_relaxed) != nullptr,
                       std::memory_order_relaxed);
  store_.blocks.refresh_all();
}

void ManagerCore::add_observer(Observer& observer) {
  const MutexLock lock{mutex_};
  admission_.hints.drain();  // notes from before its time
  state_.announcer.add(observer);
  for (const auto& object : store_.catalog.objects()) {
    const auto alignment = object.grouped ? object.alignment : object.block->record->alignment;
    auto made = Objects::event_of(object, ObjectChange::Made, alignment);
    state_.announcer.stamp(made);
    observer.on_object(made);
    for_each_block(object, [&](const Block& b) {
      if (b.record->primary() == nullptr) return;
      PlacementEvent placed{{}, b.id, b.record->primary()->tier};
      state_.announcer.stamp(placed);
      observer.on_placement(placed);
    });
  }
}

void ManagerCore::remove_observer(Observer& observer) noexcept {
  const MutexLock lock{mutex_};
  admission_.hints.drain();
  state_.announcer.remove(observer);
}

void ManagerCore::set_thread_observer(std::shared_ptr<ThreadObserver> observer) {
  const MutexLock lock{mutex_};
  auto* const now = observer.get();
  if (now != nullptr) state_.announcer.keep(std::move(observer));
  thread_observer_.store(now, std::memory_order_release);  // (4) -> (3)
  publish_wants();
}

// --- counting --------------------------------------------------------------------------------------------

void ManagerCore::count_moved(TierIndex from, TierIndex to, Cause cause, std::uint64_t bytes,
                              std::uint64_t transfers) noexcept {
  const MutexLock lock{mutex_};
  state_.counters.add_moved(from, to, cause, bytes, transfers);
}

void ManagerCore::count_stall(std::uint64_t ns) noexcept {
  const MutexLock lock{mutex_};
  state_.counters.count_stall(ns);
}

Statistics ManagerCore::statistics() const {
  Statistics tables;
  companions_.add_statistics(tables);  // before the lock: companions' locks come first
  const MutexLock lock{mutex_};
  Statistics s = collect_statistics(state_, store_, movement_);
  s.tables = std::move(tables.tables);
  admission_.hints.add_statistics(s);
  s.metadata += tables.metadata + admission_.hints.memory();
  return s;
}

std::vector<ObjectStatistics> ManagerCore::object_statistics() const {
  const MutexLock lock{mutex_};
  return collect_object_statistics(store_.catalog);
}

void ManagerCore::check_invariants() const {
  const MutexLock lock{mutex_};
  tier::check_invariants(state_, store_, movement_);
}

// --- forks -----------------------------------------------------------------------------------------------

void ManagerCore::before_fork() noexcept {
  companions_.before_fork();  // companions may wait for us, never we for them
  // Before the lock: a chunk in flight may need it to end. In a child nothing runs, and the engine's lock has no living
  // holder.
  if (!in_fork_child_) engine_.pause();
  mutex_.lock();
}

void ManagerCore::after_fork(bool in_child) noexcept {
  if (in_child) {
    in_fork_child_ = true;
    state_.lifetime.enter_child();
    store_.pages.forbid_absent();
    if (store_.pages.existing_space() != nullptr) explain_faults_in_child();
    store_.blocks.refresh_all();
  }
  mutex_.unlock();
  if (!in_fork_child_) engine_.resume();
  companions_.after_fork(in_child);
}

/// Enters without transfers or waits: a block is where it is, or out of reach.
void ManagerCore::enter_in_child(std::span<Operand> batch) {
  for (auto& op : batch) {
    op.entered |= op.block == nullptr;
    if (op.entered) continue;
    Block& b = *op.block;
    const auto state = b.state.pin_anyway();
    op.entered = true;
    op.address = b.address.load(std::memory_order_acquire);
    bool is_here = op.address != nullptr && !state.is_retired() && !state.has_failed();
    std::string name;
    {
      const MutexLock lock{mutex_};
      is_here = is_here && store_.blocks.is_copied_by_fork(b);
      if (!is_here) name = name_of(b);
    }
    if (is_here) {
      op.address += op.offset;
      b.note_use(op.use, clock_.stamp());
      continue;
    }
    leave(batch);
    throw TierError{std::make_error_code(std::errc::operation_not_permitted),
                    "the child of a fork cannot reach \"" + name + "\""};
  }
}

void ManagerCore::refuse_in_child(std::string_view what) const {
  if (!in_fork_child_) return;
  throw TierError{std::make_error_code(std::errc::operation_not_permitted),
                  std::string{what} + " is not possible in the child of a fork"};
}

}  // namespace tier
