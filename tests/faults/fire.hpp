// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Makes accesses of tiers fail at random, at rates that change all the time.
#include <array>
#include <atomic>
#include <cstdint>
#include <system_error>

namespace tier::test {

/// Fails every n-th access of all tiers that share it, where n changes all the time; at times none or all fail.
/// \threadsafety  Internally synchronised.
class Fire {
 public:
  explicit Fire(std::uint64_t seed) : state_{seed} {}

  std::error_code operator()() noexcept {
    if (out_.load(std::memory_order_relaxed)) return {};
    const auto n = accesses_.fetch_add(1, std::memory_order_relaxed);
    std::uint64_t mixed = (state_ + n / 64) * 0x9e3779b97f4a7c15;  // the same rate for 64 accesses
    mixed ^= mixed >> 29;
    static constexpr std::array<std::uint64_t, 8> odds{0, 0, 0, 100, 100, 10, 3, 1};
    const auto one_in = odds[mixed % odds.size()];
    if (one_in == 0 || n % one_in != 0) return {};
    failed_.fetch_add(1, std::memory_order_relaxed);
    return std::make_error_code(n % 2 == 0 ? std::errc::io_error : std::errc::no_space_on_device);
  }
  void put_out() noexcept { out_ = true; }
  [[nodiscard]] std::uint64_t failed() const noexcept { return failed_; }

 private:
  std::uint64_t state_;
  std::atomic<std::uint64_t> accesses_{0}, failed_{0};
  std::atomic<bool> out_{false};
};

}  // namespace tier::test
