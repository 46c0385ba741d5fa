// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Makes a group of the memory that is allocated through it.
#include <tier/core/export.hpp>
#include <tier/pmr/allocation_group.hpp>

#include <cstddef>
#include <memory>
#include <memory_resource>

namespace tier {

namespace detail {
class Pool;
}

/// Makes one group of all that is allocated through it, so that it moves together and a scope or a hint can name it. It
/// keeps its allocations apart from others of upstream, in slabs of 64 KiB and large allocations of its own.
/// \code{.cpp}
/// tier::MigratingResource memory{runtime};
/// tier::GroupResource users{memory}, items{memory};
/// std::pmr::map<int, std::pmr::string> user_names{&users}, item_names{&items};
/// item_names[1] = "a name that is too long for the string itself";
/// tier::archive(items);  // what `item_names` owns may leave fast memory, and nothing of `user_names`
/// \endcode
///
/// Over an upstream without windows, scopes on it do nothing. A resource that ends before its allocations says so on
/// stderr, in every build. Over windows, contents are undefined after `madvise(MADV_DONTNEED)`, not zeros.
/// \threadsafety  Internally synchronised, except construction and destruction. Upstream is called by one thread at a
///                time.
class TIER_EXPORT GroupResource final : public std::pmr::memory_resource, public AllocationGroup {
 public:
  /// \pre  `upstream` outlives this resource: a `MigratingResource`, as a rule.
  explicit GroupResource(std::pmr::memory_resource& upstream);
  GroupResource(const GroupResource&) = delete;
  GroupResource& operator=(const GroupResource&) = delete;
  /// Frees all memory, as `release`.
  ~GroupResource() override;

  /// Frees all memory to upstream, deallocated or not.
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
