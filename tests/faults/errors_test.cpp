// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Messages of errors are ready even if nothing can be allocated any more.
#include "failing_allocation.hpp"
#include "rig.hpp"

#include <tier/runtime/policies.hpp>

#include <doctest/doctest.h>

#include <functional>
#include <string_view>

namespace tier::errors_test {

using namespace tier::test;

namespace {

/// Returns the message of the error that `fails` throws, read while the next allocation would fail. A message made on
/// demand would end the program, because `what()` is noexcept.
template <class Error>
std::string what_without_memory(const std::function<void()>& fails) {
  try {
    fails();
  } catch (const Error& error) {
    std::string_view what;
    bool allocated = false;
    {
      const FailingAllocation failing{0};
      what = error.what();
      allocated = FailingAllocation::happened();
    }
    CHECK_FALSE(allocated);
    return std::string{what};
  }
  return "no error";
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("no error allocates to say what it is") {
  Rig rig;
  const auto room = what_without_memory<OutOfTierMemory>(
      [&] { std::ignore = rig.manager().create(4_MiB, 64, "an object larger than all tiers"); });
  CHECK(contains(room, "fast"));
  CHECK(contains(room, "largest"));

  rig.slow().fails = [](Direction, std::uint64_t, std::uint64_t) {
    return std::make_error_code(std::errc::io_error);
  };
  const auto unreadable = what_without_memory<TierError>([&] {
    for (std::size_t i = 0; i < rig.count(); ++i) std::ignore = rig.holds(i);
  });
  CHECK(contains(unreadable, "reading \"object"));
  rig.slow().fails = nullptr;

  const auto unknown =
      what_without_memory<ConfigError>([] { std::ignore = make_policy("a policy of some name"); });
  CHECK(contains(unknown, "a policy of some name"));
}

TEST_CASE("an error of lacking room is made of a text without allocating, and cut to fit") {
  const std::string text(5000, 'x');
  const FailingAllocation failing{0};
  const OutOfTierMemory error{text, std::make_error_code(std::errc::io_error)};
  const OutOfTierMemory copy{error};
  const std::string_view what = copy.what();
  CHECK_FALSE(FailingAllocation::happened());
  CHECK(what.size() == 999);
}

}  // namespace tier::errors_test
