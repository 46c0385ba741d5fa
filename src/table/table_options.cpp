// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/table/table_options.hpp>

#include <algorithm>

namespace tier {
namespace {

double share_of(std::uint64_t part, std::uint64_t all) {
  return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

}  // namespace

double TableStatistics::fast_share() const noexcept {
  return std::max(0.0, 1 - share_of(missed_units + prefetched_units, asked + updated));
}
double TableStatistics::on_time_share() const noexcept { return 1 - share_of(waited, asked); }

TableStatistics& TableStatistics::operator+=(const TableStatistics& other) noexcept {
  asked += other.asked;
  updated += other.updated;
  unique += other.unique;
  hits += other.hits;
  waited += other.waited;
  missed_units += other.missed_units;
  prefetched_units += other.prefetched_units;
  prefetched_unused += other.prefetched_unused;
  prefetches_stalled += other.prefetches_stalled;
  in_place_units += other.in_place_units;
  evicted_units += other.evicted_units;
  written_units += other.written_units;
  holds_given_up += other.holds_given_up;
  hints_dropped += other.hints_dropped;
  read_errors += other.read_errors;
  write_errors += other.write_errors;
  bytes_in += other.bytes_in;
  bytes_out += other.bytes_out;
  waited_ns += other.waited_ns;
  return *this;
}

}  // namespace tier
