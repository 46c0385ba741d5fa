// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "fast_shares.hpp"

#include <tier/table/cache_advisor.hpp>
#include <tier/table/share_by_need.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace dlrm {
namespace {

// Reading this much takes about half a second on one core of an EPYC, generated or parsed.
constexpr std::size_t most_numbers_read = 4'000'000;
constexpr std::size_t rows_followed = 8192;

std::vector<tier::MissRatioCurve> curves_of(tier::Manager& manager, std::vector<tier::TableOptions> tables,
                                            BatchReader& asked) {
  std::vector<tier::CacheAdvisor> advisors;
  for (auto& table : tables) {
    table.sample = rows_followed;
    advisors.emplace_back(manager, table);
  }
  for (std::size_t numbers = 0; numbers < most_numbers_read;) {
    const auto batch = asked.next();
    if (!batch) break;
    numbers += batch->labels.size() + batch->dense.size();
    // Updates use the same rows again, but are left out: under `lru` they would make one table that holds a whole batch
    // worth more than two that hold half of theirs, which does not hold for `hint_aware`.
    for (std::size_t table = 0; table < tables.size(); ++table) {
      advisors[table].note(batch->lookups[table].ids);
      numbers += batch->lookups[table].ids.size();
    }
  }
  std::vector<tier::MissRatioCurve> curves;
  curves.reserve(advisors.size());
  for (const auto& advisor : advisors) curves.push_back(advisor.advise());
  return curves;
}

/// A table that does not yet fit its share.
struct Part {
  tier::Bytes* share;
  tier::Bytes room;   // still missing for the whole table
  double first_uses;  // plus one, so that none is 0
};

void add_the_rest(std::span<const tier::MissRatioCurve> curves, tier::Bytes rest,
                  std::vector<tier::Bytes>& shares) {
  std::vector<Part> parts;
  for (std::size_t table = 0; table < curves.size(); ++table) {
    const auto& curve = curves[table];
    if (const auto room = curve.sizes.back().bytes - shares[table]; room.count > 0)
      parts.push_back({&shares[table], room, curve.first_uses * static_cast<double>(curve.asked) + 1});
  }
  // Tables whose missing bytes are below their due come first, so that the surplus goes to the others.
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return static_cast<double>(a.room.count) / a.first_uses <
           static_cast<double>(b.room.count) / b.first_uses;
  });
  auto uses = std::accumulate(parts.begin(), parts.end(), 0.0,
                              [](double sum, const Part& part) { return sum + part.first_uses; });
  for (const auto& part : parts) {
    const auto due = static_cast<double>(rest.count) * std::min(1.0, part.first_uses / uses);
    const auto more = std::min({part.room, rest, tier::Bytes{static_cast<std::size_t>(due)}});
    *part.share += more;
    rest -= more;
    uses -= part.first_uses;
  }
}

}  // namespace

std::vector<tier::Bytes> shares_by_size(std::span<const RowId> rows, tier::Bytes fast) {
  const auto all = static_cast<double>(std::accumulate(rows.begin(), rows.end(), std::uint64_t{0}));
  std::vector<tier::Bytes> shares;
  for (const auto count : rows)
    shares.push_back({static_cast<std::size_t>(static_cast<double>(fast.count) * (count / all))});
  return shares;
}

std::vector<tier::Bytes> shares_by_need(tier::Manager& manager, std::vector<tier::TableOptions> tables,
                                        tier::Bytes fast, double lookup, BatchReader& asked) {
  const auto curves = curves_of(manager, std::move(tables), asked);
  auto shares = tier::share_by_need(curves, fast, lookup);
  add_the_rest(curves, fast - std::accumulate(shares.begin(), shares.end(), tier::Bytes{}), shares);
  return shares;
}

}  // namespace dlrm
