// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table/row_groups.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace tier::detail {
namespace {

constexpr unsigned digit_bits = 11;             // the counters of a pass fit the first-level cache
constexpr std::size_t worth_counting = 1 << 7;  // below, comparing is faster than clearing the counters

}  // namespace

void RowGroups::build(std::span<const RowId> ids, RowId rows) {
  occurrences_.resize(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) occurrences_[i] = std::uint64_t{ids[i]} << 32 | i;
  sort(rows);
  rows_.clear();
  starts_.clear();
  rows_.reserve(ids.size());
  starts_.reserve(ids.size() + 1);
  for (std::size_t i = 0; i < occurrences_.size(); ++i) {
    const auto row = row_of(occurrences_[i]);
    if (!rows_.empty() && rows_.back() == row) continue;
    rows_.push_back(row);
    starts_.push_back(static_cast<std::uint32_t>(i));
  }
  starts_.push_back(static_cast<std::uint32_t>(occurrences_.size()));
}

// Radix sort from the lowest digit; each pass is stable, so that positions stay ascending.
void RowGroups::sort(RowId rows) {
  if (occurrences_.size() < worth_counting) return std::sort(occurrences_.begin(), occurrences_.end());
  spare_.resize(occurrences_.size());
  for (unsigned shift = 0; shift < static_cast<unsigned>(std::bit_width(rows - 1)); shift += digit_bits) {
    std::array<std::uint32_t, 1 << digit_bits> next{};
    const auto digit = [&](std::uint64_t o) { return (o >> (32 + shift)) & (next.size() - 1); };
    for (const auto o : occurrences_) ++next[digit(o)];
    std::uint32_t sum = 0;
    for (auto& n : next) sum += std::exchange(n, sum);
    for (const auto o : occurrences_) spare_[next[digit(o)]++] = o;
    occurrences_.swap(spare_);
  }
}

}  // namespace tier::detail
