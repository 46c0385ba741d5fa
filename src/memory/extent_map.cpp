// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/extent_map.hpp"

#include <tier/core/assert.hpp>

#include <algorithm>
#include <tuple>

namespace tier {

ExtentMap::ExtentMap(Bytes capacity, Bytes extent, Bytes idle_limit)
    : capacity_{capacity},
      extent_{extent},
      idle_limit_{idle_limit},
      extents_((capacity.count + extent.count - 1) / extent.count) {}

/// Calls `f(extent, bytes)` for each extent that the range meets.
template <class F>
void ExtentMap::for_each_part(std::uint64_t offset, std::uint64_t size, F f) {
  for (const auto end = offset + size; offset < end;) {
    const auto index = extents_before(offset);
    const auto part = std::min(end, (index + 1) * extent_.count) - offset;
    f(extents_[index], part);
    offset += part;
  }
}

/// Calls `f(begin, end)` for each maximal run of wanted extents, until one fails.
template <class Wanted, class F>
std::error_code ExtentMap::for_each_run(std::size_t begin, std::size_t end, Wanted wanted, F f) {
  for (auto i = begin; i < end;) {
    if (!wanted(extents_[i])) {
      ++i;
      continue;
    }
    const auto first = i;
    while (i < end && wanted(extents_[i])) ++i;
    if (const auto error = f(first, i)) return error;
  }
  return {};
}

std::error_code ExtentMap::reserve(std::uint64_t offset, std::uint64_t size, Take take) noexcept {
  if (size == 0) return {};
  const MutexLock lock{mutex_};
  const auto end = extents_before(offset + size - 1) + 1;
  const auto error = for_each_run(
      extents_before(offset), end, [](const Extent& e) { return !e.backed; },
      [&](std::size_t first, std::size_t last) TIER_REQUIRES(mutex_) -> std::error_code {
        const auto at = first * extent_.count;
        if (const auto failed = take(at, std::min(last * extent_.count, capacity_.count) - at)) return failed;
        for (auto i = first; i < last; ++i) extents_[i].backed = 1;
        backed_ += last - first;
        idle_ += last - first;
        return {};
      });
  if (error) return error;
  for_each_part(offset, size, [this](Extent& extent, std::uint64_t bytes) TIER_REQUIRES(mutex_) {
    idle_ -= extent.used == 0;
    extent.used = (extent.used + bytes) & (~std::uint64_t{0} >> 1);
  });
  return {};
}

void ExtentMap::release(std::uint64_t offset, std::uint64_t size, Return give_back) noexcept {
  const MutexLock lock{mutex_};
  for_each_part(offset, size, [this](Extent& extent, std::uint64_t bytes) TIER_REQUIRES(mutex_) {
    TIER_ASSERT(extent.used >= bytes, "a range is released that was not reserved");
    extent.used = (extent.used - bytes) & (~std::uint64_t{0} >> 1);
    idle_ += extent.used == 0;
  });
  if (idle_ * extent_.count < idle_limit_.count) return;
  std::ignore = for_each_run(
      0, extents_.size(), [](const Extent& e) { return e.backed && e.used == 0; },
      [&](std::size_t first, std::size_t last) TIER_REQUIRES(mutex_) -> std::error_code {
        const auto at = first * extent_.count;
        give_back(at, std::min(last * extent_.count, capacity_.count) - at);
        for (auto i = first; i < last; ++i) extents_[i].backed = 0;
        backed_ -= last - first;
        return {};
      });
  idle_ = 0;
}

Bytes ExtentMap::backed() const noexcept {
  const MutexLock lock{mutex_};
  return extent_ * backed_;
}

}  // namespace tier
