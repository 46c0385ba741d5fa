// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hint_aware.hpp"

#include <tier/core/error.hpp>
#include <tier/core/suggestion.hpp>

#include <algorithm>
#include <charconv>
#include <list>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace tier {
namespace {

struct Options {
  bool local = true;
  bool early_free = true;
  bool prefetch = true;
  bool keep = true;   ///< blocks that are only in the way of others stay in their tier, elsewhere
  double free = 0.5;  ///< share of the fastest tier that is kept free by evicting archived blocks early
};

constexpr std::string_view option_names = "mode, local, early_free, prefetch, keep, free";

bool switched(const std::string& name, const std::string& value) {
  if (value != "on" && value != "off")
    throw ConfigError{"unknown value of " + name + detail::did_you_mean(value, "on, off"), value, 0,
                      "on, off"};
  return value == "on";
}

/// Sets the paper's three options.
void set_mode(Options& options, const std::string& value) {
  const auto set = [&](bool local, bool early_free, bool prefetch) {
    options.local = local;
    options.early_free = early_free;
    options.prefetch = prefetch;
    options.keep = false;
  };
  if (value == "0") return set(false, false, false);
  if (value == "L") return set(true, false, false);
  if (value == "LM") return set(true, true, false);
  if (value == "LMP") return set(true, true, true);
  throw ConfigError{"unknown mode" + detail::did_you_mean(value, "L, LM, LMP"), value, 0, "0, L, LM, LMP"};
}

double share(const std::string& name, const std::string& value) {
  double number = -1;
  const auto* const end = value.data() + value.size();
  const auto [rest, error] = std::from_chars(value.data(), end, number);
  if (error != std::errc{} || rest != end || !(number >= 0 && number < 1))
    throw ConfigError{"unknown value of " + name, value, 0, "0 to less than 1"};
  return number;
}

class HintAware final : public Policy {
 public:
  explicit HintAware(Options options) : options_{options} {}

  std::string_view name() const noexcept override { return "hint_aware"; }
  bool frees_early() const noexcept override { return options_.early_free; }
  double watermark() const noexcept override { return options_.free; }
  Bytes memory() const noexcept override {
    constexpr std::size_t word =
        sizeof(void*);  // a list node has two words beside its value, a table node one
    return {archived_.size() * 3 * word + places_.size() * 3 * word + unused_.size() * 2 * word +
            (places_.bucket_count() + unused_.bucket_count() + leaving_.capacity() + order_.capacity()) *
                word};
  }

  Placement place(const AllocationEvent& event, PolicyContext& context) override {
    if (options_.local) return {0, true};
    unused_.insert(event.block);
    return {static_cast<TierIndex>(context.tier_count() - 1), false};
  }

  /// Writes come to fast memory, because slow memory reads well and writes badly. Reads do if prefetching is on. If new
  /// objects start in slow memory, each costs a copy from there. The paper's runtime makes it before the first kernel
  /// that writes; an overwrite needs no copy here, so it is made before the first that reads or updates.
  MissDecision on_miss(const MissEvent& event, PolicyContext&) override {
    if (event.use == Use::Overwrite) return {options_.local ? TierIndex{0} : no_tier, false};
    const bool is_new = unused_.erase(event.block.id) > 0;
    const bool stays = event.use == Use::Read && !options_.prefetch && !is_new;
    return {stays ? no_tier : TierIndex{0}, false};
  }

  /// Archived blocks leave first, in order of use; all others after them.
  std::uint64_t rank(const BlockFacts& block) const noexcept override {
    return block.archived ? block.last_use : block.last_use | 1ULL << 63;
  }

  /// Takes the run with the fewest prefetched bytes; among equals the coldest, then the one that writes least.
  RunChoice choose(const RoomRequest& request, std::span<const Run> runs, PolicyContext& context) override {
    if (!options_.keep) return Policy::choose(request, runs, context);
    const auto cost = [](const Run& run) { return std::tuple{wanted(run), run.hottest, run.write_back}; };
    const auto best = std::ranges::min_element(runs, {}, cost);
    find_destinations(request, *best, context);
    return {static_cast<std::size_t>(best - runs.begin()), to_};
  }

  bool prefers(const Run& run, std::uint64_t rank) const noexcept override {
    return run.hottest < rank && (!options_.keep || wanted(run) == 0);
  }

  void on_hint(const HintEvent& event, PolicyContext& context) override {
    if (event.hint == Hint::Archive && options_.free > 0) {
      forget(event.block);
      places_.emplace(event.block, archived_.insert(archived_.end(), event.block));
      write_behind(context);
    }
    if (!options_.prefetch || event.hint == Hint::Archive || event.hint == Hint::Prefetch) return;
    const auto block = context.block_facts(event.block);
    if (!block || block->tier == no_tier || !context.in_background(block->tier, 0)) return;
    context.fetch(event.block, 0, false);  // into free room only: a hint must not push out what is in use
  }
  void on_retire(const RetireEvent& event, PolicyContext&) override {
    forget(event.block);
    unused_.erase(event.block);
  }
  void on_watermark(const WatermarkEvent& event, PolicyContext& context) override {
    if (event.tier == 0) write_behind(context);
  }

 private:
  /// \return  the prefetched bytes of the run
  static std::uint64_t wanted(const Run& run) noexcept {
    std::uint64_t sum = 0;
    for (const auto& block : run.blocks) sum += block.prefetched ? block.size.count : 0;
    return sum;
  }
  /// Evicts archived blocks, those archived first first, until enough is free, counting what is on its way out. A block
  /// that is in use, moves within the tier, or finds no room elsewhere is tried again the next time.
  void write_behind(PolicyContext& context) {
    if (!context.in_background(0, context.slower(0))) return;
    const auto fast = context.tier_facts(0);
    const auto wanted = static_cast<std::uint64_t>(options_.free * static_cast<double>(fast.capacity.count));
    auto free = (fast.capacity - fast.used).count + bytes_leaving(context);
    for (auto at = archived_.begin(); free < wanted && at != archived_.end();) {
      const auto block = context.block_facts(*at);
      const bool may_leave = block && block->archived && block->tier == 0;
      if (may_leave && (block->moving || block->pinned)) {
        ++at;
        continue;
      }
      const auto outcome = may_leave ? context.evict(block->id, no_tier) : Outcome::Gone;
      if (outcome == Outcome::Full) return;  // the slower tiers are full
      if (outcome == Outcome::Pinned) {
        ++at;
        continue;
      }
      forget(*at++);
      if (outcome != Outcome::Done) continue;
      leaving_.push_back(block->id);
      free += block->size.count;
    }
  }
  /// If only fragmentation is in the way, only archived blocks leave the tier; otherwise as many others as are needed
  /// leave too, the coldest first.
  void find_destinations(const RoomRequest& request, const Run& run, PolicyContext& context) {
    const auto facts = context.tier_facts(request.tier);
    auto free = (facts.capacity - facts.used).count;
    order_.resize(run.blocks.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::ranges::sort(order_, {}, [&](std::size_t i) {
      return std::pair{run.blocks[i].prefetched, rank(run.blocks[i])};
    });
    to_.assign(run.blocks.size(), request.tier);
    for (const auto i : order_) {
      if (!run.blocks[i].archived && free >= request.size.count) break;
      to_[i] = no_tier;
      free += run.blocks[i].size.count;
    }
  }
  void forget(BlockId id) {
    const auto found = places_.find(id);
    if (found == places_.end()) return;
    archived_.erase(found->second);
    places_.erase(found);
  }
  std::uint64_t bytes_leaving(PolicyContext& context) {
    std::uint64_t bytes = 0;
    std::erase_if(leaving_, [&](BlockId id) {
      const auto block = context.block_facts(id);
      const bool leaves = block && block->moving && block->tier == 0;
      if (leaves) bytes += block->size.count;
      return !leaves;
    });
    return bytes;
  }

  Options options_;
  std::list<BlockId> archived_;  // in order of their hints; some may have been used since
  std::unordered_map<BlockId, std::list<BlockId>::iterator> places_;  // position in `archived_`
  std::vector<BlockId> leaving_;
  std::vector<TierIndex> to_;           // destinations of the run chosen last
  std::vector<std::size_t> order_;      // its blocks, in the order in which they leave
  std::unordered_set<BlockId> unused_;  // only overwritten, if used at all, since placed in the slowest tier
};

}  // namespace

std::unique_ptr<Policy> make_hint_aware(PolicyOptions options) {
  Options chosen;
  for (const auto& [name, value] : options) {
    if (name == "mode")
      set_mode(chosen, value);
    else if (name == "local")
      chosen.local = switched(name, value);
    else if (name == "early_free")
      chosen.early_free = switched(name, value);
    else if (name == "prefetch")
      chosen.prefetch = switched(name, value);
    else if (name == "keep")
      chosen.keep = switched(name, value);
    else if (name == "free")
      chosen.free = share(name, value);
    else
      throw ConfigError{"unknown option" + detail::did_you_mean(name, option_names), name, 0, option_names};
  }
  return std::make_unique<HintAware>(chosen);
}

}  // namespace tier
