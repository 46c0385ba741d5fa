// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <tier/core/error.hpp>
#include <tier/pmr/boost_resources.hpp>
#include <tier/pmr/failure_callback_resource.hpp>
#include <tier/pmr/limiting_resource.hpp>
#include <tier/pmr/logging_resource.hpp>
#include <tier/pmr/statistics_resource.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "support/upstream_resource.hpp"

namespace tier::adaptors_test {
namespace {

using namespace literals;
using test::UpstreamResource;

std::string what_is_thrown(std::pmr::memory_resource& resource, std::size_t size) {
  try {
    std::ignore = resource.allocate(size);
  } catch (const OutOfTierMemory& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a limiting resource refuses what exceeds its budget, and says by how much") {
  UpstreamResource upstream;
  LimitingResource limited{upstream, 100_B};
  void* const p = limited.allocate(60);
  CHECK(limited.outstanding() == 60_B);
  CHECK(what_is_thrown(limited, 41) == "no room for 41 B in a LimitingResource: of its 100 B, 60 are in use");
  CHECK(what_is_thrown(limited, std::size_t(-1))
            .starts_with("no room for 18446744073709551615 B in a LimitingResource: "));
  CHECK(upstream.allocations() == 1);
  void* const rest = limited.allocate(40);
  CHECK(limited.outstanding() == limited.budget());
  limited.deallocate(p, 60);
  limited.deallocate(rest, 40);
  CHECK(limited.outstanding() == 0_B);
}

TEST_CASE("a limiting resource gives its budget back when upstream throws") {
  UpstreamResource upstream;
  upstream.fail_after(0);
  LimitingResource limited{upstream, 1_MiB};
  CHECK_THROWS_AS(std::ignore = limited.allocate(64), std::bad_alloc);
  CHECK(limited.outstanding() == 0_B);
}

TEST_CASE("threads never have more from a limiting resource than its budget") {
  UpstreamResource upstream;
  LimitingResource limited{upstream, 1000_B};
  std::atomic<std::size_t> refused{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        for (int n = 0; n < 5'000; ++n) {
          try {
            void* const p = limited.allocate(300);
            CHECK(limited.outstanding() <= 1000_B);
            limited.deallocate(p, 300);
          } catch (const OutOfTierMemory&) {
            ++refused;
          }
        }
      });
  }
  CHECK(limited.outstanding() == 0_B);
  MESSAGE("refused: " << refused.load());
}

TEST_CASE("a statistics resource counts allocations, bytes, the peak and failures") {
  UpstreamResource upstream;
  StatisticsResource counted{upstream};
  void* const a = counted.allocate(100);
  void* const b = counted.allocate(50);
  counted.deallocate(a, 100);
  upstream.fail_after(0);
  CHECK_THROWS_AS(std::ignore = counted.allocate(7), std::bad_alloc);
  const auto s = counted.statistics();
  CHECK(s.allocations == 2);
  CHECK(s.deallocations == 1);
  CHECK(s.failures == 1);
  CHECK(s.allocated == 150_B);
  CHECK(s.outstanding == 50_B);
  CHECK(s.peak == 150_B);
  counted.deallocate(b, 50);
  CHECK(counted.statistics().outstanding == 0_B);
}

TEST_CASE("a logging resource tells of what was done, in order") {
  using Action = LoggingResource::Action;
  UpstreamResource upstream;
  std::vector<LoggingResource::Event> events;
  LoggingResource logged{upstream, [&](const auto& event) { events.push_back(event); }};
  void* const p = logged.allocate(10, 64);
  upstream.fail_after(0);
  CHECK_THROWS_AS(std::ignore = logged.allocate(20, 8), std::bad_alloc);
  logged.deallocate(p, 10, 64);
  const auto is = [&](std::size_t i, Action action, void* at, std::size_t size, std::size_t alignment) {
    const auto& e = events.at(i);
    return e.action == action && e.p == at && e.size == size && e.alignment == alignment;
  };
  REQUIRE(events.size() == 3);
  CHECK(is(0, Action::Allocate, p, 10, 64));
  CHECK(is(1, Action::Fail, nullptr, 20, 8));
  CHECK(is(2, Action::Deallocate, p, 10, 64));
}

TEST_CASE("a logging resource writes lines to a file") {
  UpstreamResource upstream;
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* const file = ::open_memstream(&text, &size);
  LoggingResource logged{upstream, file};
  void* const p = logged.allocate(10, 64);
  logged.deallocate(p, 10, 64);
  std::fclose(file);
  std::array<char, 40> address{};
  std::snprintf(address.data(), address.size(), "%p", p);
  CHECK(std::string{text} ==
        std::string{"allocate,"} + address.data() + ",10,64\ndeallocate," + address.data() + ",10,64\n");
  std::free(text);
}

TEST_CASE("a failure callback may free something, and upstream is asked again") {
  UpstreamResource upstream;
  LimitingResource limited{upstream, 100_B};
  void* cached = limited.allocate(80);
  int calls = 0;
  FailureCallbackResource helped{limited, [&](Bytes asked) {
                                   ++calls;
                                   CHECK(asked == 50_B);
                                   if (cached == nullptr) return false;
                                   limited.deallocate(std::exchange(cached, nullptr), 80);
                                   return true;
                                 }};
  void* const p = helped.allocate(50);
  CHECK(calls == 1);
  void* const q = helped.allocate(50);
  CHECK(calls == 1);
  CHECK_THROWS_AS(std::ignore = helped.allocate(50), OutOfTierMemory);
  CHECK(calls == 2);
  helped.deallocate(p, 50);
  helped.deallocate(q, 50);
}

TEST_CASE("a failure callback is not asked about what is no lack of memory") {
  class Broken final : public std::pmr::memory_resource {
    void* do_allocate(std::size_t, std::size_t) override { throw std::logic_error{"broken"}; }
    void do_deallocate(void*, std::size_t, std::size_t) override {}
    [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
      return this == &other;
    }
  } broken;
  FailureCallbackResource helped{broken, [](Bytes) {
                                   FAIL("called");
                                   return false;
                                 }};
  CHECK_THROWS_AS(std::ignore = helped.allocate(1), std::logic_error);
}

TEST_CASE("adaptors between Boost's resources and the standard's are equal if what they draw from is") {
  UpstreamResource upstream, other;
  ToBoostResource boost{upstream}, same{upstream}, different{other};
  CHECK(boost == same);
  CHECK(boost != different);
  CHECK(boost.upstream_resource() == &upstream);
  const FromBoostResource back{boost}, back_too{same}, elsewhere{different};
  CHECK(back == back_too);
  CHECK(back != elsewhere);
  CHECK(back != upstream);
  void* const p = boost.allocate(10, 32);
  CHECK(upstream.holds(p, 10, 32));
  same.deallocate(p, 10, 32);
}

}  // namespace tier::adaptors_test
