// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Storage for the operands of a scope.
#include <tier/core/assert.hpp>
#include <tier/manager/manager.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace tier::detail {

/// Keeps a fixed number of operands: eight inline, more on the heap. Unlike a general small vector it constructs them in
/// place: a copy right after the fields were written one by one stalls, which doubled the cost of a scope under clang.
class OperandBuffer {
  static_assert(std::is_trivially_copyable_v<Operand> && std::is_trivially_destructible_v<Operand>);

 public:
  explicit OperandBuffer(std::size_t capacity) : data_{here()} {
    if (capacity > inline_count) [[unlikely]]
      data_ = static_cast<Operand*>(::operator new(capacity * sizeof(Operand)));
  }
  OperandBuffer(OperandBuffer&& other) noexcept { take(other); }
  OperandBuffer& operator=(OperandBuffer&& other) noexcept {
    if (this == &other) return *this;
    release();
    take(other);
    return *this;
  }
  ~OperandBuffer() { release(); }

  /// \param make  returns the operand   \pre  fewer than the capacity are held
  void add(auto&& make) {
    ::new (static_cast<void*>(data_ + size_)) Operand(make());
    ++size_;
  }
  void clear() noexcept { size_ = 0; }

  [[nodiscard]] std::span<Operand> all() noexcept { return {data_, size_}; }
  [[nodiscard]] std::span<const Operand> all() const noexcept { return {data_, size_}; }

 private:
  static constexpr std::size_t inline_count = 8;

  Operand* here() noexcept { return reinterpret_cast<Operand*>(inline_); }
  void take(OperandBuffer& other) noexcept {
    size_ = std::exchange(other.size_, 0);
    data_ = here();
    if (other.data_ == other.here())
      std::uninitialized_copy_n(other.data_, size_, data_);
    else
      data_ = std::exchange(other.data_, other.here());
  }
  void release() noexcept {
    if (data_ != here()) [[unlikely]]
      ::operator delete(data_);
  }

  Operand* data_;
  std::size_t size_ = 0;
  alignas(Operand) std::byte inline_[inline_count * sizeof(Operand)];
};

}  // namespace tier::detail
