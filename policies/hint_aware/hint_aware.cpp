// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hint_aware.hpp"

#include <tier/core/error.hpp>

namespace tier {
namespace {

struct Options {
  bool local = true;
  bool early_free = true;
  bool prefetch = true;
};

bool switched(const std::string& name, const std::string& value) {
  if (value != "on" && value != "off") throw ConfigError{"unknown value of " + name, value, 0, "on, off"};
  return value == "on";
}

Options mode(const std::string& value) {
  if (value == "0") return {false, false, false};
  if (value == "L") return {true, false, false};
  if (value == "LM") return {true, true, false};
  if (value == "LMP") return {true, true, true};
  throw ConfigError{"unknown mode", value, 0, "0, L, LM, LMP"};
}

class HintAware final : public Policy {
 public:
  explicit HintAware(Options options) : options_{options} {}

  std::string_view name() const noexcept override { return "hint_aware"; }
  bool frees_early() const noexcept override { return options_.early_free; }

  Placement place(const AllocationEvent&, PolicyContext& context) override {
    if (options_.local) return {0, true};
    return {static_cast<TierIndex>(context.tier_count() - 1), false};
  }

  /// Writes come to fast memory: slow memory reads well and writes badly. Reads do if prefetching is on, or in mode
  /// 0, which imitates a cache. There every new object costs a copy from slow memory; the paper's runtime makes it
  /// before the first kernel writes, which an overwrite spares us, so it is made before the first that reads.
  MissDecision on_miss(const MissEvent& event, PolicyContext&) override {
    const bool reads_in_place = options_.local && !options_.prefetch;
    const bool stays =
        event.use == Use::Read ? reads_in_place : event.use == Use::Overwrite && !options_.local;
    return {stays ? no_tier : TierIndex{0}, false};
  }

  /// Archived blocks leave first, in order of use; all others after them.
  std::uint64_t rank(const BlockFacts& block) const noexcept override {
    return block.archived ? block.last_use : block.last_use | 1ULL << 63;
  }

  void on_hint(const HintEvent& event, PolicyContext& context) override {
    if (!options_.prefetch || event.hint == Hint::Archive || event.hint == Hint::Prefetch) return;
    context.fetch(event.block, 0, false);  // into free room only: a hint must not push out what is in use
  }

 private:
  Options options_;
};

}  // namespace

std::unique_ptr<Policy> make_hint_aware(PolicyOptions options) {
  Options chosen;
  for (const auto& [name, value] : options) {
    if (name == "mode")
      chosen = mode(value);
    else if (name == "local")
      chosen.local = switched(name, value);
    else if (name == "early_free")
      chosen.early_free = switched(name, value);
    else if (name == "prefetch")
      chosen.prefetch = switched(name, value);
    else
      throw ConfigError{"unknown option", name, 0, "mode, local, early_free, prefetch"};
  }
  return std::make_unique<HintAware>(chosen);
}

}  // namespace tier
