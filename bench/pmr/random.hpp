// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Random numbers that cost less than the measured work.
#include <cstddef>
#include <cstdint>

namespace tier::bench {

/// The multiplicative generator of Knuth's MMIX, of which it uses the upper half.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_{seed} {}

  /// Returns 0 to `n` - 1.   \pre  `n` is at most 2^32
  std::size_t below(std::uint64_t n) noexcept {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return (state_ >> 32) * n >> 32;
  }

 private:
  std::uint64_t state_;
};

}  // namespace tier::bench
