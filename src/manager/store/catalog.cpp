// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "catalog.hpp"

#include <string>
#include <utility>

namespace tier {

Catalog::Catalog(Manager* manager)
    : manager_{manager},
      buckets_{std::make_unique<BlocksById::bucket_type[]>(bucket_count_)},
      by_id_{BlocksById::bucket_traits{buckets_.get(), bucket_count_}} {}

/// Makes room for one more block.   \throws  `std::bad_alloc`
void Catalog::grow_index() {
  if (by_id_.size() < bucket_count_) return;
  auto buckets = std::make_unique<BlocksById::bucket_type[]>(2 * bucket_count_);
  bucket_count_ *= 2;
  by_id_.rehash({buckets.get(), bucket_count_});
  buckets_ = std::move(buckets);
}

Block& Catalog::add_block(std::uint64_t size, std::size_t alignment, std::uint64_t last_use) {
  grow_index();
  Block* b = blocks_.get();
  BlockRecord* record = nullptr;
  try {
    record = records_.get();
  } catch (...) {
    blocks_.put(b);
    throw;
  }
  *record = BlockRecord{};
  record->block = b;
  record->alignment = alignment;
  b->address.store(nullptr, std::memory_order_relaxed);
  b->version.store(0, std::memory_order_relaxed);
  b->last_use.store(last_use, std::memory_order_relaxed);
  b->size = size;
  b->id = next_block_++;
  if (b->manager == nullptr)
    b->manager = manager_;  // never changed: the last scope to leave may read it late
  b->record = record;
  b->state.reset();
  by_id_.insert(*record);
  return *b;
}

void Catalog::erase(Block& b) noexcept {
  by_id_.erase(by_id_.iterator_to(*b.record));
  records_.put(b.record);
  b.record = nullptr;
  b.state.reset();
  blocks_.put(&b);
}

Block* Catalog::find(BlockId id) const noexcept {
  const auto it = by_id_.find(id);
  return it == by_id_.end() ? nullptr : it->block;
}

Object& Catalog::add_object(Block& b, std::size_t offset, std::size_t size, std::string_view name) {
  Object* object = descriptors_.get();
  try {
    object->name.assign(name);
  } catch (...) {
    descriptors_.put(object);
    throw;
  }
  object->id = next_object_++;
  object->block = &b;
  object->offset = offset;
  object->size = size;
  object->grouped = object->cut = object->retired = false;
  object->window = nullptr;
  objects_.push_back(*object);
  note_memory(*object);
  if (b.record->group == nullptr) b.record->object = object;
  return *object;
}

void Catalog::erase(Object& object) noexcept {
  objects_.erase(objects_.iterator_to(object));
  object.id = 0;  // tells a thread that waits to revive the object
  object.name.clear();
  object.blocks.clear();
  descriptors_.put(&object);  // keeps the memory of its name and list of blocks for the next object
}

void Catalog::note_memory(Object& object) noexcept {
  const auto of_name = object.name.capacity() > std::string{}.capacity() ? object.name.capacity() + 1 : 0;
  const auto all = of_name + object.blocks.capacity() * sizeof(Block*);
  beside_objects_ += all - std::exchange(object.memory, all);
}

/// Returns the ordinary memory in use, without that of companions and tables.
Bytes Catalog::memory() const noexcept {
  return Bytes{blocks_.bytes() + records_.bytes() + descriptors_.bytes() + beside_objects_ +
               bucket_count_ * sizeof(BlocksById::bucket_type)};
}

}  // namespace tier
