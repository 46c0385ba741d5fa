// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A tier that adds up the accesses that an emulated tier would make its users wait for.
#include "memory_tier.hpp"

#include <cstdint>
#include <mutex>
#include <ostream>
#include <utility>

namespace tier::test {

/// Accesses that were reported to the tier.
struct Charged {
  std::uint64_t bytes_read = 0, reads = 0, bytes_written = 0, writes = 0;

  friend bool operator==(const Charged&, const Charged&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Charged& c) {
    return out << c.bytes_read << " B in " << c.reads << " reads, " << c.bytes_written << " B in " << c.writes
               << " writes";
  }
};

/// Does not count `transfer()`: an emulated tier waits there by itself.
class ChargingTier final : public MemoryTier {
 public:
  explicit ChargingTier(MemoryTierOptions options) : MemoryTier{std::move(options)} { charges_ = true; }

  void charge(Direction direction, std::uint64_t bytes, unsigned requests,
              std::chrono::steady_clock::time_point) noexcept override {
    const std::lock_guard lock{mutex_};
    const bool read = direction == Direction::Read;
    (read ? charged_.bytes_read : charged_.bytes_written) += bytes;
    (read ? charged_.reads : charged_.writes) += requests;
  }
  /// Returns the accesses since the last call.
  Charged take() {
    const std::lock_guard lock{mutex_};
    return std::exchange(charged_, {});
  }

 private:
  std::mutex mutex_;
  Charged charged_;
};

}  // namespace tier::test
