// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  The manager's lifetime, its waits, and what it reports to policies and observers.
#include "live_managers.hpp"
#include "manager_core.hpp"

#include <tier/core/assert.hpp>
#include <tier/core/error.hpp>
#include <tier/core/request_size.hpp>

#include <algorithm>
#include <boost/container_hash/hash.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>

#include "core/metadata_bytes.hpp"
#include "core/say.hpp"

namespace tier {
namespace {

std::vector<std::unique_ptr<Tier>> ordered(std::vector<std::unique_ptr<Tier>> tiers) {
  if (tiers.empty()) throw ConfigError{"a runtime needs at least one tier"};
  if (tiers.size() > max_tiers)
    throw ConfigError{"a runtime has at most " + std::to_string(max_tiers) + " tiers, not " +
                      std::to_string(tiers.size())};
  std::size_t all = 0;  // statistics add their sizes
  for (const auto& t : tiers) {
    const auto sum = detail::checked_sum(all, t->capacity().count);
    if (!sum || *sum > detail::largest_request)
      throw ConfigError{"the tiers of a runtime have 8 EiB or more together, with " +
                        std::to_string(t->capacity().count) + " bytes of " + std::string{t->name()} +
                        "; allowed: less"};
    all = *sum;
  }
  std::ranges::stable_sort(tiers,
                           [](const auto& a, const auto& b) { return is_faster(a->model(), b->model()); });
  if (!tiers.front()->model().addressable)
    throw ConfigError{"none of the tiers can be reached by the CPU: add one such as dram:1GiB"};
  return tiers;
}

}  // namespace

std::shared_ptr<Manager> Manager::make(std::vector<std::unique_ptr<Tier>> tiers,
                                       std::unique_ptr<Policy> policy, ManagerOptions options) {
  auto manager = std::make_shared<ManagerCore>(std::move(tiers), std::move(policy), options);
  LiveManagers::instance().add(manager);
  return manager;
}

void Manager::leave(std::span<Operand> batch) noexcept {
  for (auto& op : batch) {
    if (op.block == nullptr) continue;
    if (op.entered)
      leave(op);
    else if (op.advice)
      op.block->manager->let_go(op);
    op.entered = false;
  }
}

ManagerCore::ManagerCore(std::vector<std::unique_ptr<Tier>> tiers, std::unique_ptr<Policy> policy,
                         ManagerOptions options)
    : options_{options},
      timeline_{options.clock},
      announcer_{std::move(policy), timeline_, policy_failure_,
                 [this]() TIER_NO_THREAD_SAFETY_ANALYSIS { wants_changed(); }},
      engine_{{.threads = options.threads,
               .movers = options.movers,
               .yields = options.yields,
               .clock = options.clock}} {
  using namespace std::chrono_literals;
  auto& patience = options_.report_waits_after;  // deadlines are computed from it
  patience = std::clamp<std::chrono::milliseconds>(patience, 1ms, 24h * 365);
  auto in_order = ordered(std::move(tiers));
  if (options.clock != nullptr)
    for (const auto& t : in_order)
      if (t->has_bytes())
        throw ConfigError{"a virtual clock is for simulated tiers alone, not for " + std::string{t->name()}};
  for (const auto& t : in_order) {
    io_alignment_ = std::max(io_alignment_, t->io_alignment());
    out_of_reach_ |= !t->model().addressable;
  }
  granule_ = std::max(granule_, io_alignment_);  // copies move whole sectors, which must be the region's
  tiers_.reserve(in_order.size());
  for (auto& t : in_order) {
    const Bytes capacity{t->capacity().count / granule_ * granule_};
    RegionHeap heap{capacity, Bytes{granule_}};
    models_.push_back(t->model());
    tiers_.push_back(TierState{.tier = std::move(t), .heap = std::move(heap)});
  }
  window_block_ = largest_block(options_.window_blocks, tiers_.front().heap.capacity());
  advice_limit_ = tiers_.front().heap.capacity().count / 2;
  if (!options_.cached_windows)
    options_.cached_windows = Bytes{detail::checked ? 0 : tiers_.front().heap.capacity().count / 8};
  wants_changed();
}

ManagerCore::~ManagerCore() {
  LiveManagers::instance().remove(this);
  quiesce();
  if (!in_fork_child_) {
    const MutexLock lock{mutex_};
    reclaim_garbage();  // windows are memory of their own
    drop_cached_windows();
  }
  windows_.reset();  // before the rest: its threads use everything here
  for (auto& tier : tiers_) {
    tier.ranked.clear();
    tier.secondaries.clear();
  }
  objects_.clear();
}

// --- waiting ---------------------------------------------------------------------------------------------

/// Waits for any change, or until it is time to report the wait.
void ManagerCore::wait(MutexLock& lock) {
  if (options_.clock != nullptr) {
    bool moved = false;
    without_lock(lock, [&] { moved = engine_.wait_for_mover(); });
    TIER_VERIFY(moved, "in virtual time there is nothing to wait for but copies");
    return;
  }
  ++waiting_;
  changed_.wait_until(mutex_, std::chrono::steady_clock::now() + options_.report_waits_after);
  --waiting_;
}

void ManagerCore::changed() noexcept {
  if (waiting_ > 0) changed_.notify_all();
}

void ManagerCore::leave_locked(Block& b) noexcept {
  if (!b.state.unpin().was_last_awaited()) return;
  b.state.stop_awaiting();
  if (b.record->kept) {
    b.record->kept = false;
    --kept_;
  }
  release_if_dead(b);
  changed();
}

/// Lists the holders under the lock and prints them without it: the reader of stderr may be slow.
void ManagerCore::report_holders(std::string_view waiting, std::uint64_t size, MutexLock& lock) noexcept try {
  std::string text{waiting};
  text += "); pinned:";
  for (const auto& [id, b] : by_id_) {
    if (b->pins() == 0 || b->record->immovable) continue;
    text += " \"" + std::string{name_of(*b)} + "\" (" + std::to_string(b->size) + " bytes, " +
            std::to_string(b->pins()) + " pins)";
  }
  without_lock(lock, [&] {
    detail::say("a scope has waited long for %llu bytes (%s", static_cast<unsigned long long>(size),
                text.c_str());
  });
} catch (const std::bad_alloc&) {  // perhaps the next report succeeds
}

void ManagerCore::quiesce() noexcept {
  if (in_fork_child_) return;
  const TellsFailure tells{*this};
  MutexLock lock{mutex_};
  while (!in_flight_.empty() || pending_rooms_ > 0) hurry(true, lock);
}

std::vector<std::string> ManagerCore::close() noexcept {
  if (in_fork_child_) return {};
  companions_.stop();
  const TellsFailure tells{*this};
  MutexLock lock{mutex_};
  drain_notes();
  closed_ = true;
  for (auto& [id, b] : by_id_)
    if (b->record->transfer != nullptr && b->record->transfer->submitted)
      engine_.cancel(*b->record->transfer);
  while (!in_flight_.empty() || pending_rooms_ > 0) hurry(true, lock);
  reclaim_garbage();
  drop_cached_windows();
  std::vector<std::string> survivors;
  try {
    for (const auto& object : objects_) survivors.push_back(object.name);
  } catch (const std::bad_alloc&) {  // only for a message: those that fit will do
  }
  return survivors;
}

// --- telling ---------------------------------------------------------------------------------------------

Block* ManagerCore::find(BlockId id) const noexcept {
  const auto it = by_id_.find(id);
  return it == by_id_.end() ? nullptr : it->second;
}

/// Publishes to scopes what the policy and the observers want to be told.
void ManagerCore::wants_changed() noexcept {
  const bool kernels = announcer_.wants_kernels();
  tells_kernels_.store(kernels, std::memory_order_relaxed);
  wants_kernels_.store(kernels || thread_observer_.load(std::memory_order_relaxed) != nullptr,
                       std::memory_order_relaxed);
  for (auto& [id, b] : by_id_) refresh(*b);
}

void ManagerCore::add_observer(Observer& observer) {
  MutexLock lock{mutex_};
  drain_notes();  // notes from before its time
  announcer_.add(observer);
  for (const auto& object : objects_) {
    const auto alignment = object.grouped ? object.alignment : object.block->record->alignment;
    auto made = event_of(object, ObjectChange::Made, alignment);
    announcer_.stamp(made);
    observer.on_object(made);
    for_each_block(object, [&](const Block& b) TIER_NO_THREAD_SAFETY_ANALYSIS {
      if (b.record->primary() == nullptr) return;
      PlacementEvent placed{{}, b.id, b.record->primary()->tier};
      announcer_.stamp(placed);
      observer.on_placement(placed);
    });
  }
}

void ManagerCore::remove_observer(Observer& observer) noexcept {
  MutexLock lock{mutex_};
  drain_notes();
  announcer_.remove(observer);
}

void ManagerCore::set_thread_observer(std::shared_ptr<ThreadObserver> observer) {
  MutexLock lock{mutex_};
  auto* const now = observer.get();
  if (now != nullptr) announcer_.keep(std::move(observer));
  thread_observer_.store(now, std::memory_order_release);  // (4) -> (3)
  wants_changed();
}

ObjectEvent ManagerCore::event_of(const Object& object, ObjectChange change, std::size_t alignment) noexcept {
  return {{}, change, {&object}, alignment, object.block->record->immovable};
}

void ManagerCore::tell_object(const Object& object, ObjectChange change, std::size_t alignment) noexcept {
  announcer_.tell_observers(event_of(object, change, alignment), &Observer::on_object);
}

/// Reports a use. If this thread's ring is full, drains it; if another thread holds the lock, drops the use and counts it.
/// \param locked  the caller has the lock
void ManagerCore::used(const Block& b, Use use, bool outside, bool locked) noexcept {
  if (in_fork_child_) return;
  const Note note{Note::Kind::Use, {}, use, outside, 0, b.id, 0};
  if (notes_->leave(note)) return;
  if (!locked && !mutex_.try_lock()) {
    uses_dropped_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  drain_own_notes();
  CarryOut{*this}(note);
  if (!locked) mutex_.unlock();
}

bool Block::enter_watched(BlockState::Value before, Use use, std::uint64_t stamp) noexcept {
  if (before.needs_manager()) {
    leave();
    return false;
  }
  note_use(use, stamp);
  static_cast<ManagerCore*>(manager)->used(*this, use, before.is_outside(), false);
  return true;
}

/// Carries out the notes that destructors and uses have left, of all threads.
void ManagerCore::drain_notes() noexcept {
  if (in_fork_child_) return;  // the parent does it
  notes_->take(CarryOut{*this});
}

/// The same for the calling thread alone: for frequent calls.
void ManagerCore::drain_own_notes() noexcept {
  if (in_fork_child_) return;
  notes_->take_own(CarryOut{*this});
}

void ManagerCore::carry_out(const Note& note) noexcept {
  switch (note.kind) {
    case Note::Kind::KernelEnd:
      return announcer_.end_kernel(note.id, note.value, *this);
    case Note::Kind::Hint:
      return carry_out_hint(note);
    case Note::Kind::Use:
      if (!note.outside) ++counts_.hits;
      announcer_.tell_use(note, *this);
  }
}

void ManagerCore::check_tier(TierIndex t) const {
  if (t < tiers_.size()) return;
  throw ConfigError{"no such tier", std::to_string(t), 0, "0 to " + std::to_string(tiers_.size() - 1)};
}

void ManagerCore::locate(std::span<const Operand> batch, std::span<TierIndex> tiers) const noexcept {
  TIER_ASSERT(batch.size() == tiers.size(), "one tier for each operand");
  const MutexLock lock{mutex_};
  for (std::size_t i = 0; i < std::min(batch.size(), tiers.size()); ++i) {
    const Region* const primary = batch[i].entered ? batch[i].block->record->primary() : nullptr;
    tiers[i] = primary != nullptr ? primary->tier : no_tier;
  }
}

void ManagerCore::kernel_begin(const BatchContext& context, std::span<const Operand> batch) {
  if (in_fork_child_) return;
  notes_->prepare();
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
  MutexLock lock{mutex_};
  drain_own_notes();
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (const Region* primary = blocks[i]->record->primary()) operands[i].tier = primary->tier;
  announcer_.begin_kernel(scope, std::move(name), hash, std::move(operands), *this);
}

void ManagerCore::kernel_end(std::uint64_t scope, std::uint64_t duration_ns) noexcept {
  if (in_fork_child_ || notes_->leave({Note::Kind::KernelEnd, {}, {}, {}, 0, scope, duration_ns})) return;
  MutexLock lock{mutex_};
  drain_own_notes();
  announcer_.end_kernel(scope, duration_ns, *this);
}

/// \param object  the block's object; 0 if it is unknown and several share the block
void ManagerCore::apply_hint(Hint hint, Block& b, std::uint64_t scope, ObjectId object) noexcept {
  auto& record = *b.record;
  if (record.immovable || record.dying) return;
  HintEvent event{{}, hint, b.id, scope, object};
  announcer_.tell(event, &Observer::on_hint);
  // A group can only be archived as a whole, and no hint is for a whole group.
  if (hint == Hint::Archive && record.group != nullptr) return;
  record.archived = hint == Hint::Archive;
  if (record.archived) record.prefetched = 0;
  refresh(b);
  const auto* const transfer = record.transfer;
  const bool comes = transfer != nullptr && transfer->kind == TransferKind::Fetch;
  const bool present = comes || (record.primary() != nullptr && record.primary()->tier == 0);
  hinted_ = {b.id, std::nullopt};
  announcer_.ask([&](Policy& p) { p.on_hint(event, *this); });
  if (hint != Hint::Archive) count_hint(present, hinted_.brought);
  hinted_ = {};
  rerank(b.id);
}

void ManagerCore::count_hint(bool present, std::optional<Outcome> brought) noexcept {
  auto& counts = counts_.hints;
  if (present)
    ++counts.present;
  else if (!brought)
    ++counts.passed_over;
  else if (*brought == Outcome::Done)
    ++counts.begun;
  else
    ++(*brought == Outcome::Full ? counts.full : counts.busy);
}

/// Skips blocks that are gone.
void ManagerCore::apply_hint(Hint hint, BlockRun blocks, std::uint64_t scope) noexcept {
  for (auto id = blocks.first; id < blocks.first + blocks.count; ++id)
    if (Block* const b = find(id))
      apply_hint(hint, *b, scope, b->record->object != nullptr ? b->record->object->id : 0);
}

/// A hint on an object in a window is for all blocks that it has by now.
void ManagerCore::carry_out_hint(const Note& note) noexcept {
  if (note.count > 0) return apply_hint(note.hint, BlockRun{note.id, note.count}, note.value);
  Block* const first = find(note.id);
  if (first == nullptr) return;
  const Object* const object = first->record->object;
  if (object == nullptr) return apply_hint(note.hint, *first, note.value, 0);  // several share the block
  for_each_block(*object, [&](Block& b) TIER_NO_THREAD_SAFETY_ANALYSIS {
    apply_hint(note.hint, b, note.value, object->id);
  });
}

void ManagerCore::hint(Hint hint, ObjectRef object, std::uint64_t scope) {
  if (in_fork_child_) return;
  if (hint == Hint::Archive) notes_->prepare();  // the scope's end will take it back
  MutexLock lock{mutex_};
  drain_own_notes();
  if (closed_) return;
  for_each_block(*object.object,
                 [&](Block& b) TIER_NO_THREAD_SAFETY_ANALYSIS { apply_hint(hint, b, scope, object.id()); });
}

void ManagerCore::hint(Hint hint, BlockRun blocks, std::uint64_t scope) {
  if (in_fork_child_) return;
  if (hint == Hint::Archive) notes_->prepare();
  MutexLock lock{mutex_};
  drain_own_notes();
  if (!closed_) apply_hint(hint, blocks, scope);
}

void ManagerCore::hint_later(Hint hint, ObjectRef object, std::uint64_t scope) noexcept {
  hint_later({Note::Kind::Hint, hint, {}, {}, 0, object.object->block->id, scope});
}

void ManagerCore::hint_later(Hint hint, BlockRun blocks, std::uint64_t scope) noexcept {
  if (blocks.count > 0) hint_later({Note::Kind::Hint, hint, {}, {}, blocks.count, blocks.first, scope});
}

void ManagerCore::hint_later(const Note& note) noexcept {
  if (!in_fork_child_ && !notes_->leave(note)) hints_dropped_.fetch_add(1, std::memory_order_relaxed);
}

Outcome ManagerCore::prefetch(ObjectRef object) noexcept {
  if (in_fork_child_) return Outcome::Gone;
  MutexLock lock{mutex_};
  drain_own_notes();
  if (closed_) return Outcome::Gone;
  Outcome outcome = Outcome::Done;
  for_each_block(*object.object, [&](Block& b) TIER_NO_THREAD_SAFETY_ANALYSIS {
    if (const auto one = prefetch_block(b, object.id()); one != Outcome::Done) outcome = one;
  });
  check_watermarks();
  return outcome;
}

Outcome ManagerCore::prefetch(BlockId id) noexcept {
  if (in_fork_child_) return Outcome::Gone;
  MutexLock lock{mutex_};
  drain_own_notes();
  Block* const b = closed_ ? nullptr : find(id);
  const auto* const object = b != nullptr ? b->record->object : nullptr;
  const auto outcome = b != nullptr ? prefetch_block(*b, object != nullptr ? object->id : 0) : Outcome::Gone;
  check_watermarks();
  return outcome;
}

Outcome ManagerCore::prefetch_block(Block& b, ObjectId object) noexcept {
  HintEvent event{{}, Hint::Prefetch, b.id, 0, object};
  announcer_.tell(event, &Observer::on_hint);
  b.record->archived = false;
  const auto stamp = clock_.stamp();
  b.last_use.store(stamp, std::memory_order_relaxed);  // otherwise it would be the first to leave
  if (b.record->window_address == nullptr)
    b.record->prefetched = stamp;  // uses of blocks in windows are not stamped
  announcer_.ask([&](Policy& p) { p.on_hint(event, *this); });
  auto outcome = begin_fetch(b, 0, false, Cause::Hint);
  if (outcome == Outcome::Full) outcome = fetch_later(b);
  if (outcome != Outcome::Done) {
    ++counts_.prefetches_refused;
    compact_in_background();  // for the next prefetch: no transfer will end and call this
  }
  return outcome;
}

void ManagerCore::end_of_step() {
  if (in_fork_child_) return;
  const TellsFailure tells{*this};
  MutexLock lock{mutex_};
  drain_notes();
  StepEvent event;
  announcer_.tell(event, &Observer::on_step);
  announcer_.ask([&](Policy& p) { p.on_step(event, *this); });
  reclaim_garbage();
  clock_.advance();
}

/// When nothing is under way any more, the policy may use the time; if it does not, we compact.
void ManagerCore::idle_if_so() noexcept {
  if (!in_flight_.empty() || pending_rooms_ > 0 || closed_) return;
  IdleEvent event;
  announcer_.tell(event, &Observer::on_idle);
  announcer_.ask([&](Policy& p) { p.on_idle(event, *this); });
  compact_in_background();
}

// --- counting --------------------------------------------------------------------------------------------

void ManagerCore::add_moved(TierIndex from, TierIndex to, Cause cause, std::uint64_t bytes,
                            std::uint64_t transfers) noexcept {
  auto& [sum, count] = moved_[from][to][static_cast<std::size_t>(cause)];
  sum += bytes;
  count += transfers;
}

void ManagerCore::count_moved(TierIndex from, TierIndex to, Cause cause, std::uint64_t bytes,
                              std::uint64_t transfers) noexcept {
  MutexLock lock{mutex_};
  add_moved(from, to, cause, bytes, transfers);
}

/// Counts the wait of this thread since `began`: in a scope's entry, or, outside scopes, in an allocation.
void ManagerCore::count_wait(const BatchContext& context, std::uint64_t began, StallCause cause) noexcept {
  if (context.fault) cause = StallCause::Fault;
  StallEvent event{{}, context.scope, began, timeline_.now_ns() - began, cause, context.kernel};
  ++counts_.stalls;
  counts_.stalled_ns += event.duration_ns;
  announcer_.tell(event, &Observer::on_stall);
}

void ManagerCore::count_stall(std::uint64_t ns) noexcept {
  MutexLock lock{mutex_};
  ++counts_.stalls;
  counts_.stalled_ns += ns;
  announcer_.tell_observers(StallEvent{{}, 0, timeline_.now_ns() - ns, ns, StallCause::Transfer, {}},
                            &Observer::on_stall);
}

Statistics ManagerCore::statistics() const {
  Statistics tables;
  companions_.add_statistics(tables);  // before the lock: companions' locks come first
  MutexLock lock{mutex_};
  Statistics s = counts_;
  s.tables = std::move(tables.tables);
  if (!in_flight_.empty()) s.moving_ns += timeline_.now_ns() - moving_since_ns_;
  for (const auto& t : tiers_) {
    s.tiers.push_back({std::string{t.tier->name()},
                       t.heap.capacity(),
                       t.used(),
                       {t.high_water},
                       t.heap.largest_free(),
                       t.heap.condemned(),
                       t.regions()});
  }
  const auto tiers = static_cast<TierIndex>(tiers_.size());
  for (TierIndex from = 0; from < tiers; ++from)
    for (TierIndex to = 0; to < tiers; ++to)
      for (std::size_t cause = 0; cause < cause_count; ++cause)
        if (const auto& [bytes, count] = moved_[from][to][cause]; count > 0)
          s.moved.push_back({from, to, static_cast<Cause>(cause), bytes, count});
  s.objects = objects_.size();
  s.blocks = by_id_.size();
  if (windows_ != nullptr) s.windows = windows_->mode();
  s.hints_dropped = hints_dropped_.load(std::memory_order_relaxed);
  s.uses_dropped = uses_dropped_.load(std::memory_order_relaxed);
  s.metadata = tables.metadata + metadata();
  return s;
}

/// Returns the ordinary memory in use, without that of companions and tables.
Bytes ManagerCore::metadata() const noexcept {
  Bytes sum = small_objects_.memory();
  sum += Bytes{blocks_.bytes() + records_.bytes() + regions_.bytes() + objects_pool_.bytes() +
               beside_objects_ + window_count_ * sizeof(ObjectWindow) + notes_->bytes()};
  constexpr std::size_t node = sizeof(decltype(by_id_)::value_type) + sizeof(void*);
  sum += Bytes{by_id_.size() * node + by_id_.bucket_count() * sizeof(void*)};
  for (const auto& t : tiers_) sum += t.heap.metadata() + t.tier->metadata() + Bytes{t.bare.capacity() / 8};
  if (landings_ != nullptr) sum += Bytes{sizeof(Landings)};
  if (windows_ != nullptr) sum += windows_->metadata();
  sum += announcer_.policy().memory();
  return sum + engine_.memory() + Bytes{detail::metadata_bytes()};
}

std::vector<ObjectStatistics> ManagerCore::object_statistics() const {
  MutexLock lock{mutex_};
  std::vector<ObjectStatistics> all;
  for (const auto& object : objects_) {
    const auto f = facts(*object.block);
    const auto& record = *object.block->record;
    all.push_back({object.id,
                   object.name,
                   {object.size},
                   f.tier,
                   f.pinned,
                   f.dirty,
                   record.fetches,
                   record.evictions,
                   record.bytes_moved});
  }
  return all;
}

/// Describes a block for messages about broken invariants.
std::string ManagerCore::described(const Block& b) const {
  const auto& record = *b.record;
  std::ostringstream text;
  text << ": block " << b.id << " of " << b.size << " bytes, version "
       << b.version.load(std::memory_order_relaxed) << ", state " << std::hex << b.state.glance().word()
       << std::dec << ", regions (tier, version, readers)";
  for (const Region* r = record.regions; r != nullptr; r = r->next)
    text << " (" << int{r->tier} << ", " << r->version << ", " << r->readers << ")";
  if (const Transfer* t = record.transfer)
    text << ", moving for " << to_string(t->cause) << ", kind " << static_cast<int>(t->kind);
  return text.str();
}

void ManagerCore::check_invariants() const {
  MutexLock lock{mutex_};
  const Block* checked = nullptr;
  const auto require = [&](bool holds, const char* what) TIER_NO_THREAD_SAFETY_ANALYSIS {
    if (holds) return;
    throw std::logic_error{what + (checked != nullptr ? described(*checked) : std::string{})};
  };
  std::vector<std::uint64_t> used(tiers_.size());
  std::uint64_t living = 0;
  for (const auto& [id, b] : by_id_) {
    checked = b;
    const auto& record = *b->record;
    if (record.primary() != nullptr) living += round_up(b->size, granule_);
    const auto state = b->state.now();
    const bool retired = state.is_retired();
    require(retired || record.primary() != nullptr || inside_ > 0,
            "(I1) a live block has one primary region");
    require(record.primary() != nullptr || !record.writable, "what has no bytes cannot be written");
    std::uint32_t seen = 0;
    for (const Region* r = record.regions; r != nullptr; r = r->next) {
      require((seen & (1U << r->tier)) == 0, "(I2) a block's regions lie in different tiers");
      seen |= 1U << r->tier;
      require(r->block == b, "(I6) a region belongs to its block");
      require(tiers_[r->tier].heap.owner(r->slot) == r, "(I6) the heap names the region's owner");
      require(r == record.primary() || r->is_linked(), "(I6) a secondary is listed in its tier");
      require(tiers_[r->tier].heap.size(r->slot) >= b->size, "a region holds its block");
    }
    require(state.is_passing() == is_passing(*b), "a block knows whether it is in room for faults");
    require(state.is_moving() == (record.transfer != nullptr), "(I4) moving exactly while it has a transfer");
    if (record.primary() != nullptr && record.transfer == nullptr) {
      const Region& primary = *record.primary();
      const auto* const address = b->address.load(std::memory_order_acquire);
      const bool has_base = tiers_[primary.tier].tier->base() != nullptr;
      if (record.window_address == nullptr)
        require(address == (has_base ? home(primary) : nullptr),
                "(I5) a settled block's address is its primary's");
      else
        require(address == (primary.pages == Pages::AtHome ? nullptr : record.window_address),
                "(I5) a block in a window is at its place or absent");
    }
  }
  checked = nullptr;
  require(living == living_, "what lives is the sum of the blocks with a primary");
  for (std::size_t t = 0; t < tiers_.size(); ++t) {
    const auto& heap = tiers_[t].heap;
    heap.check_invariants();
    for (auto slot = heap.first(); slot != RegionHeap::none; slot = heap.next(slot)) {
      if (heap.is_free(slot)) continue;
      used[t] += heap.size(slot);
      const auto* r = static_cast<const Region*>(heap.owner(slot));
      if (r == nullptr) continue;
      require(r->block != nullptr || r == tiers_[t].spare || r->cached || !in_flight_.empty() ||
                  pending_rooms_ > 0 || inside_ > 0,
              "(I6) a region without a block belongs to a transfer or a room");
    }
    require(used[t] == heap.used().count, "(I3) used bytes are the sum of the regions");
    require(used[t] <= heap.capacity().count, "(I3) used bytes are at most the capacity");
  }
}

}  // namespace tier
