// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Names what is allocated through it as one group.
#include <tier/core/export.hpp>
#include <tier/pmr/allocation_group.hpp>

#include <cstddef>
#include <memory>
#include <memory_resource>

namespace tier {

namespace detail {
class Pool;
}

/// Keeps what is allocated through it apart from what else comes from upstream, in slabs of 64 KiB and large allocations of
/// its own, so that it moves together and a scope can be opened on it. Over an upstream without windows scopes on it do
/// nothing. One that ends before its allocations says so on stderr, in every build. Over windows, contents are undefined after
/// `madvise(MADV_DONTNEED)`, not zeros.
/// \threadsafety  Internally synchronised, but for construction and destruction. Upstream is called by one thread at a
///                time.
class TIER_EXPORT GroupResource final : public std::pmr::memory_resource, public AllocationGroup {
 public:
  /// \pre  `upstream` outlives this resource: a `MigratingResource`, as a rule.
  explicit GroupResource(std::pmr::memory_resource& upstream);
  GroupResource(const GroupResource&) = delete;
  GroupResource& operator=(const GroupResource&) = delete;
  /// Releases.
  ~GroupResource() override;

  /// Gives all memory back to upstream, deallocated or not.
  void release() noexcept;
  [[nodiscard]] std::pmr::memory_resource& upstream_resource() const noexcept;

  [[nodiscard]] std::size_t block_count() const noexcept override;
  void for_each_block(std::size_t at_most, FunctionRef<void(const void*)> visit) const override;
  [[nodiscard]] std::shared_ptr<void> cover() const override;

 protected:
  /// \throws  what upstream throws, or `std::bad_alloc`; nothing has changed
  void* do_allocate(std::size_t size, std::size_t alignment) override;
  void do_deallocate(void* p, std::size_t size, std::size_t alignment) noexcept override;
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

 private:
  std::unique_ptr<detail::Pool, void (*)(detail::Pool*)> pool_;
};

}  // namespace tier
