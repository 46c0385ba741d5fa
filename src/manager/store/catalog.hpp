// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Which objects and blocks there are.
#include <tier/core/bytes.hpp>
#include <tier/core/pool.hpp>
#include <tier/manager/manager.hpp>

#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "manager/state/records.hpp"

namespace tier {

/// The records of blocks by id. Ids count up, so that their lowest bits spread them best.
struct IdOfBlock {
  using type = BlockId;
  const BlockId& operator()(const BlockRecord& record) const noexcept { return record.block->id; }
};
struct HashOfId {
  std::size_t operator()(BlockId id) const noexcept { return id; }
};
using BlocksById = boost::intrusive::unordered_set<
    BlockRecord,
    boost::intrusive::member_hook<BlockRecord, boost::intrusive::unordered_set_member_hook<>,
                                  &BlockRecord::by_id>,
    boost::intrusive::key_of_value<IdOfBlock>, boost::intrusive::hash<HashOfId>,
    boost::intrusive::power_2_buckets<true>>;

/// Lists the objects and blocks of a manager, and owns their descriptors. A block's descriptor is used again after its end,
/// by the same manager: a scope that leaves late may still read it.
/// \threadsafety  Under the manager's lock.
class Catalog {
 public:
  /// \param manager  the owner of the blocks; null in tests, which have none
  explicit Catalog(Manager* manager);
  Catalog(const Catalog&) = delete;
  Catalog& operator=(const Catalog&) = delete;
  /// \pre  no block is used any more
  ~Catalog() {
    objects_.clear();
    by_id_.clear();
  }

  /// Adds a block without a place.
  /// \throws  `std::bad_alloc`; nothing has changed
  Block& add_block(std::uint64_t size, std::size_t alignment, std::uint64_t last_use);
  /// \pre  no regions, no transfer, no pins
  void erase(Block& b) noexcept;
  /// \return  null if the block is gone
  [[nodiscard]] Block* find(BlockId id) const noexcept;
  [[nodiscard]] const BlocksById& blocks() const noexcept { return by_id_; }

  /// Adds an object at a place of a block.   \throws  `std::bad_alloc`; nothing has changed
  Object& add_object(Block& b, std::size_t offset, std::size_t size, std::string_view name);
  void erase(Object& object) noexcept;
  /// Counts the memory that an object has taken beside its descriptor, and keeps.
  void note_memory(Object& object) noexcept;
  [[nodiscard]] const boost::intrusive::list<Object>& objects() const noexcept { return objects_; }

  [[nodiscard]] Bytes memory() const noexcept;

 private:
  void grow_index();

  Manager* const manager_;
  Pool<Block> blocks_;
  Pool<BlockRecord> records_;
  Pool<Object> descriptors_;
  boost::intrusive::list<Object> objects_;
  std::size_t bucket_count_ = 64;
  std::unique_ptr<BlocksById::bucket_type[]> buckets_;
  BlocksById by_id_;
  std::uint64_t next_block_ = 1;
  std::uint64_t next_object_ = 1;
  std::size_t beside_objects_ = 0;  // bytes: the sum of all `Object::memory`
};

}  // namespace tier
