// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/error.hpp>
#include <tier/memory/region_heap.hpp>
#include <tier/replay/two_level.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "replay/replay_frame.hpp"
#include "replay/tiers_of.hpp"
#include "replay/two_level_cache.hpp"

namespace tier::replay {
namespace {

using trace::EventKind;
using trace::Role;
using trace::TensorIndex;
using trace::TensorKind;
using trace::Trace;

constexpr std::size_t line = 64;  // bytes
/// Tensors of this size or more begin at a multiple of it, so that sectors of up to this size give the same addresses.
constexpr Bytes aligned = 64_KiB;

/// Counts so far; a result is the difference of two of these.
struct Counts : KernelCounts {
  double ns = 0;
  TwoLevelCache::Outcome sectors;
  double extra_hits = 0;  // hits of passes beyond the first, in sectors
};

class TwoLevelReplay : ReplayFrame {
 public:
  TwoLevelReplay(const Trace& trace, const Machine& machine, const std::vector<SimulatedTier>& tiers,
                 const TwoLevelOptions& options)
      : ReplayFrame{trace, machine, tiers, options.passes},
        options_{options},
        cache_{tiers_[0].size, options.sector},
        heap_{tiers_[1].size, Bytes{line}},
        slots_(trace.tensors().size(), RegionHeap::none) {}

  Result run();

 private:
  void create_parameters();
  void create(TensorIndex tensor, std::string_view kernel);
  void access(TensorIndex tensor, Bytes size, bool writes, const OpCost& cost, Demand& demand);
  void kernel(const trace::Kernel& kernel);
  void retire(TensorIndex tensor);
  void collect();
  void end_iteration();
  void play();
  [[nodiscard]] Result result(const Counts& from) const;

  const TwoLevelOptions& options_;
  TwoLevelCache cache_;
  RegionHeap heap_;
  std::vector<RegionHeap::Slot> slots_;    // by tensor
  std::vector<RegionHeap::Slot> garbage_;  // dead, but not collected
  std::vector<TensorIndex> alive_;         // tensors that end with the iteration; some may have ended before
  Bytes high_water_;
  std::uint64_t kernel_ = 0;
  Counts counts_;
};

void TwoLevelReplay::create_parameters() {
  const OpCost once{};
  Demand untimed;
  for (TensorIndex t = 0; t < trace_.tensors().size(); ++t) {
    if (trace_.tensor(t).kind != TensorKind::Parameter) continue;
    create(t, "initial values");
    access(t, trace_.tensor(t).size, true, once, untimed);
  }
  counts_ = {};
}

void TwoLevelReplay::create(TensorIndex tensor, std::string_view kernel) {
  const auto& t = trace_.tensor(tensor);
  if (slots_[tensor] != RegionHeap::none) return;  // it exists already
  const auto size = std::max(t.size, Bytes{1});
  const auto alignment = size >= aligned ? aligned.count : line;
  constexpr double full = 0.8;
  if (static_cast<double>(heap_.used().count) > full * static_cast<double>(heap_.capacity().count)) collect();
  auto slot = heap_.allocate(size, alignment, this);
  if (slot == RegionHeap::none && !garbage_.empty()) {
    collect();
    slot = heap_.allocate(size, alignment, this);
  }
  if (slot == RegionHeap::none)
    throw OutOfTierMemory{"no room in " + tiers_[1].device + " for " + std::string{trace_.name(t.name)} +
                          ", " + to_string(t.size) + ", of kernel " + std::string{kernel} + ": " +
                          to_string(heap_.capacity() - heap_.used()) + " of " + to_string(heap_.capacity()) +
                          " are free, the largest run " + to_string(heap_.largest_free())};
  slots_[tensor] = slot;
  if (t.kind != TensorKind::Parameter && t.kind != TensorKind::Gradient) alive_.push_back(tensor);
  high_water_ = std::max(high_water_, heap_.used());
}

void TwoLevelReplay::access(TensorIndex tensor, Bytes size, bool writes, const OpCost& cost, Demand& demand) {
  const auto offset = heap_.offset(slots_[tensor]);
  const auto seen = writes ? cache_.write(offset, size) : cache_.read(offset, size);
  const auto bytes = static_cast<double>(size.count), sector = static_cast<double>(cache_.sector().count);
  const double passes = writes ? cost.writes : cost.reads;
  demand.read[0] += bytes * passes * (writes ? options_.tag_checked_writes : 1);
  if (writes) demand.written[0] += bytes * passes;
  demand.written[0] += static_cast<double>(seen.misses()) * sector;
  demand.read[1] += static_cast<double>(seen.misses()) * sector;
  demand.written[1] += static_cast<double>(seen.dirty_misses) * sector;
  counts_.sectors += seen;
  const auto touched = static_cast<double>(seen.hits + seen.misses());
  counts_.extra_hits += std::max(0.0, passes - 1) * touched;
  (writes ? counts_.outputs : counts_.inputs) += touched;
  (writes ? counts_.outputs_fast : counts_.inputs_fast) += static_cast<double>(seen.hits);
}

/// Plays a kernel. Reads come first, because a kernel that writes in place has read its input.
void TwoLevelReplay::kernel(const trace::Kernel& kernel) {
  const auto operands = trace_.operands(kernel);
  const auto name = trace_.name(kernel.op);
  for (const auto& o : operands) create(o.tensor, name);  // also parameters that an earlier pass has retired
  const auto& cost = costs_.cost_of(kernel);
  Demand demand;
  for (const auto& o : operands)
    if (o.role == Role::Reads || o.role == Role::Updates) access(o.tensor, o.touched, false, cost, demand);
  for (const auto& o : operands)
    if (o.role != Role::Reads) access(o.tensor, o.touched, true, cost, demand);
  counts_.ns += std::round(costs_.roofline_ns(kernel, demand, recorded_.measured(in_pass_))) +
                std::round(recorded_.gap(in_pass_));
  check_time(counts_.ns);
  add(demand, counts_);
  if (options_.after_kernel) options_.after_kernel(kernel_, counts_.ns * 1e-9, heap_.used());
  ++in_pass_;
  ++kernel_;
}

void TwoLevelReplay::retire(TensorIndex tensor) {
  const auto slot = std::exchange(slots_[tensor], RegionHeap::none);
  if (slot == RegionHeap::none) return;
  if (options_.frees_early)
    heap_.free(slot);
  else
    garbage_.push_back(slot);
}

/// Frees garbage. Its sectors stay dirty in the cache.
void TwoLevelReplay::collect() {
  for (const auto slot : garbage_) heap_.free(slot);
  garbage_.clear();
}

void TwoLevelReplay::end_iteration() {
  for (const auto t : alive_) retire(t);
  alive_.clear();
  collect();
}

Result TwoLevelReplay::result(const Counts& from) const {
  const Counts& to = counts_;
  auto r = ReplayFrame::result(from, to);
  r.seconds = r.compute = mean(to.ns, from.ns) * 1e-9;
  r.traffic[0].high_water = std::min(tiers_[0].size, high_water_).count;
  r.traffic[1].high_water = high_water_.count;
  const auto lines = static_cast<double>(cache_.sector().count) / line;
  const auto accesses = [&](auto after, auto before) { return whole(lines * mean(after, before)); };
  r.cache = CacheCounts{accesses(static_cast<double>(to.sectors.hits) + to.extra_hits,
                                 static_cast<double>(from.sectors.hits) + from.extra_hits),
                        accesses(to.sectors.clean_misses, from.sectors.clean_misses),
                        accesses(to.sectors.dirty_misses, from.sectors.dirty_misses)};
  return r;
}

void TwoLevelReplay::play() {
  for (const auto event : trace_.events()) {
    if (event.kind == EventKind::Kernel) kernel(trace_.kernel(event));
    if (event.kind == EventKind::Retire)
      for (const auto t : trace_.tensors_of(event)) retire(t);
    if (event.kind == EventKind::EndOfIteration) end_iteration();
  }
  end_iteration();  // if the trace goes on after its last end of an iteration
}

Result TwoLevelReplay::run() {
  create_parameters();
  return result(play_passes([&] { return counts_; }, [&] { play(); }));
}

}  // namespace

Result run_two_level(const Trace& trace, const Machine& machine, const std::vector<SimulatedTier>& tiers,
                     const TwoLevelOptions& options) {
  if (tiers.size() != 2)
    throw ConfigError{"a hardware cache takes two tiers, the cache and what is behind it, not " +
                      std::to_string(tiers.size())};
  const auto ordered = in_order(tiers, machine);
  for (const auto& t : ordered)
    if (t.size < options.sector || !machine.find(t.device)->addressable)
      throw ConfigError{"tier " + t.device + " cannot be a part of a hardware cache: it must have at least " +
                        to_string(options.sector) + ", and the CPU must be able to address it"};
  if (options.sector < Bytes{line} || !std::has_single_bit(options.sector.count))
    throw ConfigError{"a sector of " + to_string(options.sector) +
                      " is not allowed: a sector must be a power of two, 64 B or more"};
  const auto most = TwoLevelCache::most_behind(ordered[0].size, options.sector);
  if (ordered[1].size > most)
    throw ConfigError{"tier " + ordered[1].device + " of " + to_string(ordered[1].size) +
                      " is too large behind a hardware cache of " + to_string(ordered[0].size) +
                      ", which allows at most " + to_string(most) +
                      " behind it; give a larger cache, or less behind it"};
  return TwoLevelReplay{trace, machine, tiers, options}.run();
}

}  // namespace tier::replay
