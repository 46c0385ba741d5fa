// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Slides a block by less than its size: on a device, and in memory if no place is free for it to go aside.
#include <tier/memory/tier.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace tier {

/// Moves bytes of a tier towards its beginning, to a range that overlaps the old one: each piece is read before anything is
/// written over it. If a request fails, the moved pieces are moved back, the last one first.
/// \threadsafety  One thread; without the manager's lock, because it waits for the device.
class OverlappingSlide {
 public:
  /// \throws  `std::bad_alloc`
  OverlappingSlide(Tier& tier, std::uint64_t from, std::uint64_t to, std::uint64_t size)
      : tier_{tier}, from_{from}, to_{to}, size_{size}, buffer_{new (alignment) std::byte[piece]} {}

  /// \return  true if all bytes are where they should be
  bool run() noexcept;
  /// True if moving back has failed, too.
  [[nodiscard]] bool is_lost() const noexcept { return lost_; }

 private:
  static constexpr std::size_t piece = std::size_t{1} << 20;
  static constexpr std::align_val_t alignment{std::size_t{64} << 10};
  struct Delete {
    void operator()(std::byte* p) const noexcept { ::operator delete[](p, alignment); }
  };

  bool request(Direction direction, std::uint64_t offset, std::uint64_t at) noexcept;
  bool move(std::uint64_t from, std::uint64_t to, std::uint64_t at) noexcept;
  bool restore(std::uint64_t at) noexcept;

  Tier& tier_;
  std::uint64_t from_, to_, size_;
  std::unique_ptr<std::byte[], Delete> buffer_;
  bool read_ = false;  // the last piece was read
  bool lost_ = false;
};

}  // namespace tier
