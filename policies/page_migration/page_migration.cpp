// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "page_migration.hpp"

#include <tier/core/error.hpp>
#include <tier/core/suggestion.hpp>

#include <algorithm>
#include <charconv>
#include <functional>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tier {
namespace {

struct Options {
  double period_ms = 100;
  double touches = 2;
  double share = 0.25;
};

constexpr std::string_view option_names = "period_ms, touches, share";

double number(const std::string& name, const std::string& value, double least, double most) {
  double number = std::numeric_limits<double>::quiet_NaN();
  const auto* const end = value.data() + value.size();
  const auto [rest, error] = std::from_chars(value.data(), end, number);
  if (error != std::errc{} || rest != end || !(number >= least && number <= most))
    throw ConfigError{"unknown value of " + name, value, 0,
                      "a number from " + std::to_string(least) + " to " + std::to_string(most)};
  return number;
}

class PageMigration final : public Policy {
 public:
  explicit PageMigration(const Options& options)
      : share_{options.share},
        period_ns_{static_cast<std::uint64_t>(options.period_ms * 1e6)},
        least_touches_{static_cast<std::uint64_t>(options.touches)} {}

  std::string_view name() const noexcept override { return "page_migration"; }
  WantedUses wanted_uses() const noexcept override { return WantedUses::Misses; }
  Bytes memory() const noexcept override {
    return {touches_.size() * 3 * sizeof(std::uint64_t) + touches_.bucket_count() * sizeof(void*) +
            wanted_.capacity() * sizeof(BlockId)};
  }

  Placement place(const AllocationEvent&, PolicyContext&) override { return {0, false}; }
  MissDecision on_miss(const MissEvent& event, PolicyContext& context) override {
    touched(event.block.id, event.time_ns, context);
    return {no_tier, true};
  }
  void on_use(const UseEvent& event, PolicyContext& context) override {
    touched(event.block, event.time_ns, context);
  }
  void on_retire(const RetireEvent& event, PolicyContext&) override { touches_.erase(event.block); }

  void on_step(const StepEvent&, PolicyContext& context) override { promote(context); }

 private:
  void touched(BlockId block, std::uint64_t time_ns, PolicyContext& context) {
    ++touches_[block];
    if (time_ns - began_ns_ >= period_ns_) {
      began_ns_ = time_ns;
      look(context);
    }
    promote(context, block);
  }

  /// Selects the blocks to come to fast memory, the hottest first.
  void look(PolicyContext& context) {
    std::vector<std::pair<std::uint64_t, BlockId>> hot;
    for (const auto& [block, count] : touches_)
      if (count >= least_touches_) hot.emplace_back(count, block);
    touches_.clear();
    std::ranges::sort(hot, std::greater{});
    wanted_.clear();
    auto left =
        static_cast<std::uint64_t>(share_ * static_cast<double>(context.tier_facts(0).capacity.count));
    for (const auto& [count, id] : hot) {
      const auto block = context.block_facts(id);
      if (!block || block->tier == 0 || block->size.count > left) continue;
      left -= block->size.count;
      wanted_.push_back(id);
    }
  }

  /// Fetches wanted blocks. One that is in use waits until it is not, because room made for it now would be wasted.
  /// \param in_use  a block that is in use, or about to be
  void promote(PolicyContext& context, BlockId in_use = 0) {
    std::erase_if(wanted_, [&](BlockId id) {
      const auto block = context.block_facts(id);
      if (!block || block->tier == 0) return true;
      return id != in_use && !block->pinned && context.fetch(id, 0, true) != Outcome::Pinned;
    });
  }

  double share_;
  std::uint64_t period_ns_;
  std::uint64_t least_touches_;
  std::uint64_t began_ns_ = 0;
  std::unordered_map<BlockId, std::uint64_t> touches_;  // uses in slow memory since the last `look`
  std::vector<BlockId> wanted_;                         // still to come to fast memory
};

}  // namespace

std::unique_ptr<Policy> make_page_migration(PolicyOptions options) {
  Options chosen;
  for (const auto& [name, value] : options) {
    if (name == "period_ms")
      chosen.period_ms = number(name, value, 0, 1e6);
    else if (name == "touches")
      chosen.touches = number(name, value, 1, 1e6);
    else if (name == "share")
      chosen.share = number(name, value, 0, 1);
    else
      throw ConfigError{"unknown option" + detail::did_you_mean(name, option_names), name, 0, option_names};
  }
  return std::make_unique<PageMigration>(chosen);
}

}  // namespace tier
