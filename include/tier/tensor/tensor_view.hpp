// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A tensor's elements while a scope is open.
#include <tier/core/error.hpp>
#include <tier/tensor/shape.hpp>

#include <span>
#include <type_traits>

namespace tier {

/// Gives the elements of a tensor to a computation: a pointer, a shape and strides. Valid until the scope that gave it
/// ends.
/// \code{.cpp}
/// tier::Tensor<float> x{runtime, {2, 3}};
/// const tier::WriteScope out{tier::overwrites(x)};
/// const tier::TensorView<float> view = out[x];
/// view(1, 2) = 5.0F;
/// assert(view.elements()[5] == 5.0F && view.extent(0) == 2 && view.strides()[0] == 3);
/// \endcode
/// \threadsafety  Immutable; the elements are plain memory.
template <class T>
class TensorView {
 public:
  TensorView(T* data, const Shape& shape, const Strides& strides) noexcept
      : data_{data}, shape_{shape}, strides_{strides} {}
  TensorView(T* data, const Shape& shape) noexcept : TensorView{data, shape, row_major(shape)} {}
  /// Converts a view for writing to one for reading.
  template <class U, std::enable_if_t<std::is_same_v<const U, T>, int> = 0>
  TensorView(const TensorView<U>& other) noexcept  // NOLINT: implicit, as that of a pointer
      : TensorView{other.data(), other.shape(), other.strides()} {}

  [[nodiscard]] T* data() const noexcept { return data_; }
  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  /// Returns the strides in elements.
  [[nodiscard]] const Strides& strides() const noexcept { return strides_; }
  [[nodiscard]] std::size_t rank() const noexcept { return shape_.rank(); }
  [[nodiscard]] std::size_t extent(std::size_t i) const noexcept { return shape_[i]; }
  [[nodiscard]] std::size_t count() const noexcept { return shape_.count(); }
  /// Returns all elements in row-major order.
  [[nodiscard]] std::span<T> elements() const noexcept { return {data_, count()}; }

  /// Returns an element, given one index for each dimension.
  template <class... Indices>
  [[nodiscard]] T& operator()(Indices... indices) const noexcept {
    TIER_ASSERT(sizeof...(Indices) == rank(), "a view takes one index for each dimension");
    std::size_t offset = 0, dimension = 0;
    ((offset += checked(static_cast<std::size_t>(indices), dimension) * strides_[dimension], ++dimension),
     ...);
    return data_[offset];
  }

  /// Returns the same elements in another shape.   \throws  `ConfigError` if their number differs
  [[nodiscard]] TensorView reshaped(const Shape& shape) const {
    if (shape.count() != count())
      throw ConfigError{"shape " + to_string(shape_) + " cannot become " + to_string(shape) +
                        ": the numbers of elements differ"};
    return {data_, shape};
  }

 private:
  [[nodiscard]] std::size_t checked(std::size_t index,
                                    [[maybe_unused]] std::size_t dimension) const noexcept {
    TIER_ASSERT(index < shape_[dimension], "an index must be less than the extent of its dimension");
    return index;
  }

  T* data_;
  Shape shape_;
  Strides strides_;
};

}  // namespace tier
