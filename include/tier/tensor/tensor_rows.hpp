// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A range of rows of a tensor with a window, for scopes and hints on them alone.
#include <tier/scope/traits.hpp>
#include <tier/tensor/tensor_view.hpp>

#include <cstddef>
#include <string_view>
#include <type_traits>

namespace tier {

/// Tag that asks for a tensor with a window.
struct Windowed {};
inline constexpr Windowed windowed{};

namespace detail {
/// \throws  `std::out_of_range` naming the tensor and its shape; `ConfigError` if there is no window
TIER_EXPORT void check_rows(const Shape& shape, std::size_t begin, std::size_t end, ObjectRef object);
/// Returns the shape with this number of rows.
[[nodiscard]] TIER_EXPORT Shape with_rows(const Shape& shape, std::size_t rows);
}  // namespace detail

/// Stands for some rows of a tensor with a window, so that scopes and hints can be on them alone. `Tensor::rows` returns
/// it; `T` is const if the tensor is. A scope on rows covers the blocks that contain them, as advice; its view has these
/// rows alone.
/// \code{.cpp}
/// tier::Tensor<float> x{runtime, {4096, 256}, tier::windowed};
/// tier::will_write(x.rows(64, 128));
/// const tier::WriteScope out{x.rows(0, 64)};  // not all of `x` has to fit fast memory
/// out[x.rows(0, 64)](63, 255) = 1.0F;
/// \endcode
/// \pre           The tensor outlives it.
/// \threadsafety  Immutable.
template <class T>
class TensorRows {
 public:
  TensorRows(ObjectRef object, const TensorView<T>& view) noexcept : object_{object}, view_{view} {}

  [[nodiscard]] std::size_t count() const noexcept { return view_.count(); }
  [[nodiscard]] const Shape& shape() const noexcept { return view_.shape(); }

 private:
  friend struct ScopeTraits<TensorRows>;

  ObjectRef object_;
  TensorView<T> view_;
};

template <class T>
struct ScopeTraits<TensorRows<T>> {
  static constexpr bool is_reference = true;
  static constexpr bool is_writable = !std::is_const_v<T>;

  static ObjectRef object(const TensorRows<T>& rows) noexcept { return rows.object_; }
  static std::size_t block_count(const TensorRows<T>& rows) noexcept {
    std::size_t count = 0;
    for_each_address(rows, std::size_t(-1), [&](const void*) { ++count; });
    return count;
  }
  static void for_each_address(const TensorRows<T>& rows, std::size_t at_most, auto&& visit) {
    const auto all = bytes(rows);
    for_each_block(all.data(), all.data() + all.size(), at_most, visit);
  }
  static std::span<const std::byte> bytes(const TensorRows<T>& rows) noexcept {
    return std::as_bytes(rows.view_.elements());
  }
  static TensorView<T> view(const TensorRows<T>& rows) noexcept { return rows.view_; }
};

}  // namespace tier
