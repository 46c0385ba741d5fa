// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Cuts segments from the memory of a resource.
#include <tier/core/function_ref.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory_resource>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pmr/metadata.hpp"
#include "pmr/segment_heap.hpp"

namespace tier::detail {

/// Says what happens to slabs without allocations.
enum class EmptySlabs : std::uint8_t {
  Kept,     ///< until all is freed, as in the standard's pools; new ones grow to an eighth of the total
  Returned  ///< at once; each is one segment
};

/// Takes slabs of one or more segments from upstream, and single cells if upstream has no memory for a slab. Freed segments
/// are reused, if slabs are kept.
/// \threadsafety  Externally synchronised.
class UpstreamSegments final : public SegmentSource {
 public:
  static constexpr std::size_t largest_slab = 32;  ///< in segments: 2 MiB

  /// \param slab  the most segments to take at once, 1 to `largest_slab`   \pre  `upstream` outlives this.
  UpstreamSegments(std::pmr::memory_resource& upstream, std::size_t slab, EmptySlabs empty) noexcept
      : upstream_{upstream}, most_{empty == EmptySlabs::Kept ? slab : 1}, empty_{empty} {}
  ~UpstreamSegments() { free_all(); }
  UpstreamSegments(const UpstreamSegments&) = delete;
  UpstreamSegments& operator=(const UpstreamSegments&) = delete;

  [[nodiscard]] SegmentMemory allocate_segment() override;
  void free_segment(SegmentMemory segment) noexcept override;
  /// Takes a cell if slabs are kept, else returns null: upstream may then make an object of each allocation.
  [[nodiscard]] void* allocate_cell(SizeClass c) override;
  bool free_cell(void* cell, SizeClass c) noexcept override;
  void free_all() noexcept override;

  /// Calls `visit(begin, size)` for each slab.
  void for_each_slab(FunctionRef<void(std::byte*, std::size_t)> visit) const {
    for (const auto& slab : slabs_)
      if (slab.data != nullptr) visit(static_cast<std::byte*>(slab.data), slab.bytes);
  }

 private:
  struct Slab {
    void* data;  // null: no slab, and listed in `unlisted_`
    std::size_t bytes;
  };

  using Cells = std::unordered_map<void*, SizeClass, std::hash<void*>, std::equal_to<>,
                                   MetadataAllocator<std::pair<void* const, SizeClass>>>;

  void add_slab();
  [[nodiscard]] void* take_slab(std::size_t& count);
  [[nodiscard]] SegmentMemory allocate_slab();

  std::pmr::memory_resource& upstream_;
  std::size_t most_;
  EmptySlabs empty_;
  std::size_t segments_ = 0;  // in all slabs
  std::vector<Slab, MetadataAllocator<Slab>> slabs_;
  std::vector<std::byte*, MetadataAllocator<std::byte*>> free_;        // has room for every segment
  std::vector<std::size_t, MetadataAllocator<std::size_t>> unlisted_;  // has room for every slab
  Cells cells_;                                                        // that are in no slab
};

}  // namespace tier::detail
