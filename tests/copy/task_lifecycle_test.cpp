// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "copy/task_lifecycle.hpp"
#include "copy/fake_tiers.hpp"

#include <doctest/doctest.h>

#include <system_error>

namespace tier::task_lifecycle_test {

using namespace tier::test;
using detail::Chunk;
using detail::JoinedTasks;
using detail::TaskLifecycle;
using detail::TaskState;

namespace {

constexpr std::size_t piece = 512 << 10;  // of a copy in memory

/// A lifecycle whose lock the test holds, with a task of two chunks.
struct Rig {
  TaskState* next_queued() TIER_NO_THREAD_SAFETY_ANALYSIS { return tasks.front(); }
  /// Takes a chunk of the queue's first task.
  Chunk take() TIER_NO_THREAD_SAFETY_ANALYSIS {
    Chunk chunk;
    tasks.take(chunk, [&] { return next_queued(); });
    return chunk;
  }
  void end(Chunk& chunk) TIER_NO_THREAD_SAFETY_ANALYSIS {
    tasks.let_go(chunk);
    tasks.end(chunk, Carrier::Mover);
  }

  FakeTier from{FakeTier::Kind::Memory, 1_MiB}, to{FakeTier::Kind::Memory, 1_MiB};
  TaskLifecycle tasks;
  TestTask task{to.at(0), from.at(0), 2 * piece};
  TaskState state{task};
};

}  // namespace

TEST_CASE("a task ends once, with its last chunk and the first error of its chunks") {
  Rig rig;
  const MutexLock lock{rig.tasks.mutex()};
  rig.tasks.submit(rig.state, Priority::Idle);
  auto first = rig.take(), second = rig.take();
  REQUIRE(first.pieces().size() == 1);
  REQUIRE(second.pieces().size() == 1);
  CHECK(rig.next_queued() == nullptr);
  first.pieces()[0].error = std::make_error_code(std::errc::io_error);
  rig.end(first);
  CHECK(rig.task.times_finished() == 0);
  rig.end(second);
  CHECK(rig.task.times_finished() == 1);
  CHECK(rig.task.error() == std::errc::io_error);
  CHECK(rig.tasks.counters().chunks == 2);
  CHECK(rig.tasks.counters().background_bytes == piece);
}

TEST_CASE("a run that has joined a task hears of its end after the owner has") {
  Rig rig;
  const MutexLock lock{rig.tasks.mutex()};
  JoinedTasks run;
  rig.tasks.join(run, rig.state);
  CHECK(run.unfinished == 1);
  CHECK(run.next_open() == &rig.state);
  rig.task.on_finish = [&] { CHECK(run.unfinished == 1); };
  for (int chunks = 0; chunks < 2; ++chunks) {
    Chunk chunk;
    rig.tasks.take(chunk, [&] { return run.next_open(); });
    rig.end(chunk);
  }
  CHECK(run.next_open() == nullptr);
  CHECK(run.unfinished == 0);
  SUBCASE("and one that comes later does not wait for it") {
    JoinedTasks late;
    rig.tasks.join(late, rig.state);
    CHECK(late.unfinished == 0);
  }
}

TEST_CASE("a queued task that is cancelled comes first, moves no bytes, and ends cancelled") {
  Rig rig;
  TestTask other{rig.to.at(0), rig.from.at(0), piece};
  TaskState awaited{other};
  const MutexLock lock{rig.tasks.mutex()};
  rig.tasks.submit(awaited, Priority::Awaited);
  rig.tasks.submit(rig.state, Priority::Idle);
  CHECK(rig.next_queued() == &awaited);
  CHECK(rig.tasks.cancel(rig.state));
  CHECK(rig.next_queued() == &rig.state);
  auto chunk = rig.take();
  REQUIRE(chunk.pieces().size() == 1);
  CHECK(chunk.pieces()[0].size == 0);
  rig.end(chunk);
  CHECK(rig.task.cancelled());
  CHECK(rig.tasks.counters().cancelled == 1);
  auto rest = rig.take();
  rig.end(rest);
  CHECK(other.times_finished() == 1);
}

TEST_CASE("a task that is cancelled with a chunk in flight ends with that chunk, and lets go of its ranges") {
  Rig rig;
  const MutexLock lock{rig.tasks.mutex()};
  rig.tasks.submit(rig.state, Priority::Idle);
  auto chunk = rig.take();
  CHECK_FALSE(rig.tasks.cancel(rig.state));
  CHECK(rig.next_queued() == nullptr);
  detail::Stopper stopper, late;
  CHECK(rig.tasks.watch(rig.state, stopper));
  CHECK_FALSE(stopper.released);
  rig.end(chunk);
  CHECK(rig.task.cancelled());
  CHECK(stopper.released);
  CHECK_FALSE(rig.tasks.watch(rig.state, late));
}

TEST_CASE("a task is raised in the queue, and never lowered") {
  Rig rig;
  TestTask other{rig.to.at(0), rig.from.at(0), piece};
  TaskState prefetch{other};
  const MutexLock lock{rig.tasks.mutex()};
  CHECK_FALSE(rig.tasks.raise(rig.state, Priority::Awaited));  // not queued
  rig.tasks.submit(prefetch, Priority::Prefetch);
  rig.tasks.submit(rig.state, Priority::Idle);
  CHECK(rig.tasks.raise(rig.state, Priority::Awaited));
  CHECK(rig.next_queued() == &rig.state);
  CHECK_FALSE(rig.tasks.raise(rig.state, Priority::Prefetch));
  CHECK(rig.next_queued() == &rig.state);
  while (rig.next_queued() != nullptr) {
    auto chunk = rig.take();
    rig.end(chunk);
  }
}

}  // namespace tier::task_lifecycle_test
