// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Allocates slabs and large allocations of an arena.
#include <tier/memory/region_heap.hpp>

#include <cstddef>
#include <memory_resource>
#include <optional>
#include <unordered_map>

#include "pmr/arena_window.hpp"
#include "pmr/metadata.hpp"

namespace tier::detail {

/// Carves slabs and large allocations out of an arena's window.
/// \threadsafety  Externally synchronised.
class ArenaMemory final : public std::pmr::memory_resource {
 public:
  /// \pre  `window` outlives this.
  explicit ArenaMemory(ArenaWindow& window) noexcept : window_{window} {}

  [[nodiscard]] bool is_empty() const noexcept { return slots_.empty(); }

 private:
  using Slots = std::unordered_map<void*, RegionHeap::Slot, std::hash<void*>, std::equal_to<>,
                                   MetadataAllocator<std::pair<void* const, RegionHeap::Slot>>>;

  void* do_allocate(std::size_t size, std::size_t alignment) override;
  void do_deallocate(void* p, std::size_t size, std::size_t alignment) noexcept override;
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  ArenaWindow& window_;
  std::optional<RegionHeap> heap_;  // made by the first allocation
  Slots slots_;
};

}  // namespace tier::detail
