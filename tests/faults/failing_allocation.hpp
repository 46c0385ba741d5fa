// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Makes the n-th allocation of this program fail, by `new` or malloc, in any thread.
#include <doctest/doctest.h>

#include <cstdint>
#include <new>
#include <string>

namespace tier::test {

/// Makes allocation number `n` fail while this lives, counted from its beginning (0 is the next); all others pass.
class FailingAllocation {
 public:
  explicit FailingAllocation(std::uint64_t n) noexcept;
  ~FailingAllocation();
  FailingAllocation(const FailingAllocation&) = delete;
  FailingAllocation& operator=(const FailingAllocation&) = delete;

  /// True if there was an n-th allocation.
  [[nodiscard]] static bool happened() noexcept;
};

/// Calls `operation` with its first allocation failing, then its second, until none fails. \return  how many failed
template <class Operation, class Check>
std::uint64_t for_each_failing_allocation(Operation&& operation, Check&& check) {
  for (std::uint64_t n = 0;; ++n) {
    CAPTURE(n);
    bool failed = false;
    std::string what;
    try {
      operation(n);
    } catch (const std::bad_alloc& e) {
      failed = true;
      what = e.what();
    }
    const bool happened = FailingAllocation::happened();
    check(failed);
    if (!happened) {
      CHECK(what == "");
      return n;
    }
    REQUIRE(n < 100'000);
  }
}

}  // namespace tier::test
