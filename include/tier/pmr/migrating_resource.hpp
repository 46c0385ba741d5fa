// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Memory that changes tiers and keeps its addresses.
#include <tier/core/export.hpp>
#include <tier/manager/runtime_ref.hpp>
#include <tier/pmr/pooled_resource.hpp>

#include <memory_resource>
#include <string_view>

namespace tier {

/// A general memory resource whose allocations move between the tiers of a runtime while pointers to them stay valid:
/// containers work on it unmodified, with or without scopes.
/// \code{.cpp}
/// tier::MigratingResource memory{runtime};
/// std::pmr::unordered_map<int, std::pmr::vector<int>> lists{&memory};
/// for (int key = 0; key < 100; ++key) lists[key].assign(100'000, key);  // 40 MB, perhaps more than fast memory
/// const int* const pointer = &lists[7].front();
/// tier::migrate(lists[7], 1);  // to slow memory
/// assert(pointer == &lists[7].front() && *pointer == 7);
/// \endcode
///
/// An allocation of more than 32 KiB is an object of its own, in blocks of up to 2 MiB that move one by one. Smaller ones
/// share objects of 64 KiB with others that were allocated about the same time, whatever their sizes. Metadata lies outside
/// the allocations, so that deallocating fetches nothing. Empty objects are freed at once. A checked build aborts when
/// memory is deallocated that was not allocated here, or with another size or alignment, and reports remaining allocations
/// on stderr when it releases.
///
/// A heap on top must not rely on `madvise(MADV_DONTNEED)` or `MADV_FREE`: in a window contents are undefined afterwards,
/// not zeros. It must deallocate to free memory, and write zeros where it needs them.
///
/// A resource that ends before its allocations says so on stderr, in every build. Allocating throws `OutOfTierMemory`, or
/// `TierError` in the child of a fork and if the system refuses what windows need.
/// \threadsafety  Internally synchronised, except construction and destruction.
class TIER_EXPORT MigratingResource final : public PooledResource {
 public:
  /// \param name  of its objects, for messages and statistics
  explicit MigratingResource(const RuntimeRef& runtime, std::string_view name = "MigratingResource");
  /// Frees all memory, as `release`.
  ~MigratingResource() override;
};

}  // namespace tier
