// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/thread_logs.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace tier::thread_logs_test {

using namespace tier::trace;

namespace {

struct Pool {
  ChunkPool chunks{ChunkPool::usual};
  ThreadLogPool logs{chunks};
};

ThreadLog* own_log(const std::shared_ptr<Pool>& pool) { return OwnLogs::of(pool->logs, pool); }

}  // namespace

TEST_CASE("a thread keeps its log in each of several pools") {
  const auto a = std::make_shared<Pool>(), b = std::make_shared<Pool>();
  CHECK(OwnLogs::last_of(a->logs) == nullptr);
  auto* const in_a = own_log(a);
  auto* const in_b = own_log(b);
  REQUIRE(in_a != nullptr);
  CHECK(in_a != in_b);
  CHECK(OwnLogs::last_of(b->logs) == in_b);
  CHECK(OwnLogs::last_of(a->logs) == nullptr);
  CHECK(own_log(a) == in_a);
  CHECK(own_log(b) == in_b);
}

TEST_CASE("the log of a thread that has ended serves another, as that of a new thread") {
  const auto pool = std::make_shared<Pool>();
  std::vector<ThreadLog*> logs;
  std::vector<std::uint32_t> threads;
  for (int i = 0; i < 2; ++i)
    std::thread{[&] {
      logs.push_back(own_log(pool));
      threads.push_back(logs.back()->thread);
    }}.join();
  CHECK(logs[0] == logs[1]);
  CHECK(threads == std::vector<std::uint32_t>{1, 2});
  CHECK(own_log(pool)->thread == 3);
}

TEST_CASE("a pool may end before a thread that has a log of it") {
  auto pool = std::make_shared<Pool>();
  std::thread thread{[&] {
    CHECK(own_log(pool) != nullptr);
    pool.reset();
  }};
  thread.join();
  CHECK(pool == nullptr);
}

TEST_CASE(
    "a log knows a name again wherever its text stands, and does not mistake another text there for it") {
  Pool pool;
  NameTable names;
  auto& log = *pool.logs.take();
  std::string text = "a";
  CHECK(log.number_of(text, names) == 1);
  CHECK(log.number_of(text, names) == 1);
  CHECK(log.number_of(std::string{"a"}, names) == 1);
  text = "b";
  CHECK(log.number_of(text, names) == 2);
  CHECK(log.number_of("", names) == 0);
}

TEST_CASE("all logs of a pool are found") {
  Pool pool;
  for (int i = 0; i < 3; ++i) CHECK(pool.logs.take() != nullptr);
  std::uint32_t threads = 0;
  pool.logs.for_each([&](ThreadLog& log) { threads += log.thread; });
  CHECK(threads == 6);
}

}  // namespace tier::thread_logs_test
