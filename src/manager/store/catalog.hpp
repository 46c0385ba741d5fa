// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Which objects and blocks there are.
#include <tier/core/bytes.hpp>
#include <tier/core/pool.hpp>
#include <tier/manager/manager.hpp>

#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "manager/state/records.hpp"

namespace tier {

/// Lists the objects and blocks of a manager, and owns their descriptors. A block's descriptor is used again after its end,
/// by the same manager: a scope that leaves late may still read it.
/// \threadsafety  Under the manager's lock.
class Catalog {
 public:
  /// \param manager  the owner of the blocks; null in tests, which have none
  explicit Catalog(Manager* manager) : manager_{manager} {}
  Catalog(const Catalog&) = delete;
  Catalog& operator=(const Catalog&) = delete;
  /// \pre  no block is used any more
  ~Catalog() { objects_.clear(); }

  /// Adds a block without a place.
  /// \throws  `std::bad_alloc`; nothing has changed
  Block& add_block(std::uint64_t size, std::size_t alignment, std::uint64_t last_use);
  /// \pre  no regions, no transfer, no pins
  void erase(Block& b) noexcept;
  /// \return  null if the block is gone
  [[nodiscard]] Block* find(BlockId id) const noexcept;
  [[nodiscard]] const std::unordered_map<BlockId, Block*>& blocks() const noexcept { return by_id_; }

  /// Adds an object at a place of a block.   \throws  `std::bad_alloc`; nothing has changed
  Object& add_object(Block& b, std::size_t offset, std::size_t size, std::string_view name);
  void erase(Object& object) noexcept;
  /// Counts the memory that an object has taken beside its descriptor, and keeps.
  void note_memory(Object& object) noexcept;
  [[nodiscard]] const boost::intrusive::list<Object>& objects() const noexcept { return objects_; }

  [[nodiscard]] Bytes memory() const noexcept;

 private:
  Manager* const manager_;
  Pool<Block> blocks_;
  Pool<BlockRecord> records_;
  Pool<Object> descriptors_;
  boost::intrusive::list<Object> objects_;
  std::unordered_map<BlockId, Block*> by_id_;
  std::uint64_t next_block_ = 1;
  std::uint64_t next_object_ = 1;
  std::size_t beside_objects_ = 0;  // bytes: the sum of all `Object::memory`
};

}  // namespace tier
