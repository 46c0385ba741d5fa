// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Makes a group of the memory that is allocated through it.
#include <tier/core/export.hpp>
#include <tier/pmr/pooled_resource.hpp>

#include <memory_resource>

namespace tier {

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
class TIER_EXPORT GroupResource final : public PooledResource {
 public:
  /// \pre  `upstream` outlives this resource: a `MigratingResource`, as a rule.
  explicit GroupResource(std::pmr::memory_resource& upstream);
  /// Frees all memory, as `release`.
  ~GroupResource() override;

  [[nodiscard]] std::pmr::memory_resource& upstream_resource() const noexcept;
};

}  // namespace tier
