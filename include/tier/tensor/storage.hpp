// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Where the elements of a tensor are: an object of a runtime, or memory that never moves.
#include <tier/core/export.hpp>
#include <tier/manager/manager.hpp>
#include <tier/manager/runtime_ref.hpp>

#include <cstddef>
#include <memory_resource>
#include <string_view>
#include <utility>

namespace tier::detail {

/// Owns an object of a runtime or an allocation from a resource, or refers to memory of the program.
class TIER_EXPORT TensorStorage {
 public:
  /// Makes an object, with or without a window.
  TensorStorage(const RuntimeRef& runtime, Bytes size, std::size_t alignment, std::string_view name,
                bool in_window = false);
  /// Allocates from a resource.
  TensorStorage(std::pmr::memory_resource& resource, Bytes size, std::size_t alignment);
  /// Refers to memory of the program.   \param alignment  of storage that `another` allocates
  TensorStorage(void* address, Bytes size, std::size_t alignment) noexcept;
  TensorStorage(TensorStorage&& other) noexcept;
  TensorStorage& operator=(TensorStorage&& other) noexcept;
  ~TensorStorage() { release(); }

  /// Returns storage of the same kind and size: in the same runtime, from the same resource, or from the heap if this is
  /// memory of the program.
  [[nodiscard]] TensorStorage another(std::string_view name) const;
  [[nodiscard]] ObjectRef object() const noexcept { return handle_.ref(); }
  /// Returns null if there is no window.
  [[nodiscard]] std::byte* window() const noexcept {
    return handle_ ? handle_.ref().object->window : nullptr;
  }
  [[nodiscard]] Operand operand(Use use) const {
    if (window() != nullptr) return Operand::of_window(handle_.ref(), use);
    return handle_ ? Operand::of(handle_.ref(), use) : Operand::of_unmanaged(address_, size_.count, id_, use);
  }

 private:
  void release() noexcept;

  ObjectHandle handle_;
  std::pmr::memory_resource* resource_ = nullptr;
  std::byte* address_ = nullptr;
  Bytes size_;
  std::size_t alignment_ = 64;
  ObjectId id_ = 0;
};

}  // namespace tier::detail
