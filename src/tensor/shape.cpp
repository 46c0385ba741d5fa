// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/error.hpp>
#include <tier/tensor/shape.hpp>

#include <algorithm>
#include <boost/container_hash/hash.hpp>

namespace tier {
namespace {

std::string list(std::span<const std::size_t> extents) {
  std::string text = "[";
  for (const auto extent : extents) text.append(text.size() > 1 ? ", " : "").append(std::to_string(extent));
  return text + "]";
}

}  // namespace

Shape::Shape(std::span<const std::size_t> extents) : rank_{extents.size()} {
  if (rank_ > max_rank)
    throw ConfigError{"shape " + list(extents) + " has " + std::to_string(rank_) + " dimensions; at most " +
                      std::to_string(max_rank) + " are allowed"};
  std::copy(extents.begin(), extents.end(), extents_.begin());
  const bool is_empty = std::find(extents.begin(), extents.end(), 0) != extents.end();
  for (const auto extent : extents)
    if (!is_empty && __builtin_mul_overflow(count_, extent, &count_))
      throw ConfigError{"shape " + list(extents) + " has more elements than 64 bits can count"};
  if (is_empty) count_ = 0;
}

std::uint64_t hash_of(const Shape& shape) noexcept {
  return boost::hash_range(shape.extents().begin(), shape.extents().end());
}

std::string to_string(const Shape& shape) { return list(shape.extents()); }

Strides row_major(const Shape& shape) noexcept {
  Strides strides{};
  std::size_t stride = 1;
  for (std::size_t i = shape.rank(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

}  // namespace tier
