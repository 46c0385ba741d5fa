// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table/gradient_update.hpp"

namespace tier::detail {
namespace {

/// Stride in floats between per-thread buffers, padded so that threads share no cache line.
constexpr std::size_t apart(std::size_t floats) noexcept { return round_up(floats, 16) + 16; }

}  // namespace

GradientUpdate::GradientUpdate(const RowLayout& layout, const RowValues& values, const Gradients& gradients,
                               const RowGroups& groups, std::size_t ids, RowUpdate update,
                               const std::atomic<std::uint64_t>& changes, std::size_t parts, Scratch& scratch)
    : layout_{layout},
      values_{values},
      gradients_{gradients},
      groups_{groups},
      update_{update},
      changes_{changes},
      sum_stride_{apart(layout.dim)},
      wide_stride_{apart(layout.dim)},
      scratch_{scratch} {
  scratch.sums.resize(parts * sum_stride_);
  scratch.wide_rows.resize(values.are_floats() ? 0 : parts * wide_stride_);
  const auto offsets = gradients.offsets;
  scratch.bag_of.resize(offsets.empty() ? 0 : ids);
  for (std::size_t bag = 0; bag + 1 < offsets.size(); ++bag)
    for (auto i = offsets[bag]; i < offsets[bag + 1]; ++i)
      scratch.bag_of[i] = static_cast<std::uint32_t>(bag);
}

void GradientUpdate::update_narrow(const RowAddress& row, RowId id, const float* gradient,
                                   float* wide) const {
  values_.visit([&](const auto& values) { values.load(wide, row.values); });
  update_(wide, row.state, gradient);
  values_.store(row.values, wide, id, changes_.load(std::memory_order_relaxed));
}

}  // namespace tier::detail
