// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "copy/fake_tiers.hpp"
#include "support/seed.hpp"

#include <tier/copy/copy_engine.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <deque>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace tier::copy_stress_test {

using namespace tier::test;
using Kind = FakeTier::Kind;

namespace {

constexpr std::size_t threads = 4;
constexpr std::size_t batches = 450;    // per thread; of 1 to 10 tasks each: 10^4 in all
constexpr std::size_t slot = 64 << 10;  // room of a task in each tier
constexpr std::size_t slots = 10;       // per thread
constexpr std::size_t capacity = threads * slots * slot;

struct World {
  FakeTier memory{Kind::Memory, Bytes{capacity}}, emulated{Kind::EmulatedMemory, Bytes{capacity}},
      device{Kind::Device, Bytes{capacity}}, other_device{Kind::Device, Bytes{capacity}};
  CopyEngine engine{{.threads = 2, .movers = 2}};
  std::atomic<std::uint64_t> started{0}, finished{0}, wrong{0}, cancelled{0};
};

/// A task that checks its bytes when it has ended.
class CheckedTask : public TestTask {
 public:
  std::atomic<bool> compared{true};  ///< false: the program may write the ranges earlier

  CheckedTask(World& world, TierRange to_range, TierRange from_range, std::uint64_t bytes)
      : TestTask{to_range, from_range, bytes}, world_{world} {
    ++world.started;
  }

 protected:
  void finished(std::error_code error, bool was_cancelled) noexcept override {
    ++world_.finished;
    world_.cancelled += was_cancelled;
    world_.wrong += bool{error} || (!was_cancelled && compared && !arrived());
    TestTask::finished(error, was_cancelled);
  }

 private:
  World& world_;
};

/// Runs one thread's share: batches of tasks between its own slots of any two tiers. Each batch is handled in one of the
/// ways that the manager uses.
class Worker {
 public:
  Worker(World& world, std::size_t index, std::uint64_t seed)
      : world_{world}, base_{index * slots * slot}, random_{seed + index} {}

  void work() {
    for (std::size_t i = 0; i < batches; ++i) {
      std::deque<CheckedTask> tasks;
      for (std::size_t n = 1 + random_() % slots, k = 0; k < n; ++k) make(tasks, base_ + k * slot);
      handle(tasks);
      for (auto& task : tasks) task.wait();
    }
  }

 private:
  Priority any_priority() { return static_cast<Priority>(random_() % 3); }
  FakeTier& any_tier() {
    FakeTier* const all[] = {&world_.memory, &world_.emulated, &world_.device, &world_.other_device};
    return *all[random_() % 4];
  }

  void make(std::deque<CheckedTask>& tasks, std::uint64_t offset) {
    FakeTier& from = any_tier();
    FakeTier* to = &any_tier();
    while (to == &from) to = &any_tier();
    const std::size_t size = (random_() % (random_() % 8 == 0 ? slot : 4096)) / 512 * 512;
    from.fill(offset, size, random_());
    tasks.emplace_back(world_, to->at(offset), from.at(offset), size).warm = random_() % 2 == 0;
  }

  void handle(std::deque<CheckedTask>& tasks) {
    std::vector<CopyTask*> all;
    for (auto& task : tasks) all.push_back(&task);
    const auto way = random_() % 6;
    for (auto& task : tasks) task.compared = way != 4;
    for (auto& task : tasks)
      if (way != 0 && (way != 1 || random_() % 2 == 0)) world_.engine.submit(task, any_priority());
    if (way <= 1) return world_.engine.run(all);  // some or none of them submitted before
    for (auto& task : tasks) {
      if (way == 2) world_.engine.raise(task, any_priority());
      if (way == 3 && random_() % 2 == 0) world_.engine.cancel(task);
      if (way == 4) stop(task);
    }
    if (way == 5) world_.engine.run(all);
  }

  // Once stop() has returned no CPU accesses the ranges, so plain writes are no race. (The CPU that emulates a device may
  // still access them, so only memory is written.)
  void stop(CheckedTask& task) {
    world_.engine.stop(task);
    for (const TierRange& range : {task.from, task.to})
      if (task.from.tier->base() != nullptr && task.to.tier->base() != nullptr)
        static_cast<FakeTier*>(range.tier)->fill(range.offset, task.size, 0);
  }

  World& world_;
  std::uint64_t base_;
  std::mt19937_64 random_;
};

}  // namespace

TEST_CASE(
    "of 10^4 tasks started, raised, cancelled, stopped and joined by four threads each ends once, with its "
    "bytes") {
  const std::uint64_t seed = test::seed();
  CAPTURE(seed);
  World world;
  std::vector<std::thread> running;
  for (std::size_t i = 0; i < threads; ++i) running.emplace_back([&, i] { Worker{world, i, seed}.work(); });
  for (auto& thread : running) thread.join();
  world.engine.pause();  // the last finished() has returned
  CHECK(world.started >= 9'000);
  CHECK(world.finished == world.started);
  CHECK(world.wrong == 0);
  CHECK(world.cancelled > 0);
  CHECK(world.cancelled < world.started / 2);
  CHECK(world.cancelled == world.engine.counters().cancelled);
  CHECK(world.device.misaligned + world.other_device.misaligned == 0);
}

}  // namespace tier::copy_stress_test
