// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/table/table_options.hpp>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace tier {
namespace {

double ratio(std::uint64_t part, std::uint64_t all) {
  return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

struct Counter {
  std::string_view name;
  std::uint64_t TableStatistics::*count;
};
constexpr Counter counters[] = {{"asked", &TableStatistics::asked},
                                {"updated", &TableStatistics::updated},
                                {"unique", &TableStatistics::unique},
                                {"hits", &TableStatistics::hits},
                                {"waited", &TableStatistics::waited},
                                {"missed_rows", &TableStatistics::missed_rows},
                                {"unique_missed_rows", &TableStatistics::unique_missed_rows},
                                {"prefetched_rows", &TableStatistics::prefetched_rows},
                                {"prefetched_unused", &TableStatistics::prefetched_unused},
                                {"prefetches_stalled", &TableStatistics::prefetches_stalled},
                                {"in_place_rows", &TableStatistics::in_place_rows},
                                {"evicted_rows", &TableStatistics::evicted_rows},
                                {"written_rows", &TableStatistics::written_rows},
                                {"holds_given_up", &TableStatistics::holds_given_up},
                                {"hints_dropped", &TableStatistics::hints_dropped},
                                {"read_errors", &TableStatistics::read_errors},
                                {"write_errors", &TableStatistics::write_errors},
                                {"bytes_in", &TableStatistics::bytes_in},
                                {"bytes_out", &TableStatistics::bytes_out},
                                {"bytes_wanted", &TableStatistics::bytes_wanted},
                                {"in_place_bytes", &TableStatistics::in_place_bytes},
                                {"waited_ns", &TableStatistics::waited_ns}};
static_assert(sizeof(TableStatistics) == std::size(counters) * sizeof(std::uint64_t),
              "each counter is listed");

}  // namespace

double TableStatistics::fast_share() const noexcept {
  return std::max(0.0, 1 - ratio(missed_rows + prefetched_rows, asked + updated));
}
double TableStatistics::on_time_share() const noexcept { return 1 - ratio(waited, asked); }
double TableStatistics::read_amplification() const noexcept { return ratio(bytes_in, bytes_wanted); }
double TableStatistics::bytes_per_written_row() const noexcept { return ratio(bytes_out, written_rows); }

TableStatistics& TableStatistics::operator+=(const TableStatistics& other) noexcept {
  for (const auto& [name, counter] : counters) this->*counter += other.*counter;
  return *this;
}

std::vector<NamedCount> TableStatistics::counts() const {
  std::vector<NamedCount> all;
  for (const auto& [name, counter] : counters) all.push_back({name, this->*counter});
  return all;
}

}  // namespace tier
