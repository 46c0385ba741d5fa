// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A resource that counts what passes through it.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>
#include <tier/pmr/forwarding_resource.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory_resource>

namespace tier {

/// Counts of a `StatisticsResource`; bytes as requested, without rounding.
struct ResourceStatistics {
  std::uint64_t allocations = 0;  ///< that succeeded
  std::uint64_t deallocations = 0;
  std::uint64_t failures = 0;  ///< allocations that threw
  Bytes allocated;             ///< by all allocations so far
  Bytes outstanding;
  Bytes peak;  ///< the most bytes outstanding at once
};

/// Tells how much a part of a program allocates: counts the allocations and bytes that pass to and from an upstream
/// resource.
/// \code{.cpp}
/// tier::StatisticsResource counted{*std::pmr::new_delete_resource()};
/// std::pmr::vector<int>(1000, &counted);
/// const tier::ResourceStatistics counts = counted.statistics();
/// assert(counts.allocations == 1 && counts.peak == tier::Bytes{4000} && counts.outstanding == 0_B);
/// \endcode
/// \threadsafety  Internally synchronised if `upstream` is. Each count is atomic on its own.
class TIER_EXPORT StatisticsResource final : public ForwardingResource {
 public:
  /// \pre  `upstream` outlives this resource.
  explicit StatisticsResource(std::pmr::memory_resource& upstream) noexcept : ForwardingResource{upstream} {}
  StatisticsResource(const StatisticsResource&) = delete;
  StatisticsResource& operator=(const StatisticsResource&) = delete;
  /// Reports on stderr if allocations are outstanding.
  ~StatisticsResource() override;

  /// Returns a snapshot: while other threads allocate, its counts may be of different moments.
  [[nodiscard]] ResourceStatistics statistics() const noexcept;

 private:
  void* do_allocate(std::size_t size, std::size_t alignment) override;
  void do_deallocate(void* p, std::size_t size, std::size_t alignment) noexcept override;

  // Relaxed, because they order nothing else.
  std::atomic<std::uint64_t> allocations_{0}, deallocations_{0}, failures_{0};
  std::atomic<std::size_t> allocated_{0}, outstanding_{0}, peak_{0};
};

}  // namespace tier
