// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  An array of up to eight dimensions whose bytes move between tiers.
#include <tier/copy/copy_engine.hpp>
#include <tier/scope/scope.hpp>
#include <tier/tensor/shape.hpp>
#include <tier/tensor/storage.hpp>
#include <tier/tensor/tensor_rows.hpp>
#include <tier/tensor/tensor_view.hpp>

#include <cstddef>
#include <memory_resource>
#include <string_view>
#include <type_traits>
#include <utility>

namespace tier {

/// An array of up to eight dimensions that may leave fast memory while it is not in use. Its elements are reached through
/// scopes. It is one object of a runtime, row-major. Move-only: moving keeps the object, so scopes that are open on it stay
/// valid.
/// \code{.cpp}
/// tier::Tensor<float> x{runtime, {64, 256}, "x"};
/// std::ranges::fill(tier::WriteScope{tier::overwrites(x)}[x].elements(), 1.0F);
/// const tier::Tensor<float> flat = x.clone().reshaped({64 * 256});
/// assert(tier::ReadScope{flat}[flat](16'383) == 1.0F);
/// \endcode
/// \threadsafety  As a container of the standard library.
template <class T>
class Tensor {
  static_assert(
      std::is_trivially_copyable_v<T> && !std::is_const_v<T>,
      "libtier: a Tensor moves the bytes of its elements, so they must be trivially copyable and not const");

 public:
  using value_type = T;
  static constexpr std::size_t alignment = alignof(T) < 64 ? 64 : alignof(T);

  /// Makes a tensor with undefined elements.
  /// \param name  for messages and statistics
  /// \throws      `OutOfTierMemory`, also if the bytes of the shape cannot be counted; `TierError` in the child of a fork
  Tensor(const RuntimeRef& runtime, const Shape& shape, std::string_view name = {})
      : Tensor{{runtime, bytes_of(shape), alignment, name}, shape} {}
  /// Makes one with a window: the addresses of its elements never change, and blocks of up to 2 MiB move one by one.
  /// Scopes, which may cover `rows`, are advice: they fetch and keep what fits in half of the fastest tier; other blocks
  /// are fetched when they are touched. After `madvise(MADV_DONTNEED)` contents are undefined, not zeros; `retire` frees
  /// memory.
  /// \throws  as above; also `TierError` if the system refuses what windows need, which with `WindowMode::Full` includes
  ///          the right to serve the process's own page faults
  Tensor(const RuntimeRef& runtime, const Shape& shape, Windowed, std::string_view name = {})
      : Tensor{{runtime, bytes_of(shape), alignment, name, true}, shape} {}
  /// Makes one on memory that does not move.   \pre  `resource` outlives the tensor
  Tensor(std::pmr::memory_resource& resource, const Shape& shape)
      : Tensor{{resource, bytes_of(shape), alignment}, shape} {}
  /// Wraps memory of the program, which never moves.
  /// \param data  at least the shape's elements, aligned for `T`; it outlives the tensor
  [[nodiscard]] static Tensor wrap(T* data, const Shape& shape) {
    return {detail::TensorStorage{static_cast<void*>(data), bytes_of(shape), alignment}, shape};
  }

  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(Tensor&&) noexcept = default;

  /// Returns a copy, in the same runtime or from the same resource.
  /// \throws  `OutOfTierMemory`, `TierError`; nothing is copied unless both tensors fit at once
  [[nodiscard]] Tensor clone(std::string_view name = {}) const {
    Tensor copy{storage_.another(name), shape_};
    if (shape_.count() == 0) return copy;
    KernelScope scope{"clone", reads(*this), overwrites(copy)};
    tier::copy(std::as_writable_bytes(scope.out(copy).elements()), std::as_bytes(scope.in(*this).elements()));
    return copy;
  }
  /// Returns the same object in another shape: `std::move(t).reshaped({…})`.
  /// \throws  `ConfigError` if the number of elements differs; `t` is as it was
  [[nodiscard]] Tensor reshaped(const Shape& shape) && {
    static_cast<void>(TensorView<T>{nullptr, shape_}.reshaped(shape));
    return {std::move(storage_), shape};
  }

  /// Returns the rows (indices of the first dimension) from `begin` up to `end`, of a tensor with a window. For scopes and
  /// hints, as in `ReadScope in{x.rows(0, 8)}`, `in[x.rows(0, 8)]`.
  /// \throws  `std::out_of_range`, or `ConfigError` if there is no window
  [[nodiscard]] TensorRows<const T> rows(std::size_t begin, std::size_t end) const {
    return rows_of<const T>(begin, end);
  }
  [[nodiscard]] TensorRows<T> rows(std::size_t begin, std::size_t end) { return rows_of<T>(begin, end); }

  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  [[nodiscard]] std::size_t rank() const noexcept { return shape_.rank(); }
  [[nodiscard]] std::size_t extent(std::size_t i) const noexcept { return shape_[i]; }
  [[nodiscard]] std::size_t count() const noexcept { return shape_.count(); }
  [[nodiscard]] Bytes size_bytes() const noexcept { return {count() * sizeof(T)}; }
  /// Returns the object, for operand sets of different types; null for memory that no runtime manages.
  [[nodiscard]] ObjectRef object() const noexcept { return storage_.object(); }

 private:
  friend struct ScopeTraits<Tensor>;

  Tensor(detail::TensorStorage storage, const Shape& shape)
      : storage_{std::move(storage)}, shape_{shape}, strides_{row_major(shape)} {}
  template <class U>
  TensorRows<U> rows_of(std::size_t begin, std::size_t end) const {
    detail::check_rows(shape_, begin, end, object());
    auto* const first = reinterpret_cast<U*>(storage_.window()) + begin * strides_[0];
    return {object(), {first, detail::with_rows(shape_, end - begin), strides_}};
  }
  static Bytes bytes_of(const Shape& shape) {
    std::size_t size = 0;
    if (__builtin_mul_overflow(shape.count(), sizeof(T), &size) || size > PTRDIFF_MAX)
      throw OutOfTierMemory{"a tensor of shape " + to_string(shape) +
                            " has more bytes than 63 bits can count"};
    return {size};
  }

  detail::TensorStorage storage_;
  Shape shape_;
  Strides strides_;
};

template <class T>
struct ScopeTraits<Tensor<T>> {
  static ObjectRef object(const Tensor<T>& tensor) noexcept { return tensor.object(); }
  static Operand operand(const Tensor<T>& tensor, Use use) { return tensor.storage_.operand(use); }
  static std::uint64_t shape_hash(const Tensor<T>& tensor) noexcept { return hash_of(tensor.shape_); }
  static TensorView<const T> view(const Tensor<T>& tensor, const Operand& operand) noexcept {
    return {reinterpret_cast<const T*>(operand.address), tensor.shape_, tensor.strides_};
  }
  static TensorView<T> view(Tensor<T>& tensor, const Operand& operand) noexcept {
    return {reinterpret_cast<T*>(operand.address), tensor.shape_, tensor.strides_};
  }
};

}  // namespace tier
