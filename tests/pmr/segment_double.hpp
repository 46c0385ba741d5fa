// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Segments for tests of heaps: addresses alone, or memory.
#include <doctest/doctest.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <set>
#include <vector>

#include "pmr/segment_heap.hpp"

namespace tier::test {

/// Hands out scattered segments of one range of addresses. Without access rights, any load or store faults.
/// \threadsafety  Externally synchronised.
class SegmentDouble final : public detail::SegmentSource {
 public:
  enum class Access { None, ReadWrite };

  explicit SegmentDouble(std::size_t count, Access access = Access::None) : bytes_{(count + 1) * size} {
    const int protection = access == Access::None ? PROT_NONE : PROT_READ | PROT_WRITE;
    mapped_ = ::mmap(nullptr, bytes_, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(mapped_ != MAP_FAILED);
    const auto first = (reinterpret_cast<std::uintptr_t>(mapped_) + size - 1) & ~(size - 1);
    for (std::size_t i = 0; i < count; ++i)
      free_.push_back(reinterpret_cast<std::byte*>(first + (i * 7919 % count) * size));
  }
  ~SegmentDouble() {
    CHECK(out_.empty());
    ::munmap(mapped_, bytes_);
  }
  SegmentDouble(const SegmentDouble&) = delete;
  SegmentDouble& operator=(const SegmentDouble&) = delete;

  [[nodiscard]] const std::set<std::byte*>& out() const noexcept { return out_; }
  /// Lets `n` more segments be allocated; each later request fails.
  void fail_after(std::size_t n) noexcept { left_ = n; }

  [[nodiscard]] detail::SegmentMemory allocate_segment() override {
    if (left_ == 0 || free_.empty()) throw std::bad_alloc{};
    --left_;
    std::byte* const segment = free_.back();
    free_.pop_back();
    out_.insert(segment);
    return {segment, segment};
  }
  void free_segment(detail::SegmentMemory segment) noexcept override {
    CHECK(segment.owner == segment.data);
    CHECK(out_.erase(segment.data) == 1);
    free_.push_back(segment.data);
  }
  void free_all() noexcept override {
    free_.insert(free_.end(), out_.begin(), out_.end());
    out_.clear();
  }

 private:
  static constexpr std::size_t size = detail::segment_size;

  std::size_t bytes_;
  void* mapped_ = nullptr;
  std::vector<std::byte*> free_;
  std::set<std::byte*> out_;
  std::size_t left_ = std::numeric_limits<std::size_t>::max();
};

}  // namespace tier::test
