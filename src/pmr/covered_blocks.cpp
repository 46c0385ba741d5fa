// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pmr/covered_blocks.hpp"

#include <tier/pmr/allocation_group.hpp>

#include <new>
#include <utility>

namespace tier::detail {
namespace {

/// Keeps covered blocks open for one scope.
class Cover {
 public:
  Cover(std::shared_ptr<const CachedHeap> heap, std::shared_ptr<CoveredBlocks> blocks) noexcept
      : heap_{std::move(heap)}, blocks_{std::move(blocks)} {
    const MutexLock lock{heap_->mutex()};
    blocks_->open();
  }
  ~Cover() {
    const MutexLock lock{heap_->mutex()};
    blocks_->close();
  }
  Cover(const Cover&) = delete;
  Cover& operator=(const Cover&) = delete;

 private:
  std::shared_ptr<const CachedHeap> heap_;
  std::shared_ptr<CoveredBlocks> blocks_;
};

}  // namespace

void CoveredBlocks::close() noexcept {
  if (--scopes_ > 0) return;
  for (const auto& [id, block] : pinned_) Manager::leave(block.operand);
  pinned_ = {};
}

/// If there is no memory to record a block, it is not pinned.
void CoveredBlocks::pin(const std::byte* begin, std::size_t size) noexcept {
  try {
    visit_blocks(begin, size, std::size_t(-1), [&](const void* address) {
      const auto [at, fresh] = pinned_.try_emplace(block_of(address).id);
      ++at->second.ranges;
      if (!fresh) return;
      auto& operand = at->second.operand = Operand::advice_at(address, Use::Read);
      if (operand.entered) return;
      operand.block->manager->let_go(operand);
      pinned_.erase(at);
    });
  } catch (const std::bad_alloc&) {
  }
}

void CoveredBlocks::unpin(const std::byte* begin, std::size_t size) noexcept {
  visit_blocks(begin, size, std::size_t(-1), [&](const void* address) {
    const auto found = pinned_.find(block_of(address).id);
    if (found == pinned_.end() || --found->second.ranges > 0) return;
    Manager::leave(found->second.operand);
    pinned_.erase(found);
  });
}

std::shared_ptr<void> cover(std::shared_ptr<const CachedHeap> heap, std::shared_ptr<CoveredBlocks> blocks) {
  return std::allocate_shared<Cover>(MetadataAllocator<Cover>{}, std::move(heap), std::move(blocks));
}

}  // namespace tier::detail
