// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A tier in plain memory with a declared place among others, whose accesses fail as a test says.
#include "sanitized.hpp"

#include <tier/memory/tier.hpp>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>

namespace tier::test {

/// Copies as a device does: unseen by ThreadSanitizer. Writers do not wait for a device, so they may write bytes that it is
/// storing; that copy is then discarded. The copy engine announces the accesses that are ordered.
#ifdef TIER_TEST_TSAN
__attribute__((no_sanitize("thread"))) inline void device_copy(std::byte* to, const std::byte* from,
                                                               std::size_t size) noexcept {
  auto* target = reinterpret_cast<volatile unsigned char*>(to);  // volatile: must not become a memcpy
  const auto* source = reinterpret_cast<const volatile unsigned char*>(from);
  for (std::size_t i = 0; i < size; ++i) target[i] = source[i];
}
#else
inline void device_copy(std::byte* to, const std::byte* from, std::size_t size) noexcept {
  std::memcpy(to, from, size);
}
#endif

struct MemoryTierOptions {
  std::string name = "memory";
  Bytes capacity;
  std::chrono::nanoseconds latency{100};
  bool addressable = true;  ///< false: reached by `transfer()` in sectors of 512 bytes
  bool reserves = false;
  bool checks = true;                      ///< asks `fails` before each access; false: before transfers alone
  bool charges = false;                    ///< says that its users must be charged, but does not delay them
  std::chrono::microseconds reserving{0};  ///< time that the system takes to reserve space
};

/// \threadsafety  as Tier; set `fails` before the tier is used
class MemoryTier : public Tier {
 public:
  explicit MemoryTier(MemoryTierOptions options)
      : Tier{options.name,
             {10e9, 10e9, options.latency, 4, Bytes{64}, options.addressable, false},
             options.capacity},
        bytes_{static_cast<std::byte*>(::operator new(options.capacity.count, alignment)), Delete{}} {
    if (options.addressable)
      base_ = bytes_.get();
    else
      io_alignment_ = 512;
    private_pages_ = options.addressable;
    reserves_ = options.reserves;
    checks_accesses_ = options.checks;
    charges_ = options.charges;
    reserving_ = options.reserving;
  }

  /// Return the error of an access or of a reservation (`size` bytes at `offset`); if empty, none fails.
  std::function<std::error_code(Direction, std::uint64_t offset, std::uint64_t size)> fails;
  std::function<std::error_code(std::uint64_t offset, std::uint64_t size)> reserve_fails;
  std::atomic<std::uint64_t> transfers{0};  ///< requests, joined ones not counted

  std::string description() const override { return "plain memory of a test"; }
  std::error_code reserve(std::uint64_t offset, std::uint64_t size) noexcept override {
    if (reserving_.count() > 0) std::this_thread::sleep_for(reserving_);
    return reserve_fails ? reserve_fails(offset, size) : std::error_code{};
  }
  /// A tier that reserves is asked again for each region.
  bool has_space(std::uint64_t, std::uint64_t) const noexcept override { return !reserves_; }
  std::error_code access_error(Direction direction, std::uint64_t offset,
                               std::size_t size) noexcept override {
    return fails && checks_accesses_ ? fails(direction, offset, size) : std::error_code{};
  }
  void transfer(Direction direction, std::span<IoRequest> requests) noexcept override {
    std::error_code before;
    for (auto& r : requests) {
      transfers.fetch_add(r.joined ? 0 : 1, std::memory_order_relaxed);
      const bool is_lost = r.joined && before;  // its access has failed
      r.error = is_lost ? before : fails ? fails(direction, r.offset, r.size) : std::error_code{};
      before = r.error;
      if (r.error) continue;
      if (direction == Direction::Read)
        device_copy(r.memory, bytes_.get() + r.offset, r.size);
      else
        device_copy(bytes_.get() + r.offset, r.memory, r.size);
    }
  }
  /// The bytes that the device holds, even if the CPU cannot address them.
  std::byte* contents() noexcept { return bytes_.get(); }

 private:
  static constexpr std::align_val_t alignment{2 << 20};
  struct Delete {
    void operator()(std::byte* p) const noexcept { ::operator delete(p, alignment); }
  };
  std::unique_ptr<std::byte, Delete> bytes_;
  std::chrono::microseconds reserving_{0};
};

}  // namespace tier::test
