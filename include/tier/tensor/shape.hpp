// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The extents of a tensor, and the layout of its elements.
#include <tier/core/assert.hpp>
#include <tier/core/export.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace tier {

inline constexpr std::size_t max_rank = 8;

/// Says how many elements a tensor has along each dimension: up to `max_rank` extents, outermost first. A shape without
/// extents is a scalar's: one element.
/// \code{.cpp}
/// const tier::Shape images{64, 3, 224, 224};
/// assert(images.rank() == 4 && images[0] == 64 && images.count() == 64 * 3 * 224 * 224);
/// assert(to_string(images) == "[64, 3, 224, 224]");
/// \endcode
/// \threadsafety  Immutable.
class TIER_EXPORT Shape {
 public:
  Shape() = default;
  /// \throws  `ConfigError` for more than `max_rank` extents, or if their product does not fit
  Shape(std::initializer_list<std::size_t> extents) : Shape{std::span{extents.begin(), extents.size()}} {}
  explicit Shape(std::span<const std::size_t> extents);

  [[nodiscard]] std::size_t rank() const noexcept { return rank_; }
  [[nodiscard]] std::size_t operator[](std::size_t i) const noexcept {
    TIER_ASSERT(i < rank_, "a dimension must be less than the rank");
    return extents_[i];
  }
  /// Returns the product of the extents.
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] std::span<const std::size_t> extents() const noexcept { return {extents_.data(), rank_}; }
  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::array<std::size_t, max_rank> extents_{};
  std::size_t rank_ = 0;
  std::size_t count_ = 1;
};

/// Returns a hash: equal for equal shapes, and unlikely to be equal for others.
[[nodiscard]] TIER_EXPORT std::uint64_t hash_of(const Shape& shape) noexcept;
/// `[64, 256, 56, 56]`
[[nodiscard]] TIER_EXPORT std::string to_string(const Shape& shape);

/// The distance in elements between neighbours along each dimension.
using Strides = std::array<std::size_t, max_rank>;
/// Returns the strides of rows that follow one another: the last dimension is contiguous.
[[nodiscard]] TIER_EXPORT Strides row_major(const Shape& shape) noexcept;

}  // namespace tier
