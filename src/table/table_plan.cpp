// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table/table_plan.hpp"

#include <tier/core/error.hpp>
#include <tier/table/row_table.hpp>

#include <string>

namespace tier {
namespace detail {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t most_policy_bytes = 12;  // see `RowPolicy`

Bytes budget_of(Manager& manager, const TableOptions& options) {
  if (options.budget) return *options.budget;
  const auto& fastest = manager.tier(Manager::fastest());
  if (options.share != 0)
    return {static_cast<std::size_t>(options.share * static_cast<double>(fastest.capacity().count))};
  return manager.statistics().tiers.at(Manager::fastest()).largest_free;
}

bool is_whole(const RowLayout& layout, const TableOptions& options, Bytes budget) {
  return options.slots ? *options.slots >= options.rows : layout.bytes() <= budget.count;
}

// Returns the tier that the options name, or the first after the fastest that has room for the rows.
TierIndex slow_tier(Manager& manager, const TableOptions& options) {
  if (options.slow != no_tier) {
    if (options.slow == Manager::fastest() || options.slow >= manager.tier_count())
      throw ConfigError{"table '" + options.name + "': its rows cannot live in tier " +
                        std::to_string(options.slow) + "; allowed: 1 to " +
                        std::to_string(manager.tier_count() - 1)};
    return options.slow;
  }
  if (manager.tier_count() == 1)
    throw ConfigError{
        "table '" + options.name + "' of " + to_string(Bytes{row_layout(options).bytes()}) +
        " is larger than its budget, and there is no slower tier: add a tier, or raise the budget"};
  const auto statistics = manager.statistics();
  const auto tiers = static_cast<TierIndex>(manager.tier_count());
  for (TierIndex tier = 1; tier < tiers; ++tier)
    if (statistics.tiers[tier].largest_free.count >= row_layout(options, manager.tier(tier)).bytes())
      return tier;
  return static_cast<TierIndex>(tiers - 1);
}

[[noreturn]] void refuse_budget(const TableOptions& options, Bytes budget, Bytes minimum) {
  throw ConfigError{"table '" + options.name + "': a budget of " + to_string(budget) + " is below the " +
                    to_string(minimum) + " that a slot, the slot map and staging for a batch take"};
}

// Returns a shape without slots if `budget` covers none.
CacheShape shape_of(const RowLayout& layout, const TableOptions& options, Bytes budget,
                    std::size_t policy_bytes) {
  if (!options.slots) return CacheShape::of_budget(layout, budget, policy_bytes);
  return CacheShape::of_slots(layout, static_cast<RowId>(*options.slots), policy_bytes);
}

// A tier that checks accesses is asked before each, which no loop over rows does.
bool uses_in_place(const RowPolicy& policy, const PlacedStorage& rows) {
  return policy.uses_in_place() && rows.address() != nullptr && !rows.tier().checks_accesses();
}

}  // namespace

TablePlan plan_table(Manager& manager, const TableOptions& options) {
  check_options(options);
  const auto budget = options.slots ? Bytes{} : budget_of(manager, options);
  TablePlan plan;
  plan.layout = row_layout(options);
  auto tier = Manager::fastest();
  if (is_whole(plan.layout, options, budget)) {
    plan.kind = TableKind::Whole;
  } else {
    tier = slow_tier(manager, options);
    if (options.policy == nullptr)
      throw ConfigError{"table '" + options.name +
                        "' is larger than its budget and has no row policy; set TableOptions::policy"};
    plan.layout = row_layout(options, manager.tier(tier));
    const auto policy_bytes = options.policy->bytes_per_slot();
    plan.shape = shape_of(plan.layout, options, budget, policy_bytes);
    if (plan.shape.slots == 0)
      refuse_budget(options, budget, {CacheShape::of_slots(plan.layout, 1, policy_bytes).bytes(plan.layout)});
  }
  plan.storage = manager.allocate_fixed({plan.layout.bytes()}, page, tier, options.name);
  if (plan.kind == TableKind::Cached && uses_in_place(*options.policy, plan.storage))
    plan.kind = TableKind::Direct;
  return plan;
}

std::optional<CacheSize> CacheSizes::cache(std::uint64_t slots, double miss_ratio) const noexcept {
  if (slots >= layout.rows) return {};
  const auto shape = CacheShape::of_slots(layout, static_cast<RowId>(slots), policy_bytes_per_slot);
  const Bytes bytes{shape.bytes(layout)};
  if (bytes >= whole_bytes) return {};
  return CacheSize{slots, bytes, miss_ratio};
}

CacheSizes cache_sizes(Manager& manager, const TableOptions& options) {
  check_options(options);
  const auto whole = row_layout(options);
  const bool alone = manager.tier_count() == 1;
  return {alone ? whole : row_layout(options, manager.tier(slow_tier(manager, options))),
          {whole.bytes()},
          options.policy == nullptr ? most_policy_bytes : options.policy->bytes_per_slot()};
}

}  // namespace detail

TableBytes bytes_needed(Manager& manager, const TableOptions& options) {
  const auto sizes = detail::cache_sizes(manager, options);
  const auto budget = options.slots ? Bytes{} : detail::budget_of(manager, options);
  const auto least = sizes.cache(1, 1);
  TableBytes bytes{sizes.whole_bytes, least ? least->bytes : sizes.whole_bytes, {}};
  if (manager.tier_count() == 1 || detail::is_whole(detail::row_layout(options), options, budget))
    return bytes;
  bytes.cache =
      detail::shape_of(sizes.layout, options, budget, sizes.policy_bytes_per_slot).parts(sizes.layout);
  return bytes;
}

}  // namespace tier
