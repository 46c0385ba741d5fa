// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Makes the n-th allocation of this program fail, whichever thread asks for it.
#include <cstdint>

namespace tier::test {

/// While it lives, allocation number `n` from its beginning fails, 0 being the next; all others pass.
class FailingAllocation {
 public:
  explicit FailingAllocation(std::uint64_t n) noexcept;
  ~FailingAllocation();
  FailingAllocation(const FailingAllocation&) = delete;
  FailingAllocation& operator=(const FailingAllocation&) = delete;

  /// True if there was an n-th.
  [[nodiscard]] static bool happened() noexcept;
};

}  // namespace tier::test
