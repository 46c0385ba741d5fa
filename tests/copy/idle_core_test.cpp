// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "copy/idle_core.hpp"
#include "copy/fake_tiers.hpp"
#include "support/eventually.hpp"
#include "support/one_busy_cpu.hpp"

#include <tier/copy/copy_engine.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <thread>

namespace tier::idle_core_test {

using namespace tier::test;
using Kind = FakeTier::Kind;

namespace {

constexpr std::size_t mebi = 1 << 20;

/// Keeps copies of 1 MiB between memories in flight, enough that a mover loses its time slice.
class Stream {
 public:
  explicit Stream(CopyEngine& engine) : engine_{engine} { from_.fill(0, mebi, 1); }
  ~Stream() {
    for (auto& task : tasks_) task.wait();
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  bool crowded_at_last() {
    return eventually([&] {
      if (tasks_.empty() || tasks_.back().times_finished() > 0) more();
      return engine_.is_crowded();
    });
  }
  TestTask& more(Priority priority = Priority::Idle) {
    auto& task = tasks_.emplace_back(to_.at(0), from_.at(0), mebi);
    engine_.submit(task, priority);
    return task;
  }
  bool arrived() {
    for (auto& task : tasks_) task.wait();
    return std::ranges::equal(to_.contents(0, mebi), from_.contents(0, mebi));
  }

 private:
  CopyEngine& engine_;
  FakeTier from_{Kind::PrivateMemory, 1_MiB}, to_{Kind::PrivateMemory, 1_MiB};
  std::deque<TestTask> tasks_;
};

}  // namespace

TEST_CASE("whoever asks for an idle core hears of it once he leaves his own") {
  constexpr std::chrono::seconds long_time{10};
  detail::IdleCore core;
  CHECK(core.answered());
  for (int i = 0; i < 3; ++i) {
    const auto seen = core.events();
    core.ask();
    core.wait(seen, long_time);
    CHECK(eventually([&] { return core.answered(); }));
  }
}

TEST_CASE("whoever waits for an idle core wakes when he is nudged, or when the time is up") {
  detail::IdleCore core;
  auto seen = core.events();
  core.wait(seen, std::chrono::milliseconds{1});
  CHECK(core.events() == seen);
  core.nudge();
  core.wait(seen, std::chrono::hours{1});  // the nudge came first, so it does not wait
  seen = core.events();
  std::thread other{[&] { core.nudge(); }};
  while (core.events() == seen) core.wait(seen, std::chrono::hours{1});
  other.join();
}

TEST_CASE("while each core computes, movers leave it copies between memories that nobody waits for") {
  OneBusyCpu cpu;
  CopyEngine engine{{.threads = 1, .movers = 1, .yields = true}};
  CHECK_FALSE(engine.is_crowded());
  Stream stream{engine};
  REQUIRE(stream.crowded_at_last());
  SUBCASE("but not those that somebody waits for, nor others") {
    auto& awaited = stream.more(Priority::Awaited);
    awaited.wait();
    CHECK(awaited.error() == std::error_code{});
    FakeTier memory{Kind::PrivateMemory, 1_MiB}, device{Kind::Device, 1_MiB};
    TestTask store{device.at(0), memory.at(0), mebi};
    engine.submit(store, Priority::Idle);
    store.wait();
    CHECK(store.error() == std::error_code{});
  }
  SUBCASE("and go on, a chunk now and then") {
    stream.more().wait();
    CHECK(stream.arrived());
  }
  SUBCASE("until a core is idle") {
    cpu.stop();
    CHECK(eventually([&] { return !engine.is_crowded(); }));
    stream.more().wait();
    CHECK(stream.arrived());
  }
  SUBCASE("and who waits does it himself") {
    REQUIRE(stream.arrived());
    auto& task = stream.more();
    CopyTask* const waited_for = &task;
    engine.run({&waited_for, 1});
    CHECK(task.times_finished() == 1);
    CHECK(stream.arrived());
  }
}

TEST_CASE("movers that do not yield copy whatever else runs") {
  const OneBusyCpu cpu;
  CopyEngine engine{{.threads = 1, .movers = 1, .yields = false}};
  Stream stream{engine};
  for (int i = 0; i < 20; ++i) stream.more().wait();
  CHECK_FALSE(engine.is_crowded());
  CHECK(stream.arrived());
}

}  // namespace tier::idle_core_test
