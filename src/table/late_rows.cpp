// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table/late_rows.hpp"

namespace tier::detail {

void LateRows::list(std::span<const RowId> ids, std::span<const std::uint32_t> offsets,
                    std::span<const std::uint32_t> targets) {
  clear(!offsets.empty());
  for (const auto target : targets) add(ids, offsets, target);
}

void LateRows::list_all(std::span<const RowId> ids, std::span<const std::uint32_t> offsets) {
  clear(!offsets.empty());
  const auto targets = offsets.empty() ? ids.size() : offsets.size() - 1;
  for (std::size_t target = 0; target < targets; ++target) add(ids, offsets, target);
}

void LateRows::clear(bool sums) noexcept {
  rows_.clear();
  uses_.clear();
  sums_ = sums;
}

void LateRows::add(std::span<const RowId> ids, std::span<const std::uint32_t> offsets, std::size_t target) {
  const auto begin = sums_ ? std::size_t{offsets[target]} : target;
  const auto end = sums_ ? std::size_t{offsets[target + 1]} : target + 1;
  for (auto i = begin; i < end; ++i) {
    rows_.push_back(ids[i]);
    uses_.push_back({static_cast<std::uint32_t>(target), i == begin});
  }
}

void LateRows::deliver(std::size_t first, std::span<const RowAddress> addresses, const Output& out,
                       const RowLoops& loops) const {
  const auto uses = std::span{uses_}.subspan(first, addresses.size());
  // Moves a boundary so that all rows of a bag go to one thread.
  const auto from_bag = [&](std::size_t i) {
    while (sums_ && i > 0 && i < uses.size() && uses[i].target == uses[i - 1].target) ++i;
    return i;
  };
  const auto deliver_some = [&](const auto& values, IndexRange range) {
    for (auto i = from_bag(range.begin); i < from_bag(range.end); ++i) {
      const auto* const row = addresses[i].values;
      float* const to = out[uses[i].target];
      if (!sums_) {
        values.load(to, row);
        continue;
      }
      if (uses[i].first) start_sum(to, out.dim);
      values.add(to, row);
    }
  };
  loops.for_each_part(uses.size(), uses.size(), [&](IndexRange range, std::size_t) {
    loops.values().visit([&](const auto& values) { deliver_some(values, range); });
  });
}

}  // namespace tier::detail
