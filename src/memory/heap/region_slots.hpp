// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What a region heap knows of its slots.
#include <sys/mman.h>
#include <tier/memory/region_heap.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace tier {

/// Describes a slot, live or free; two of them share a cache line. Granules of 64 B or more leave the low bits of a size for
/// flags.
struct RegionRecord {
  enum : std::uint64_t { free_flag = 1, condemned_flag = 2, flags = free_flag | condemned_flag };
  struct Links {
    RegionHeap::Slot previous, next;
  };

  std::uint64_t offset;
  std::uint64_t tagged_size;
  Links neighbours;  // in address order
  union {
    void* owner;   // of a live slot
    Links listed;  // of a free slot: in its size class; of an unused record: the next unused one
  };

  [[nodiscard]] std::uint64_t size() const noexcept { return tagged_size & ~std::uint64_t{flags}; }
  [[nodiscard]] std::uint64_t end() const noexcept { return offset + size(); }
  [[nodiscard]] bool is_free() const noexcept { return (tagged_size & free_flag) != 0; }
  [[nodiscard]] bool is_condemned() const noexcept { return (tagged_size & condemned_flag) != 0; }
};
static_assert(sizeof(RegionRecord) == 32);

/// Keeps the records of slots by number: a slot has its number until it is given back, and the next slot takes it. Records
/// are in chunks that never move. Each chunk doubles the capacity, so chunks are few, and found by a bit count.
class RegionSlots {
 public:
  using Slot = RegionHeap::Slot;
  static constexpr Slot none = RegionHeap::none;

  RegionSlots() = default;
  RegionSlots(const RegionSlots&) = delete;
  RegionSlots& operator=(const RegionSlots&) = delete;
  ~RegionSlots() {
    for (unsigned i = 0; i < chunk_count_; ++i) ::operator delete(chunks_[i], alignment_of(i));
  }

  RegionRecord& operator[](Slot slot) noexcept {
    const std::uint32_t biased = slot + first_size;
    const auto chunk = static_cast<unsigned>(std::bit_width(biased)) - 1 - first_bits;
    return chunks_[chunk][biased - (first_size << chunk)];
  }
  const RegionRecord& operator[](Slot slot) const noexcept { return const_cast<RegionSlots&>(*this)[slot]; }

  /// Makes sure that `take()` can be called `count` times.
  bool ensure(unsigned count) noexcept {
    while (unused_count_ + (limit_ - fresh_) < count)
      if (!grow()) return false;
    return true;
  }
  /// Returns a number that no slot has.   \pre  `ensure()`
  Slot take() noexcept {
    if (unused_ == none) return fresh_++;
    --unused_count_;
    return std::exchange(unused_, (*this)[unused_].listed.next);
  }
  /// Takes a number back.
  void give(Slot slot) noexcept {
    (*this)[slot].listed.next = std::exchange(unused_, slot);
    ++unused_count_;
  }

  [[nodiscard]] std::size_t in_use() const noexcept { return fresh_ - unused_count_; }
  /// Returns the bytes touched so far; the rest of the last chunk is only address space.
  [[nodiscard]] std::size_t size_bytes() const noexcept { return std::size_t{fresh_} * sizeof(RegionRecord); }

 private:
  static constexpr unsigned first_bits = 10;
  static constexpr std::uint32_t first_size = 1U << first_bits;
  static constexpr std::size_t huge_page = 2U << 20;

  static constexpr std::size_t chunk_bytes(unsigned chunk) noexcept {
    return (std::size_t{first_size} << chunk) * sizeof(RegionRecord);
  }
  static std::align_val_t alignment_of(unsigned chunk) noexcept {
    return std::align_val_t{std::min(chunk_bytes(chunk), huge_page)};
  }

  bool grow() noexcept {
    if (chunk_count_ == chunks_.size()) return false;
    const auto bytes = chunk_bytes(chunk_count_);
    void* chunk = ::operator new(bytes, alignment_of(chunk_count_), std::nothrow);
    if (chunk == nullptr) return false;
    if (bytes >= huge_page) ::madvise(chunk, bytes, MADV_HUGEPAGE);  // 10^7 slots: each look-up is a TLB miss
    chunks_[chunk_count_] = static_cast<RegionRecord*>(chunk);
    limit_ += first_size << chunk_count_++;
    return true;
  }

  std::array<RegionRecord*, 32 - first_bits> chunks_{};
  unsigned chunk_count_ = 0;
  std::uint32_t limit_ = 0;  // slots in the chunks
  std::uint32_t fresh_ = 0;  // slots ever taken
  Slot unused_ = none;       // first of those given back
  std::uint32_t unused_count_ = 0;
};

}  // namespace tier
