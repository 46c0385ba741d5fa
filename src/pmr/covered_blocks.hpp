// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What comes to a group while scopes are open on it.
#include <tier/manager/manager.hpp>
#include <tier/pmr/forwarding_resource.hpp>

#include <cstddef>
#include <memory>
#include <unordered_map>

#include "pmr/cached_heap.hpp"
#include "pmr/metadata.hpp"

namespace tier::detail {

/// Blocks of windows in which the group got memory since a scope was opened: pinned, as far as scopes pin what is advised,
/// until the last scope ends or nothing of the group's lies there any more.
/// \threadsafety  Externally synchronised.
class CoveredBlocks {
 public:
  void open() noexcept { ++scopes_; }
  void close() noexcept;
  /// From now on it is the group's.
  void took(const void* begin, std::size_t size) noexcept {
    if (scopes_ > 0) [[unlikely]]
      pin(static_cast<const std::byte*>(begin), size);
  }
  /// Now it is no longer.
  void gives(const void* begin, std::size_t size) noexcept {
    if (!pinned_.empty()) [[unlikely]]
      unpin(static_cast<const std::byte*>(begin), size);
  }

 private:
  struct Pinned {
    Operand operand;
    std::size_t ranges;  // taken in it
  };

  void pin(const std::byte* begin, std::size_t size) noexcept;
  void unpin(const std::byte* begin, std::size_t size) noexcept;

  std::size_t scopes_ = 0;
  std::unordered_map<BlockId, Pinned, std::hash<BlockId>, std::equal_to<>,
                     MetadataAllocator<std::pair<const BlockId, Pinned>>>
      pinned_;
};

/// Opens them until what is returned ends. The heap's lock is theirs.
[[nodiscard]] std::shared_ptr<void> cover(std::shared_ptr<const CachedHeap> heap,
                                          std::shared_ptr<CoveredBlocks> blocks);

/// Says what passes.
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
