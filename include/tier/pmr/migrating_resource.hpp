// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Memory that changes tiers and keeps its addresses.
#include <tier/core/export.hpp>
#include <tier/manager/runtime_ref.hpp>
#include <tier/pmr/allocation_group.hpp>

#include <cstddef>
#include <memory>
#include <memory_resource>
#include <string_view>

namespace tier {

namespace detail {
class MigratingPool;
}

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
/// A resource that ends before its allocations says so on stderr, in every build.
/// \threadsafety  Internally synchronised, except construction and destruction.
class TIER_EXPORT MigratingResource final : public std::pmr::memory_resource, public AllocationGroup {
 public:
  /// \param name  of its objects, for messages and statistics
  explicit MigratingResource(const RuntimeRef& runtime, std::string_view name = "MigratingResource");
  MigratingResource(const MigratingResource&) = delete;
  MigratingResource& operator=(const MigratingResource&) = delete;
  /// Frees all memory, as `release`.
  ~MigratingResource() override;

  /// Frees all memory, deallocated or not.
  void release() noexcept;

  [[nodiscard]] std::size_t block_count() const noexcept override;
  void for_each_block(std::size_t at_most, FunctionRef<void(const void*)> visit) const override;
  [[nodiscard]] std::shared_ptr<void> cover() const override;

 protected:
  /// \throws  `OutOfTierMemory`, or `TierError` in the child of a fork and if the system refuses what windows need; nothing
  ///          has changed
  void* do_allocate(std::size_t size, std::size_t alignment) override;
  void do_deallocate(void* p, std::size_t size, std::size_t alignment) noexcept override;
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

 private:
  std::unique_ptr<detail::MigratingPool, void (*)(detail::MigratingPool*)> pool_;
};

}  // namespace tier
