// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Finds the segment in which an address lies.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "pmr/metadata.hpp"
#include "pmr/segment.hpp"

namespace tier::detail {

/// A hash table by the aligned address, at most half full, with linear probing.
/// \threadsafety  Externally synchronised.
class SegmentTable {
 public:
  /// \return  null if `p` lies in no segment   \complexity  O(1)
  [[nodiscard]] Segment* find(const void* p) const noexcept {
    if (slots_.empty()) return nullptr;
    const auto data = reinterpret_cast<std::uintptr_t>(p) & ~(segment_size - 1);
    for (std::size_t i = home(data);; i = next(i)) {
      Segment* segment = slots_[i];
      if (segment == nullptr || address(*segment) == data) return segment;
    }
  }
  /// Makes room for one more.   \throws  `std::bad_alloc`; nothing has changed
  void reserve_one();
  /// \pre  Room was made.
  void insert(Segment& segment) noexcept;
  void erase(const Segment& segment) noexcept;

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Visits all segments, in no order; `visit` may not change the table.
  template <class Visit>
  void for_each(Visit visit) const {
    for (Segment* segment : slots_)
      if (segment != nullptr) visit(*segment);
  }
  void clear() noexcept {
    slots_ = {};
    size_ = 0;
  }

 private:
  static std::uintptr_t address(const Segment& segment) noexcept {
    return reinterpret_cast<std::uintptr_t>(segment.data);
  }
  [[nodiscard]] std::size_t home(std::uintptr_t data) const noexcept {
    return (data / segment_size * 0x9E3779B97F4A7C15U) >>
           shift_;  // Fibonacci hashing: the high bits are mixed
  }
  [[nodiscard]] std::size_t next(std::size_t i) const noexcept { return (i + 1) & (slots_.size() - 1); }

  std::vector<Segment*, MetadataAllocator<Segment*>> slots_;  // none, or a power of two of them
  unsigned shift_ = 64;
  std::size_t size_ = 0;
};

}  // namespace tier::detail
