// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/error.hpp>
#include <tier/core/request_size.hpp>
#include <tier/table/share_by_need.hpp>

#include <algorithm>
#include <cmath>
#include <string>

namespace tier {
namespace {

/// A step from a table's size to a larger one.
struct Step {
  std::size_t to = 0;
  Bytes cost;
  double saved_per_byte = 0;  ///< misses; 0: no step saves any
};

/// Returns the misses of a table at a size, plus the cost of its lookups, in misses.
double misses(const MissRatioCurve& table, std::size_t size, double lookup) {
  const bool whole = size + 1 == table.sizes.size();
  return (table.sizes[size].miss_ratio + (whole ? 0 : lookup)) * static_cast<double>(table.asked);
}

// Returns the steepest step that costs at most `left`; it lies on the convex hull of the reachable sizes.
Step best_step(const MissRatioCurve& table, std::size_t from, Bytes left, double lookup) {
  Step best;
  for (auto to = from + 1; to < table.sizes.size(); ++to) {
    if (table.sizes[to].bytes <= table.sizes[from].bytes) continue;  // never true for curves of this library
    const auto cost = table.sizes[to].bytes - table.sizes[from].bytes;
    if (cost > left) break;
    const auto saved = misses(table, from, lookup) - misses(table, to, lookup);
    const auto per_byte = saved / static_cast<double>(cost.count);
    if (per_byte > best.saved_per_byte) best = {to, cost, per_byte};
  }
  return best;
}

Bytes sum_of_least(std::span<const MissRatioCurve> tables) {
  Bytes least;
  for (std::size_t table = 0; table < tables.size(); ++table) {
    const auto& sizes = tables[table].sizes;
    if (sizes.empty())
      throw ConfigError{"the curve of table " + std::to_string(table) +
                        " has no sizes; take a curve that RowTable::advise returns"};
    const auto sum = detail::checked_sum(least.count, sizes.front().bytes.count);
    if (!sum)
      throw ConfigError{"the smallest caches of " + std::to_string(tables.size()) +
                        " tables take more bytes than 64 bits can count"};
    least = Bytes{*sum};
  }
  return least;
}

}  // namespace

std::vector<Bytes> share_by_need(std::span<const MissRatioCurve> tables, Bytes budget, double lookup) {
  if (!(lookup >= 0) || std::isinf(lookup))
    throw ConfigError{"a lookup that costs " + std::to_string(lookup) + " misses; allowed: 0 and more"};
  const auto least = sum_of_least(tables);
  if (budget < least)
    throw ConfigError{"a budget of " + to_string(budget) + " for " + std::to_string(tables.size()) +
                      " tables is too small; their smallest caches take " + to_string(least) + " together"};
  auto left = budget - least;
  std::vector<std::size_t> sizes(tables.size());
  std::vector<Step> steps;
  for (const auto& table : tables) steps.push_back(best_step(table, 0, left, lookup));
  const auto by_need = [](const Step& a, const Step& b) { return a.saved_per_byte < b.saved_per_byte; };
  for (;;) {
    const auto best = std::max_element(steps.begin(), steps.end(), by_need);
    if (best == steps.end() || best->saved_per_byte == 0) break;
    const auto chosen = static_cast<std::size_t>(best - steps.begin());
    left -= best->cost;
    sizes[chosen] = best->to;
    for (std::size_t table = 0; table < tables.size(); ++table)
      if (table == chosen || steps[table].cost > left)
        steps[table] = best_step(tables[table], sizes[table], left, lookup);
  }
  std::vector<Bytes> shares;
  for (std::size_t table = 0; table < tables.size(); ++table)
    shares.push_back(tables[table].sizes[sizes[table]].bytes);
  return shares;
}

}  // namespace tier
