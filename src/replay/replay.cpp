// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/error.hpp>
#include <tier/manager/manager.hpp>
#include <tier/memory/tiers.hpp>
#include <tier/replay/replay.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "replay/replay_frame.hpp"
#include "replay/row_tables.hpp"
#include "replay/schedule.hpp"
#include "replay/trace_objects.hpp"

namespace tier::replay {
namespace {

using trace::Event;
using trace::EventKind;
using trace::Role;
using trace::TensorIndex;
using trace::TensorKind;
using trace::Trace;

Use use_of(Role role) {
  switch (role) {
    case Role::Reads:
      return Use::Read;
    case Role::Updates:
      return Use::Update;
    case Role::Creates:
    case Role::Overwrites:
      break;
  }
  return Use::Overwrite;
}

/// True if the object was retired, or made so.
bool has_no_contents(const Object& object) noexcept {
  if (object.grouped) return object.retired;
  return object.block->state.glance().is_retired();
}

/// Counts so far; a result is the difference of two of these.
struct Counts : KernelCounts {
  RowTables::Counts rows;
  std::vector<RowMoves> row_moves;  // by tier
  std::uint64_t now = 0;
  double compute = 0;
  Statistics statistics;
};

class Replay : ReplayFrame {
 public:
  Replay(const Trace& trace, const Machine& machine, const std::vector<SimulatedTier>& tiers,
         const PolicyFactory& policy, const Options& options)
      : ReplayFrame{trace, machine, tiers, options.passes},
        options_{options},
        lost_to_mover_{machine.lost_to_mover},
        clock_{costs_, machine},
        schedule_{trace, options.passes},
        manager_{make_manager(policy)},
        objects_{trace, *manager_, schedule_} {
    if (options.observer != nullptr) manager_->add_observer(*options.observer);
    make_tables(machine);
  }
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;
  ~Replay() {
    objects_.clear();
    tables_.reset();
    manager_->close();
    if (options_.observer != nullptr) manager_->remove_observer(*options_.observer);
  }

  Result run();

 private:
  [[nodiscard]] std::shared_ptr<Manager> make_manager(const PolicyFactory& make_policy);
  void make_tables(const Machine& machine);
  void rows(const trace::RowAccess& access);
  void create_parameters();
  void write_in_place(ObjectRef object);
  void play(Event event);
  void kernel(const trace::Kernel& kernel);
  void enter(const trace::Kernel& kernel);
  [[nodiscard]] std::uint64_t from_now(std::uint64_t ns) const;
  void archive(std::span<const TensorIndex> tensors);
  void end_iteration();
  void hint(const trace::Hint& hint);
  void place(const trace::Placement& placement);
  std::uint64_t slowed_by(std::uint64_t beside);
  void look_at_the_heap();
  [[nodiscard]] Counts counts() const;
  [[nodiscard]] Result result(const Counts& from, const Counts& to) const;
  void add_rows(const Counts& from, const Counts& to, Result& r) const;
  [[nodiscard]] bool ends_open() const;

  const Options& options_;
  double lost_to_mover_;
  Clock clock_;
  Schedule schedule_;
  std::shared_ptr<Manager> manager_;
  TraceObjects objects_;
  std::vector<Operand> batch_;
  std::vector<TierIndex> places_;
  std::optional<RowTables> tables_;
  std::vector<bool> of_tables_;  // by tensor: true if a table has taken its place
  std::uint64_t scope_ = 0, kernel_ = 0;
  Counts counts_;
  double fragmentation_ = 0;
};

std::shared_ptr<Manager> Replay::make_manager(const PolicyFactory& make_policy) {
  auto policy = make_policy(schedule_);
  std::vector<std::unique_ptr<Tier>> made;
  std::vector<const Tier*> known;
  for (std::size_t i = 0; i < tiers_.size(); ++i) {
    made.push_back(
        make_simulated_tier("simulated:" + tiers_[i].device, devices_[i]->tier_model(), tiers_[i].size));
    known.push_back(made.back().get());
  }
  clock_.know(std::move(known));
  return Manager::make(std::move(made), std::move(policy),
                       {.movers = options_.asynchronous ? 1U : 0U, .clock = &clock_});
}

/// Makes the tables. Called before anything else takes room, because their part of the fastest tier is theirs.
void Replay::make_tables(const Machine& machine) {
  of_tables_.resize(trace_.tensors().size());
  const auto tables = trace::tables_of(trace_);
  if (!options_.row_policy || tables.empty()) return;
  of_tables_ = tensors_of_tables(trace_, tables);
  Bytes others = peak();
  for (TensorIndex t = 0; t < of_tables_.size(); ++t)
    if (of_tables_[t]) others -= std::min(others, trace_.tensors()[t].size);
  exclude_from_bound(peak() - others);
  const auto fast = tiers_.front().size;
  const auto memory = options_.row_memory.value_or(
      std::max(fast - std::min(fast, others), usual_memory(trace_, tables, fast)));
  tables_.emplace(trace_, tables, machine, devices_, options_, memory, *manager_);
}

/// Plays an access to rows. One that happened within a kernel is played after the kernel.
void Replay::rows(const trace::RowAccess& access) {
  if (!tables_) return;
  const auto began = clock_.now();
  const auto crowded = tables_->counts().crowded;
  const auto taken = from_now(tables_->use(access, began));
  auto beside = whole(tables_->counts().crowded - crowded);
  beside = std::min(taken, beside + manager_->copies().pass(began + taken));
  counts_.compute += static_cast<double>(slowed_by(beside));  // as a kernel is
}

/// Lets the time pass that a mover at work for `beside` ns takes from a kernel.   \return  that time, ns
std::uint64_t Replay::slowed_by(std::uint64_t beside) {
  const auto slowed = whole(static_cast<double>(beside) * lost_to_mover_);
  if (slowed > 0) (void)manager_->copies().pass(clock_.now() + slowed);
  return slowed;
}

/// Writes everything that exists from the start once. In a recording those writes are seen.
void Replay::create_parameters() {
  if (trace_.header("recorded")) return;
  const auto tensors = trace_.tensors();
  for (TensorIndex t = 0; t < tensors.size(); ++t) {
    if (tensors[t].kind != TensorKind::Parameter || of_tables_[t]) continue;
    write_in_place(objects_.get(t));
  }
}

/// Overwrites an object outside the trace's kernels; takes no time.
void Replay::write_in_place(ObjectRef object) {
  std::array batch{Operand::of(object, Use::Overwrite)};
  manager_->enter(batch, {.scope = ++scope_, .kernel = "initial values"});
  Manager::leave(batch);
}

void Replay::enter(const trace::Kernel& kernel) {
  batch_.clear();
  for (const auto& o : trace_.operands(kernel)) {
    const auto object = objects_.get(o.tensor);
    const bool is_empty = has_no_contents(*object.object);
    auto use = use_of(o.role);
    if (options_.copies_new_objects) {
      if (is_empty) write_in_place(object);
      if (use == Use::Overwrite) use = Use::Update;
    } else if (is_empty) {
      use = Use::Overwrite;  // a parameter in a later pass, or a revived object, may be read first
    }
    batch_.push_back(Operand::of(object, use));
  }
  const auto stamp = manager_->clock().stamp();
  bool slow = false;
  for (auto& op : batch_) {
    if (!op.block->try_enter(op.use, stamp)) {
      slow = true;
      break;
    }
    op.entered = true;
  }
  const BatchContext context{.scope = ++scope_, .root = true, .kernel = trace_.name(kernel.op)};
  if (slow) manager_->enter(batch_, context);
  if (manager_->tells_kernels()) manager_->kernel_begin(context, batch_);
}

/// \return  `ns`, by which the clock goes on   \throws  `ConfigError` if that is later than a replay can tell
std::uint64_t Replay::from_now(std::uint64_t ns) const {
  check_time(static_cast<double>(clock_.now()) + static_cast<double>(ns));
  return ns;
}

void Replay::kernel(const trace::Kernel& kernel) {
  schedule_.begin(kernel);
  enter(kernel);
  places_.resize(batch_.size());
  manager_->locate(batch_, places_);

  const Demand demand = costs_.demand(kernel, places_);
  const auto began = clock_.now();
  const auto taken = from_now(whole(costs_.kernel_ns(kernel, places_, demand, recorded_.measured(in_pass_))));
  auto beside = manager_->copies().pass(began + taken);
  if (tables_) beside = std::min(taken, beside + tables_->busy(began, began + taken));
  const auto slowed = slowed_by(beside);

  if (manager_->tells_kernels()) manager_->kernel_end(scope_, clock_.now() - began);
  Manager::leave(batch_);
  const auto gap = from_now(whole(recorded_.gap(in_pass_)));
  (void)manager_->copies().pass(clock_.now() + gap);

  counts_.compute += static_cast<double>(taken + slowed + gap);
  add(demand, counts_);
  const auto operands = trace_.operands(kernel);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const auto bytes = static_cast<double>(operands[i].touched.count);
    const bool fast = places_[i] == Manager::fastest();
    if (operands[i].role == Role::Reads || operands[i].role == Role::Updates) {
      counts_.inputs += bytes;
      counts_.inputs_fast += fast ? bytes : 0;
    }
    if (operands[i].role != Role::Reads) {
      counts_.outputs += bytes;
      counts_.outputs_fast += fast ? bytes : 0;
    }
  }
  ++in_pass_;
  constexpr std::uint64_t now_and_then = 64;
  if (kernel_ % now_and_then == 0) look_at_the_heap();
  if (options_.after_kernel) options_.after_kernel(kernel_, *manager_);
  ++kernel_;
}

void Replay::archive(std::span<const TensorIndex> tensors) {
  for (const auto t : tensors)
    if (const auto object = objects_.find(t); object.object != nullptr)
      manager_->hint(Hint::Archive, object, 0);
}

void Replay::end_iteration() {
  objects_.end_iteration();
  manager_->end_of_step();
  if (options_.compacts_after_steps) manager_->compact();
}

void Replay::play(Event event) {
  switch (event.kind) {
    case EventKind::Kernel:
      return kernel(trace_.kernel(event));
    case EventKind::Archive:
      return archive(trace_.tensors_of(event));
    case EventKind::Retire:
      return objects_.retire(trace_.tensors_of(event));
    case EventKind::EndOfIteration:
      return end_iteration();
    case EventKind::Hint:
      return hint(trace_.hint(event));
    case EventKind::Placement:
      return place(trace_.placement(event));
    case EventKind::RowAccess:
      return rows(trace_.row_access(event));
    default:  // observations, not the program's actions
      return;
  }
}

/// Makes an object where a recorded program did, unless a table has taken its place.
void Replay::place(const trace::Placement& placement) {
  if (!of_tables_[placement.tensor]) objects_.place(placement);
}

void Replay::hint(const trace::Hint& hint) {
  const auto name = trace_.name(hint.hint);
  if (name == revive_hint) return objects_.revive(trace_.tensors_of(hint));
  for (const auto h : {Hint::WillUse, Hint::WillRead, Hint::WillWrite, Hint::Archive, Hint::Prefetch}) {
    if (to_string(h) != name) continue;
    for (const auto t : trace_.tensors_of(hint)) {
      const auto object = objects_.find(t);
      if (object.object == nullptr) continue;
      if (h == Hint::Prefetch)
        (void)manager_->prefetch(object);
      else
        manager_->hint(h, object, 0);
    }
  }
}

/// True if the trace's last events come after its last end of an iteration.
bool Replay::ends_open() const {
  const auto events = trace_.events();
  return !events.empty() && events.back().kind != EventKind::EndOfIteration;
}

Counts Replay::counts() const {
  Counts counts = counts_;
  counts.now = clock_.now();
  counts.statistics = manager_->statistics();
  if (tables_) {
    counts.rows = tables_->counts();
    counts.row_moves = tables_->moves();
    counts.compute += counts.rows.working;
  }
  return counts;
}

/// Updates the fragmentation. Called now and then, because it takes about as long as playing a kernel.
void Replay::look_at_the_heap() {
  const auto fast = manager_->statistics().tiers.front();
  const auto free = (fast.capacity - fast.used).count;
  if (free == 0) return;
  fragmentation_ =
      std::max(fragmentation_, 1 - static_cast<double>(fast.largest_free.count) / static_cast<double>(free));
}

Result Replay::result(const Counts& from, const Counts& to) const {
  constexpr double ns = 1e-9;
  const Statistics &before = from.statistics, &after = to.statistics;
  auto r = ReplayFrame::result(from, to);
  r.seconds = mean(to.now, from.now) * ns;
  r.compute = mean(to.compute, from.compute) * ns;
  r.waiting = mean(after.stalled_ns, before.stalled_ns) * ns;
  r.moving = mean(after.moving_ns, before.moving_ns) * ns;
  for (std::size_t t = 0; t < tiers_.size(); ++t) r.traffic[t].high_water = after.tiers[t].high_water.count;
  for (auto moved : after.moved) {
    for (const auto& earlier : before.moved) {
      if (earlier.from != moved.from || earlier.to != moved.to || earlier.cause != moved.cause) continue;
      moved.bytes -= earlier.bytes;
      moved.transfers -= earlier.transfers;
    }
    moved.bytes = whole_mean(moved.bytes, 0);
    moved.transfers = whole_mean(moved.transfers, 0);
    if (moved.transfers == 0 && moved.bytes == 0) continue;
    r.traffic[moved.from].read += moved.bytes;
    r.traffic[moved.to].written += moved.bytes;
    r.copied.push_back(moved);
  }
  if (tables_) add_rows(from, to, r);
  r.evictions = mean(after.evictions, before.evictions);
  r.fragmentation = fragmentation_;
  return r;
}

void Replay::add_rows(const Counts& from, const Counts& to, Result& r) const {
  constexpr double ns = 1e-9;
  const auto &after = to.rows, &before = from.rows;
  r.rows = RowCounts{.asked = mean(after.asked, before.asked),
                     .hits = mean(after.moves.hits, before.moves.hits),
                     .in_place = mean(after.moves.in_place_rows, before.moves.in_place_rows),
                     .read = mean(after.moves.read_rows, before.moves.read_rows),
                     .written = mean(after.moves.written_rows, before.moves.written_rows),
                     .waiting = mean(after.waiting, before.waiting) * ns};
  r.waiting += r.rows->waiting;
  r.moving += mean(after.moving, before.moving) * ns;
  const auto add = [&](TierIndex from_tier, TierIndex to_tier, Cause cause, auto bytes, auto rows) {
    if (bytes == 0) return;
    r.traffic[from_tier].read += bytes;
    r.traffic[to_tier].written += bytes;
    r.copied.push_back({.from = from_tier, .to = to_tier, .cause = cause, .bytes = bytes, .transfers = rows});
  };
  const auto tiers = static_cast<TierIndex>(to.row_moves.size());
  for (TierIndex t = 1; t < tiers; ++t) {
    const auto &now = to.row_moves[t], &then = from.row_moves[t];
    add(t, Manager::fastest(), Cause::Miss, whole_mean(now.read_bytes, then.read_bytes),
        whole_mean(now.read_rows, then.read_rows));
    add(Manager::fastest(), t, Cause::Evict, whole_mean(now.written_bytes, then.written_bytes),
        whole_mean(now.written_rows, then.written_rows));
  }
}

Result Replay::run() {
  create_parameters();
  const auto from = play_passes([&] { return counts(); },
                                [&] {
                                  for (const auto event : trace_.events()) {
                                    play(event);
                                    check_time(static_cast<double>(clock_.now()));
                                    if (options_.after_event) options_.after_event(*manager_);
                                  }
                                  if (ends_open()) end_iteration();
                                  check_time(static_cast<double>(clock_.now()));
                                });
  return result(from, counts());
}

}  // namespace

Result run(const Trace& trace, const Machine& machine, const std::vector<SimulatedTier>& tiers,
           const PolicyFactory& policy, const Options& options) {
  if (tiers.empty()) throw ConfigError{"a replay needs at least one tier"};
  return Replay{trace, machine, tiers, policy, options}.run();
}

}  // namespace tier::replay
