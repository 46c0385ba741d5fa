// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  An object that the manager knows, and the handle that owns it.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>
#include <tier/manager/block.hpp>
#include <tier/policy/policy.hpp>

#include <boost/intrusive/list_hook.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tier {

class Manager;

/// Describes an object of the manager: it has a block of its own or, if small, a part of a group block.
struct Object : boost::intrusive::list_base_hook<> {
  ObjectId id = 0;
  Block* block = nullptr;
  std::size_t offset = 0;  ///< in the block
  std::size_t size = 0;
  bool grouped = false;
  bool cut = false;              ///< its window has several blocks
  bool retired = false;          ///< grouped: its part of the block is gone, or goes with the last pin
  std::uint32_t alignment = 1;   ///< grouped: of its part
  std::size_t memory = 0;        ///< bytes of its name and its list of blocks
  std::uint64_t retired_at = 0;  ///< grouped: the group's `frees` when it was retired
  std::string name;
  std::byte* window = nullptr;  ///< fixed address of its bytes; null: they have none
  std::vector<Block*> blocks;   ///< with a window: all of them in order of address; `block` is the first
};

/// Names an object without owning it, so that objects of different types can stand in one set. Valid as long as the
/// object's owner lives, such as its tensor. Null for memory that no runtime manages.
/// \code{.cpp}
/// tier::Tensor<float> weights{runtime, {256}};
/// tier::Tensor<int> labels{runtime, {64}};
/// const std::vector<tier::ObjectRef> operands{weights.object(), labels.object()};
/// const tier::WriteScope out{tier::overwrites(operands)};
/// out[weights](0) = 1.0F, out[labels](0) = 1;
/// \endcode
struct ObjectRef {
  const Object* object = nullptr;

  [[nodiscard]] ObjectId id() const noexcept { return object->id; }
  friend bool operator==(ObjectRef, ObjectRef) = default;
};

/// Owns one object of a runtime; its destructor frees the bytes (at the last unpin). Keeps the runtime's core alive.
/// \threadsafety  A handle is thread-confined; different handles are independent.
class TIER_EXPORT ObjectHandle {
 public:
  ObjectHandle() = default;
  ObjectHandle(std::shared_ptr<Manager> manager, Object* object) noexcept
      : manager_{std::move(manager)}, object_{object} {}
  ObjectHandle(ObjectHandle&& other) noexcept
      : manager_{std::move(other.manager_)}, object_{std::exchange(other.object_, nullptr)} {}
  ObjectHandle& operator=(ObjectHandle&& other) noexcept;
  ~ObjectHandle() { reset(); }

  [[nodiscard]] explicit operator bool() const noexcept { return object_ != nullptr; }
  [[nodiscard]] ObjectRef ref() const noexcept { return {object_}; }
  [[nodiscard]] Bytes size_bytes() const noexcept { return {object_ != nullptr ? object_->size : 0}; }
  [[nodiscard]] const std::shared_ptr<Manager>& manager() const noexcept { return manager_; }
  void reset() noexcept;
  /// Gives up the object without ending it; another handle made of it ends it.
  [[nodiscard]] Object* release() noexcept { return std::exchange(object_, nullptr); }

 private:
  std::shared_ptr<Manager> manager_;
  Object* object_ = nullptr;
};

}  // namespace tier
