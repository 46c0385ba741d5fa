// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Pins memory that comes to a group while scopes are open on it.
#include <tier/manager/manager.hpp>
#include <tier/pmr/forwarding_resource.hpp>

#include <cstddef>
#include <memory>
#include <unordered_map>

#include "pmr/cached_heap.hpp"
#include "pmr/metadata.hpp"

namespace tier::detail {

/// Pins blocks of windows in which the group gets memory while a scope is open, as far as scopes may pin advised blocks,
/// until the last scope ends or none of the group's memory lies there any more.
/// \threadsafety  Externally synchronised.
class CoveredBlocks {
 public:
  void open() noexcept { ++scopes_; }
  void close() noexcept;
  /// Notes that the group has got this memory.
  void took(const void* begin, std::size_t size) noexcept {
    if (scopes_ > 0) [[unlikely]]
      pin(static_cast<const std::byte*>(begin), size);
  }
  /// Notes that the group is about to give this memory back.
  void gives(const void* begin, std::size_t size) noexcept {
    if (!pinned_.empty()) [[unlikely]]
      unpin(static_cast<const std::byte*>(begin), size);
  }

 private:
  struct Pinned {
    Operand operand;
    std::size_t ranges;  // of the group's memory in the block
  };

  using PinnedBlocks = std::unordered_map<BlockId, Pinned, std::hash<BlockId>, std::equal_to<>,
                                          MetadataAllocator<std::pair<const BlockId, Pinned>>>;

  void pin(const std::byte* begin, std::size_t size) noexcept;
  void unpin(const std::byte* begin, std::size_t size) noexcept;

  std::size_t scopes_ = 0;
  PinnedBlocks pinned_;
};

/// Opens `blocks` until the returned object ends. The heap's lock guards them.
[[nodiscard]] std::shared_ptr<void> cover(std::shared_ptr<const CachedHeap> heap,
                                          std::shared_ptr<CoveredBlocks> blocks);

/// Forwards to upstream, and reports the memory that passes to `blocks`.
/// \threadsafety  Externally synchronised.
class CoveringResource final : public ForwardingResource {
 public:
  /// \pre  `upstream` and `blocks` outlive this.
  CoveringResource(std::pmr::memory_resource& upstream, CoveredBlocks& blocks) noexcept
      : ForwardingResource{upstream}, blocks_{blocks} {}

 private:
  void* do_allocate(std::size_t size, std::size_t alignment) override {
    void* const p = upstream_resource()->allocate(size, alignment);
    blocks_.took(p, size);
    return p;
  }
  void do_deallocate(void* p, std::size_t size, std::size_t alignment) override {
    blocks_.gives(p, size);
    upstream_resource()->deallocate(p, size, alignment);
  }

  CoveredBlocks& blocks_;
};

}  // namespace tier::detail
