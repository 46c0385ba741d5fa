// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  For how long a mutex was held, each time.
#include <array>
#include <cstddef>
#include <cstdint>

namespace tier::detail {

/// Counts holds by their length, to an eighth of it.
/// \threadsafety  Under the mutex whose holds it counts.
class HoldTimes {
 public:
  /// \param with_policy  a policy ran meanwhile: its length is left out of `quantile_ns` and `longest_ns`
  void add(std::uint64_t ticks, bool with_policy) noexcept;
  void reset() noexcept { *this = {}; }

  [[nodiscard]] std::uint64_t holds() const noexcept { return holds_; }
  [[nodiscard]] double total_ns() const noexcept;
  /// \return  a length that so large a share of the holds without a policy do not exceed   \pre  0 < share <= 1
  [[nodiscard]] double quantile_ns(double share) const noexcept;
  [[nodiscard]] double longest_ns() const noexcept;

 private:
  static constexpr unsigned parts = 8;  // of each power of two
  [[nodiscard]] static std::size_t bucket_of(std::uint64_t ticks) noexcept;
  [[nodiscard]] static std::uint64_t end_of(std::size_t bucket) noexcept;

  std::uint64_t holds_ = 0, ticks_ = 0;
  std::uint64_t without_policy_ = 0, longest_ = 0;
  std::array<std::uint64_t, std::size_t{64} * parts> counts_{};
};

}  // namespace tier::detail
