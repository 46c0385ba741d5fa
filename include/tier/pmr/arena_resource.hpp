// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Memory that changes tiers as one, and keeps its addresses.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>
#include <tier/manager/runtime_ref.hpp>
#include <tier/pmr/allocation_group.hpp>

#include <cstddef>
#include <memory>
#include <memory_resource>
#include <string_view>

namespace tier {

namespace detail {
class ArenaPool;
}

/// Options of an `ArenaResource`.
struct ArenaOptions {
  std::string_view name = "ArenaResource";  ///< name of the object, for messages and statistics
  /// Makes deallocating do nothing, as in `std::pmr::monotonic_buffer_resource`, so that data that is built once and freed
  /// as a whole lies in the order of allocation.
  bool monotonic = false;
};

/// A memory resource for data that is used as a whole: all allocations are in one object, so that a scope or hint on it,
/// or on any container in it, covers everything. Pointers stay valid while it moves.
/// \code{.cpp}
/// tier::ArenaResource arena{runtime, 64_MiB};  // at most; it grows as it is used
/// std::pmr::list<std::pmr::string> names{&arena};
/// names.emplace_back("a name that is too long for the string itself");
/// tier::archive(arena);             // nodes and characters may leave fast memory
/// const tier::ReadScope in{names};  // and all of them come back
/// \endcode
///
/// It grows in blocks, from 64 KiB to 2 MiB, up to a maximum that costs only address space. Deallocated memory is reused;
/// blocks without allocations go back to the tiers at once. Metadata lies outside the allocations, so that deallocating
/// fetches nothing. A checked build aborts when memory is deallocated that was not allocated here, or with another size or
/// alignment, and reports remaining allocations on stderr when it releases, unless it is monotonic.
///
/// As for a `MigratingResource`, contents are undefined after `madvise(MADV_DONTNEED)`, and an arena that ends before its
/// allocations, unless it is monotonic, says so on stderr.
/// \threadsafety  Internally synchronised, except construction and destruction. The child of a fork can use what is there,
///                but cannot make it grow.
class TIER_EXPORT ArenaResource final : public std::pmr::memory_resource, public AllocationGroup {
 public:
  /// \param maximum  of all allocations with the gaps between them; rounded up to 64 KiB
  ArenaResource(const RuntimeRef& runtime, Bytes maximum, const ArenaOptions& options = {});
  ArenaResource(const ArenaResource&) = delete;
  ArenaResource& operator=(const ArenaResource&) = delete;
  /// Frees all memory, as `release`.
  ~ArenaResource() override;

  /// Frees all memory, deallocated or not. The next allocation begins a new object.
  void release() noexcept;
  [[nodiscard]] Bytes maximum() const noexcept;

  [[nodiscard]] std::size_t block_count() const noexcept override;
  void for_each_block(std::size_t at_most, FunctionRef<void(const void*)> visit) const override;
  [[nodiscard]] std::shared_ptr<void> cover() const override;
  [[nodiscard]] bool is_one_unit() const noexcept override { return true; }

 protected:
  /// \throws  `OutOfTierMemory`, naming the arena and its maximum if that is reached; `TierError` if the system does not
  ///          let the process serve its own page faults, and in the child of a fork; nothing has changed
  void* do_allocate(std::size_t size, std::size_t alignment) override;
  void do_deallocate(void* p, std::size_t size, std::size_t alignment) noexcept override;
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

 private:
  std::unique_ptr<detail::ArenaPool, void (*)(detail::ArenaPool*)> pool_;
};

}  // namespace tier
