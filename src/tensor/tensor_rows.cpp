// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/error.hpp>
#include <tier/manager/object.hpp>
#include <tier/tensor/tensor_rows.hpp>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace tier::detail {

void check_rows(const Shape& shape, std::size_t begin, std::size_t end, ObjectRef object) {
  const auto name = object.object != nullptr ? "\"" + object.object->name + '"' : std::string{"a tensor"};
  if (object.object == nullptr || object.object->window == nullptr)
    throw ConfigError{name +
                      " has no window, so a scope cannot cover a part of it: make it with tier::windowed"};
  if (shape.rank() == 0 || begin > end || end > shape[0])
    throw std::out_of_range{"rows " + std::to_string(begin) + " to " + std::to_string(end) + " of " + name +
                            " are out of range: its shape is " + to_string(shape)};
}

Shape with_rows(const Shape& shape, std::size_t rows) {
  std::array<std::size_t, max_rank> extents{};
  std::ranges::copy(shape.extents(), extents.begin());
  extents[0] = rows;
  return Shape{std::span{extents.data(), shape.rank()}};
}

}  // namespace tier::detail
