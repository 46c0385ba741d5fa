// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Number of threads that carry out a copy.
#include <doctest/doctest.h>

#include "copy/chunk.hpp"
#include "fake_tiers.hpp"

namespace tier::useful_threads_test {

using namespace tier::literals;
using detail::useful_threads;
using detail::UsefulThreads;
using tier::test::FakeTier;
using tier::test::TestTask;
using Kind = FakeTier::Kind;

namespace {

constexpr std::uint64_t mebi = 1 << 20;

/// Makes a memory tier that reads and writes at this many GB/s.
FakeTier memory_of(double gigabytes) {
  return {Kind::Memory,
          Bytes{mebi},
          {.read_bytes_per_second = gigabytes * 1e9, .write_bytes_per_second = gigabytes * 1e9}};
}

}  // namespace

TEST_CASE("a copy has no more threads than its slower side serves") {
  FakeTier fast = memory_of(100), slow = memory_of(19), faster = memory_of(25), unknown = memory_of(0);
  CHECK(useful_threads(TestTask{slow.at(0), fast.at(0), 64 * mebi}, 64 * mebi) == 1);
  CHECK(useful_threads(TestTask{fast.at(0), faster.at(0), 64 * mebi}, 64 * mebi) == 2);
  CHECK(useful_threads(TestTask{fast.at(0), fast.at(0), 64 * mebi}, 64 * mebi) == 7);
  CHECK(useful_threads(TestTask{fast.at(0), unknown.at(0), 64 * mebi}, 64 * mebi) == 128);
  SUBCASE("but one however slow that is, and one for little") {
    FakeTier slowest = memory_of(1);
    CHECK(useful_threads(TestTask{fast.at(0), slowest.at(0), 64 * mebi}, 64 * mebi) == 1);
    CHECK(useful_threads(TestTask{fast.at(0), unknown.at(0), 4096}, 4096) == 1);
  }
}

TEST_CASE("copies on the same way share its threads, and others have their own") {
  FakeTier fast = memory_of(100), slow = memory_of(19);
  const TestTask in{fast.at(0), slow.at(0), mebi}, out{slow.at(0), fast.at(0), mebi};
  UsefulThreads threads;
  CHECK(threads.count() == 0);
  for (int i = 0; i < 3; ++i) threads.add(out, mebi);
  CHECK(threads.count() == 1);
  for (int i = 0; i < 3; ++i) threads.add(in, mebi);
  CHECK(threads.count() == 2);
}

TEST_CASE("copies of devices together have the threads of one") {
  FakeTier fast = memory_of(100), device{Kind::Device, Bytes{mebi}};
  const TestTask in{fast.at(0), device.at(0), 64 * mebi};
  UsefulThreads threads;
  for (int i = 0; i < 3; ++i) threads.add(in, 64 * mebi);
  CHECK(threads.count() == useful_threads(in, 64 * mebi));
}

}  // namespace tier::useful_threads_test
