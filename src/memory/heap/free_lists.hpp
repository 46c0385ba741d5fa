// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The free slots of a region heap by their size.
#include <tier/memory/region_heap.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tier {

/// A size class: 32 classes for each power of two, and one for each size below 32 units.
struct SizeClass {
  static constexpr unsigned width_bits = 5;
  static constexpr unsigned width = 1U << width_bits;
  static constexpr unsigned levels = 64 - width_bits;

  unsigned level, index;

  /// Returns the class that holds free slots of `units`.
  static SizeClass of(std::uint64_t units) noexcept {
    if (units < width) return {0, static_cast<unsigned>(units)};
    const auto level = static_cast<unsigned>(std::bit_width(units)) - width_bits;
    return {level, static_cast<unsigned>(units >> (level - 1)) & (width - 1)};
  }
  /// Returns the lowest class in which every slot has at least `units`.
  static SizeClass of_at_least(std::uint64_t units) noexcept {
    const auto level = of(units).level;
    return of(level == 0 ? units : units + (std::uint64_t{1} << (level - 1)) - 1);
  }
  [[nodiscard]] SizeClass following() const noexcept {
    return index + 1 < width ? SizeClass{level, index + 1} : SizeClass{level + 1, 0};
  }
  friend bool operator==(SizeClass, SizeClass) = default;
};

/// Finds a size class with free slots in O(1): keeps which classes have some, and the first slot of each.
class FreeLists {
 public:
  using Slot = RegionHeap::Slot;
  static constexpr Slot none = RegionHeap::none;

  FreeLists() noexcept {
    for (auto& level : heads_) level.fill(none);
  }

  Slot head(SizeClass c) const noexcept { return heads_[c.level][c.index]; }
  void set_head(SizeClass c, Slot slot) noexcept {
    heads_[c.level][c.index] = slot;
    const auto bit = std::uint32_t{1} << c.index;
    auto& indices = indices_[c.level];
    indices = slot == none ? indices & ~bit : indices | bit;
    const auto level_bit = std::uint64_t{1} << c.level;
    levels_ = indices == 0 ? levels_ & ~level_bit : levels_ | level_bit;
  }

  /// Moves `c` to the first class from it upwards that is not empty.   \return  false if there is none.
  bool seek(SizeClass& c) const noexcept {
    if (c.level >= SizeClass::levels) return false;
    auto indices = indices_[c.level] & (~std::uint32_t{0} << c.index);
    if (indices == 0) {
      const auto levels = levels_ & (~std::uint64_t{1} << c.level);
      if (levels == 0) return false;
      c.level = static_cast<unsigned>(std::countr_zero(levels));
      indices = indices_[c.level];
    }
    c.index = static_cast<unsigned>(std::countr_zero(indices));
    return true;
  }
  /// Moves `c` to the highest class that is not empty.   \return  false if all are.
  bool seek_highest(SizeClass& c) const noexcept {
    if (levels_ == 0) return false;
    c.level = static_cast<unsigned>(std::bit_width(levels_)) - 1;
    c.index = static_cast<unsigned>(std::bit_width(indices_[c.level])) - 1;
    return true;
  }
  bool says_empty(SizeClass c) const noexcept {
    return (indices_[c.level] >> c.index & 1) == 0 || (levels_ >> c.level & 1) == 0;
  }

 private:
  std::uint64_t levels_ = 0;
  std::array<std::uint32_t, SizeClass::levels> indices_{};
  std::array<std::array<Slot, SizeClass::width>, SizeClass::levels> heads_;
};

}  // namespace tier
