// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "copy/fake_tiers.hpp"
#include "support/message_of.hpp"

#include <tier/copy/copy_engine.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace tier::copy_engine_test {

using namespace tier::test;
using Kind = FakeTier::Kind;

namespace {

constexpr std::size_t mebi = 1 << 20;

std::error_code io_error() { return std::make_error_code(std::errc::io_error); }

/// Holds up the first access.
Hook hold_first(Gate& gate) {
  return [&gate, first = std::make_shared<std::atomic<bool>>(true)](auto...) {
    if (first->exchange(false)) gate.pass();
    return std::error_code{};
  };
}

/// Records events from any thread in their order.
class Log {
 public:
  void add(std::string event) {
    const MutexLock lock{mutex_};
    events_.push_back(std::move(event));
  }
  std::vector<std::string> events() {
    const MutexLock lock{mutex_};
    return events_;
  }

 private:
  Mutex mutex_;
  std::vector<std::string> events_ TIER_GUARDED_BY(mutex_);
};

using Strings = std::vector<std::string>;

}  // namespace

TEST_CASE("bytes arrive between every pair of tiers, by run() and by submit()") {
  for (Kind from_kind : {Kind::Memory, Kind::EmulatedMemory, Kind::SelfCopying, Kind::Device}) {
    for (Kind to_kind : {Kind::Memory, Kind::EmulatedMemory, Kind::SelfCopying, Kind::Device}) {
      FakeTier from{from_kind, 10_MiB}, to{to_kind, 10_MiB};
      CopyEngine engine{{.threads = 2, .movers = 1}};
      CAPTURE(int(from_kind));
      CAPTURE(int(to_kind));
      for (std::size_t size : {0UL, 512UL, 4096UL, 512UL << 10, mebi + 512, 9 * mebi - 512}) {
        for (bool background : {false, true}) {
          CAPTURE(size);
          CAPTURE(background);
          from.fill(4096, size, size + background);
          TestTask task{to.at(8192), from.at(4096), size};
          task.warm = background;
          if (background) {
            engine.submit(task, Priority::Prefetch);
            task.wait();
          } else {
            CopyTask* const tasks[] = {&task};
            engine.run(tasks);
          }
          CHECK(task.times_finished() == 1);
          CHECK_FALSE(task.error());
          CHECK_FALSE(task.cancelled());
          CHECK(task.arrived());
        }
      }
      CHECK(from.misaligned + to.misaligned == 0);
    }
  }
}

TEST_CASE("between addressable tiers any size and alignment arrives") {
  FakeTier from{Kind::Memory, 4_MiB}, to{Kind::Memory, 4_MiB};
  CopyEngine engine{{.threads = 2, .movers = 0}};
  for (std::size_t size : {1UL, 63UL, 65UL, 4097UL, mebi - 1, 2 * mebi + 77}) {
    from.fill(1, size, size);
    TestTask task{to.at(13), from.at(1), size};
    CopyTask* const tasks[] = {&task};
    engine.run(tasks);
    CHECK(task.arrived());
    CHECK(to.contents(12, 1)[0] == std::byte{0});
    CHECK(to.contents(13 + size, 1)[0] == std::byte{0});
    std::ranges::fill(to.contents(0, 4 * mebi), std::byte{0});
  }
}

TEST_CASE("a tier without bytes takes part in copies that move none") {
  FakeTier none{Kind::NoBytes, 1_MiB}, device{Kind::Device, 1_MiB};
  CopyEngine engine{{.threads = 1, .movers = 1}};
  TestTask in{none.at(0), device.at(0), mebi}, out{device.at(0), none.at(0), mebi};
  CopyTask* const tasks[] = {&in};
  engine.run(tasks);
  engine.submit(out, Priority::Idle);
  out.wait();
  CHECK(in.times_finished() == 1);
  CHECK(device.transfers + none.transfers == 0);
}

TEST_CASE("emulated tiers are charged for every byte, reads on one side and writes on the other") {
  FakeTier from{Kind::EmulatedMemory, 4_MiB}, to{Kind::EmulatedMemory, 4_MiB}, device{Kind::Device, 4_MiB};
  CopyEngine engine{{.threads = 2, .movers = 0}};
  TestTask task{to.at(0), from.at(0), 3 * mebi + 5};
  CopyTask* const tasks[] = {&task};
  engine.run(tasks);
  CHECK(from.read_charged == 3 * mebi + 5);
  CHECK(from.write_charged == 0);
  CHECK(to.write_charged == 3 * mebi + 5);
  CHECK(to.read_charged == 0);

  TestTask load{to.at(0), device.at(0), mebi}, store{device.at(2 * mebi), from.at(0), mebi};
  CopyTask* const device_tasks[] = {&load, &store};
  engine.run(device_tasks);
  CHECK(to.write_charged == 4 * mebi + 5);
  CHECK(from.read_charged == 4 * mebi + 5);
}

TEST_CASE("small copies to or from one device share a batch") {
  FakeTier memory{Kind::Memory, 4_MiB}, device{Kind::Device, 4_MiB};
  CopyEngine engine{{.threads = 1, .movers = 0}};
  memory.fill(0, 4 * mebi, 1);
  std::deque<TestTask> tasks;
  std::vector<CopyTask*> all;
  for (std::size_t i = 0; i < 40; ++i)
    all.push_back(&tasks.emplace_back(device.at(i << 16), memory.at(i << 16), 1 << 16));
  engine.run(all);
  CHECK(device.requested == 40);
  CHECK(device.transfers == 2);  // of 32 and of 8 requests
  for (auto& task : tasks) CHECK(task.arrived());
}

TEST_CASE("a tier that copies itself does so piece by piece, and its errors are those of the task") {
  FakeTier memory{Kind::Memory, 4_MiB}, itself{Kind::SelfCopying, 4_MiB};
  CopyEngine engine{{.threads = 2, .movers = 0}};
  memory.fill(0, 2 * mebi, 1);
  std::deque<TestTask> tasks;
  std::vector<CopyTask*> all;
  for (std::size_t i = 0; i < 40; ++i)
    all.push_back(&tasks.emplace_back(itself.at(i << 16), memory.at(i << 16), 1 << 16));
  engine.run(all);
  CHECK(itself.transfers == 40);
  for (auto& task : tasks) CHECK(task.arrived());

  itself.on_access = [](Direction, std::uint64_t offset, std::size_t) {
    return offset >= mebi ? io_error() : std::error_code{};
  };
  TestTask sound{memory.at(2 * mebi), itself.at(0), mebi}, broken{memory.at(3 * mebi), itself.at(mebi), mebi};
  CopyTask* const loads[] = {&sound, &broken};
  engine.run(loads);
  CHECK_FALSE(sound.error());
  CHECK(sound.arrived());
  CHECK(broken.error() == io_error());
  CHECK(broken.failed == Direction::Read);
}

TEST_CASE("bytes in a window are copied as memory, whichever tier they count for") {
  FakeTier memory{Kind::Memory, 1_MiB}, itself{Kind::SelfCopying, 1_MiB};
  CopyEngine engine{{.threads = 1, .movers = 0}};
  std::vector<std::byte> window(4096, std::byte{7});
  TestTask task{memory.at(0), {&itself, 0, window.data()}, 4096};
  CopyTask* const tasks[] = {&task};
  engine.run(tasks);
  CHECK(itself.transfers == 0);
  CHECK(std::ranges::equal(memory.contents(0, 4096), window));
}

TEST_CASE(
    "run() takes more tasks than fit one stretch of its stack, and the same tier's tasks end once each") {
  FakeTier from{Kind::Memory, 1_MiB}, to{Kind::Memory, 1_MiB};
  CopyEngine engine{{.threads = 2, .movers = 1}};
  from.fill(0, mebi, 3);
  std::deque<TestTask> tasks;
  std::vector<CopyTask*> all;
  for (std::size_t i = 0; i < 200; ++i)
    all.push_back(&tasks.emplace_back(to.at(i * 4096), from.at(i * 4096), 4096));
  engine.run(all);
  for (auto& task : tasks) {
    CHECK(task.times_finished() == 1);
    CHECK(task.arrived());
  }
  const auto counters = engine.counters();
  CHECK(counters.synchronous_bytes == 200 * 4096);
  CHECK(counters.background_bytes == 0);
  CHECK(counters.chunks == 200);
}

TEST_CASE("higher priorities overtake between chunks, and one priority is first in first out") {
  FakeTier memory{Kind::Memory, 16_MiB}, device{Kind::Device, 16_MiB};
  CopyEngine engine{{.threads = 1, .movers = 1}};
  Gate gate;
  Log log;
  device.on_access = hold_first(gate);
  TestTask idle{memory.at(0), device.at(0), 12 * mebi}, awaited{memory.at(0), device.at(0), 4096},
      first{memory.at(0), device.at(0), 4096}, second{memory.at(0), device.at(0), 4096};
  idle.on_finish = [&] { log.add("idle"); };
  awaited.on_finish = [&] { log.add("awaited"); };
  first.on_finish = [&] { log.add("first"); };
  second.on_finish = [&] { log.add("second"); };
  engine.submit(idle, Priority::Idle);
  gate.wait_for_arrival();  // the first of its three chunks is in flight

  SUBCASE("as submitted") {
    engine.submit(first, Priority::Prefetch);
    engine.submit(second, Priority::Prefetch);
    engine.submit(awaited, Priority::Awaited);
    gate.open();
    idle.wait();
    CHECK(log.events() == Strings{"awaited", "first", "second", "idle"});
  }
  SUBCASE("after being raised") {
    engine.submit(first, Priority::Idle);
    engine.submit(second, Priority::Idle);
    engine.submit(awaited, Priority::Prefetch);
    engine.raise(second, Priority::Awaited);
    engine.raise(awaited, Priority::Idle);  // raising never lowers a priority
    gate.open();
    first.wait();
    CHECK(log.events() == Strings{"second", "awaited", "idle", "first"});
  }
}

TEST_CASE("a task cancelled before its first chunk moves nothing and still finishes") {
  FakeTier memory{Kind::Memory, 4_MiB}, device{Kind::Device, 4_MiB};
  CopyEngine engine{{.threads = 1, .movers = 1}};
  engine.pause();
  TestTask task{memory.at(0), device.at(0), 4 * mebi};
  engine.submit(task, Priority::Idle);
  engine.cancel(task);
  engine.cancel(task);
  CHECK(task.times_finished() == 0);
  engine.resume();
  task.wait();
  CHECK(task.cancelled());
  CHECK(device.transfers == 0);
  CHECK(engine.counters().cancelled == 1);
}

TEST_CASE("a task cancelled before it was handed over moves nothing and still finishes") {
  FakeTier memory{Kind::Memory, 4_MiB}, device{Kind::Device, 4_MiB};
  CopyEngine engine{{.threads = 1, .movers = 1}};
  TestTask task{memory.at(0), device.at(0), 4 * mebi};
  engine.stop(task);
  SUBCASE("in the background") { engine.submit(task, Priority::Idle); }
  SUBCASE("in run()") {
    CopyTask* const tasks[] = {&task};
    engine.run(tasks);
  }
  task.wait();
  CHECK(task.cancelled());
  CHECK(device.transfers == 0);
}

TEST_CASE("a task cancelled during a chunk begins no other") {
  FakeTier memory{Kind::Memory, 16_MiB}, device{Kind::Device, 16_MiB};
  CopyEngine engine{{.threads = 1, .movers = 1}};
  Gate gate;
  device.on_access = hold_first(gate);
  TestTask task{memory.at(0), device.at(0), 16 * mebi};
  const auto synchronously = [&] {
    CopyTask* const tasks[] = {&task};
    engine.run(tasks);
  };
  std::thread runner;
  SUBCASE("in the background") { engine.submit(task, Priority::Prefetch); }
  SUBCASE("in run()") { runner = std::thread{synchronously}; }
  gate.wait_for_arrival();
  engine.cancel(task);
  CHECK(task.times_finished() == 0);
  gate.open();
  task.wait();
  if (runner.joinable()) runner.join();
  CHECK(task.cancelled());
  CHECK(task.times_finished() == 1);
  CHECK(device.transfers == 1);
}

TEST_CASE("a task that has ended is left alone by cancel, raise and stop") {
  FakeTier from{Kind::Memory, 1_MiB}, to{Kind::Memory, 1_MiB};
  CopyEngine engine{{.threads = 1, .movers = 1}};
  TestTask task{to.at(0), from.at(0), mebi};
  engine.submit(task, Priority::Prefetch);
  task.wait();
  engine.cancel(task);
  engine.raise(task, Priority::Awaited);
  engine.stop(task);
  CopyTask* const tasks[] = {&task};
  engine.run(tasks);  // joins a task that has ended: it is not copied again
  CHECK(task.times_finished() == 1);
  CHECK_FALSE(task.cancelled());
  CHECK(engine.counters().background_bytes + engine.counters().synchronous_bytes == mebi);
}

TEST_CASE("stop() waits for the CPU's chunk in flight, then the ranges are quiet") {
  Kind kind{};
  SUBCASE("the engine's") { kind = Kind::Memory; }
  SUBCASE("the tier's own") { kind = Kind::SelfCopying; }
  FakeTier from{kind, 8_MiB}, to{Kind::Memory, 8_MiB};
  CopyEngine engine{{.threads = 1, .movers = 1}};
  Gate gate;
  from.on_access = hold_first(gate);
  TestTask task{to.at(0), from.at(0), 8 * mebi};
  engine.submit(task, Priority::Prefetch);
  gate.wait_for_arrival();
  std::atomic<int> stopped_early{0};
  std::vector<std::thread> stoppers;
  for (int i = 0; i < 2; ++i)
    stoppers.emplace_back([&] {
      engine.stop(task);
      if (!gate.is_open()) ++stopped_early;
    });
  gate.open();
  for (auto& stopper : stoppers) stopper.join();
  CHECK(stopped_early == 0);
  // Plain writes, so that ThreadSanitizer reports a copy that still runs.
  from.fill(0, 8 * mebi, 1);
  to.fill(0, 8 * mebi, 2);
  task.wait();
}

TEST_CASE("stop() does not wait for a device") {
  Gate gate;
  FakeTier memory{Kind::Memory, 8_MiB}, emulated{Kind::EmulatedMemory, 8_MiB}, device{Kind::Device, 8_MiB};
  CopyEngine engine{{.threads = 1, .movers = 1}};
  FakeTier* to = nullptr;
  SUBCASE("that is at work") {
    to = &device;
    device.on_access = hold_first(gate);
  }
  SUBCASE("that is emulated") {
    to = &emulated;
    emulated.on_charge = [&] { gate.pass(); };
  }
  TestTask task{to->at(0), memory.at(0), 8 * mebi};
  engine.submit(task, Priority::Idle);
  gate.wait_for_arrival();
  engine.stop(task);
  CHECK(task.times_finished() == 0);  // the ranges stay taken
  gate.open();
  task.wait();
  CHECK(task.cancelled());
}

TEST_CASE("run() helps with a task that was submitted, and waits for the mover's chunk") {
  FakeTier memory{Kind::Memory, 16_MiB}, device{Kind::Device, 16_MiB};
  CopyEngine engine{{.threads = 1, .movers = 1}};
  device.fill(0, 16 * mebi, 5);
  Gate gate, rest;
  std::atomic<int> requests{0};
  device.on_access = [&](auto...) {
    const int earlier = requests++;
    if (earlier == 0) gate.pass();
    if (earlier == 8) rest.open();
    return std::error_code{};
  };
  TestTask task{memory.at(0), device.at(0), 16 * mebi};
  engine.submit(task, Priority::Idle);
  gate.wait_for_arrival();
  std::atomic<bool> finished_first{false};
  std::thread runner{[&] {
    CopyTask* const tasks[] = {&task};
    engine.run(tasks);
    finished_first = task.times_finished() == 1;
  }};
  rest.pass();  // the runner has moved bytes while the mover was held up
  gate.open();
  runner.join();
  CHECK(finished_first);
  CHECK(task.arrived());
  CHECK(engine.counters().background_bytes >= 4 * mebi);
  CHECK(engine.counters().synchronous_bytes >= 4 * mebi);
}

TEST_CASE("run() on a task whose finished() is under way returns after it") {
  FakeTier from{Kind::Memory, 1_MiB}, to{Kind::Memory, 1_MiB};
  CopyEngine engine{{.threads = 1, .movers = 1}};
  Gate gate;
  TestTask task{to.at(0), from.at(0), mebi};
  task.on_finish = [&] { gate.pass(); };
  engine.submit(task, Priority::Prefetch);
  gate.wait_for_arrival();
  std::atomic<int> early{0};
  std::vector<std::thread> runners;
  for (int i = 0; i < 2; ++i)
    runners.emplace_back([&] {
      CopyTask* const tasks[] = {&task, &task};
      engine.run(tasks);
      if (task.times_finished() == 0) ++early;
    });
  gate.open();
  for (auto& runner : runners) runner.join();
  CHECK(early == 0);
}

TEST_CASE("the first failure of either tier is what finished() is told, wherever it happens") {
  constexpr std::size_t size = 10 * mebi;
  for (std::size_t failing : {std::size_t{0}, 5 * mebi, size - 512 * 1024}) {
    for (Kind from_kind : {Kind::Memory, Kind::Device}) {
      for (Kind to_kind : {Kind::Memory, Kind::Device}) {
        for (bool fail_write : {false, true}) {
          CAPTURE(failing);
          CAPTURE(int(from_kind));
          CAPTURE(int(to_kind));
          CAPTURE(fail_write);
          FakeTier from{from_kind, Bytes{size}}, to{to_kind, Bytes{size}};
          (fail_write ? to : from).on_access = [&](Direction, std::uint64_t offset, std::size_t n) {
            return offset <= failing && failing < offset + n ? io_error() : std::error_code{};
          };
          CopyEngine engine{{.threads = 1, .movers = 1}};
          TestTask task{to.at(0), from.at(0), size}, later{to.at(0), from.at(0), 0};
          engine.submit(task, Priority::Prefetch);
          engine.submit(later, Priority::Prefetch);
          task.wait();
          later.wait();
          CHECK(task.error() == io_error());
          CHECK(task.times_finished() == 1);
          CHECK_FALSE(task.cancelled());
          CHECK_FALSE(later.error());
          CHECK(engine.counters().background_bytes < failing + 4 * mebi);  // no chunk began after the failure
        }
      }
    }
  }
}

TEST_CASE("of several failures in one batch finished() is told the first") {
  FakeTier memory{Kind::Memory, 4_MiB}, device{Kind::Device, 4_MiB};
  CopyEngine engine{{.threads = 1, .movers = 0}};
  TestTask task{device.at(512 << 10), memory.at(0), 2 * mebi}, fine{device.at(0), memory.at(0), 4096};
  CopyTask* const tasks[] = {&fine, &task};
  device.on_access = [](Direction, std::uint64_t offset, std::size_t) {
    if (offset < mebi) return std::error_code{};
    return offset == mebi ? io_error() : std::make_error_code(std::errc::no_space_on_device);
  };
  engine.run(tasks);
  CHECK(device.transfers == 1);
  CHECK(task.error() == io_error());
  CHECK_FALSE(fine.error());
}

namespace {

/// A task that deletes itself when it has ended.
class Ephemeral final : public CopyTask {
 public:
  Ephemeral(TierRange to_range, TierRange from_range, std::uint64_t bytes, std::atomic<int>& count)
      : count_{count} {
    to = to_range;
    from = from_range;
    size = bytes;
  }

 private:
  void finished(std::error_code, bool) noexcept override {
    auto& count = count_;
    delete this;
    ++count;
    count.notify_all();
  }
  std::atomic<int>& count_;
};

void wait_until(std::atomic<int>& count, int value) {
  for (int now = count; now != value; now = count) count.wait(now);
}

}  // namespace

TEST_CASE("a task may be deleted inside finished()") {
  FakeTier from{Kind::Memory, 4_MiB}, to{Kind::Memory, 4_MiB};
  CopyEngine engine{{.threads = 2, .movers = 1}};
  std::atomic<int> ended{0};
  SUBCASE("submitted") {
    for (std::size_t size : {0UL, 4096UL, 4 * mebi})
      engine.submit(*new Ephemeral{to.at(0), from.at(0), size, ended}, Priority::Prefetch);
    wait_until(ended, 3);
  }
  SUBCASE("run") {
    CopyTask* const tasks[] = {new Ephemeral{to.at(0), from.at(0), 0, ended},
                               new Ephemeral{to.at(0), from.at(0), 4 * mebi, ended},
                               new Ephemeral{to.at(0), from.at(0), 64, ended}};
    engine.run(tasks);
    CHECK(ended == 3);
  }
  SUBCASE("submitted, then joined by run() while a chunk is in flight") {
    Gate gate;
    from.on_access = hold_first(gate);
    auto* task = new Ephemeral{to.at(0), from.at(0), 4 * mebi, ended};
    engine.submit(*task, Priority::Idle);
    gate.wait_for_arrival();
    Gate joined;
    std::thread runner{[&] {
      TestTask marker{to.at(0), from.at(0),
                      4096};  // comes later in the run: its end shows that both are joined
      marker.on_finish = [&] { joined.open(); };
      CopyTask* const tasks[] = {task, &marker};
      engine.run(tasks);
      CHECK(ended == 1);
    }};
    joined.pass();
    gate.open();
    runner.join();
  }
}

TEST_CASE("finished() may submit further tasks, and the same one again") {
  FakeTier from{Kind::Memory, 1_MiB}, to{Kind::Memory, 1_MiB};
  CopyEngine engine{{.threads = 1, .movers = 1}};
  std::deque<TestTask> chain;
  for (int i = 0; i < 50; ++i) chain.emplace_back(to.at(0), from.at(0), 4096);
  for (std::size_t i = 0; i + 1 < chain.size(); ++i)
    chain[i].on_finish = [&, i] { engine.submit(chain[i + 1], Priority::Prefetch); };
  engine.submit(chain.front(), Priority::Prefetch);
  chain.back().wait();

  TestTask again{to.at(0), from.at(0), 4096};
  std::atomic<int> ends{0};
  again.on_finish = [&] {
    if (++ends < 5) engine.submit(again, Priority::Prefetch);
    ends.notify_all();
  };
  engine.submit(again, Priority::Prefetch);
  wait_until(ends, 5);
  engine.pause();  // the last finished() has returned
  CHECK(again.times_finished() == 5);
  engine.resume();
}

TEST_CASE("after pause() neither a mover nor who copies for himself is at work until resume()") {
  FakeTier memory{Kind::Memory, 8_MiB}, device{Kind::Device, 8_MiB};
  CopyEngine engine{{.threads = 1, .movers = 2}};
  Gate gate;
  device.on_access = hold_first(gate);
  TestTask task{memory.at(0), device.at(0), 8 * mebi}, second{memory.at(0), device.at(0), mebi};
  engine.submit(task, Priority::Idle);
  gate.wait_for_arrival();
  std::atomic<bool> pausing{false}, open_when_paused{false};
  std::thread pauser{[&] {
    pausing = true;
    engine.pause();
    open_when_paused = gate.is_open();
    engine.submit(second, Priority::Awaited);
    CHECK(second.times_finished() == 0);
    std::thread runner{[&] {
      CopyTask* const tasks[] = {&second};
      engine.run(tasks);
    }};
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();  // enough time to begin too early
    CHECK(second.times_finished() == 0);
    engine.resume();
    runner.join();
  }};
  while (!pausing) std::this_thread::yield();
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();  // enough time to return too early
  gate.open();
  pauser.join();
  task.wait();
  CHECK(open_when_paused);
  CHECK(second.times_finished() == 1);
}

TEST_CASE("copy() copies any size and alignment, in parallel where it pays") {
  std::vector<std::byte> source(5 * mebi), target(5 * mebi);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 2654435761U >> 13);
  for (std::size_t size : {0UL, 1UL, 64UL, 4095UL, mebi - 1, mebi + 1, 4 * mebi + 3}) {
    for (std::size_t to : {0UL, 1UL, 63UL}) {
      std::ranges::fill(target, std::byte{0x5a});
      copy(std::span{target}.subspan(to, size), std::span{source}.subspan(7, size));
      CHECK(std::equal(target.begin() + std::ptrdiff_t(to), target.begin() + std::ptrdiff_t(to + size),
                       source.begin() + 7));
      CHECK(target[to + size] == std::byte{0x5a});
      if (to != 0) CHECK(target[to - 1] == std::byte{0x5a});
    }
  }
}

TEST_CASE("copy() refuses sides of different size, and copies nothing") {
  std::vector<std::byte> source(100, std::byte{1}), target(100, std::byte{2});
  for (const std::size_t size : {0UL, 99UL})
    CHECK(test::message_of<std::out_of_range>([&] {
            copy(std::span{target}.first(size), std::span{source});
          }) == "copy: 100 bytes to a span of " + std::to_string(size) + "; both sides must have one size");
  CHECK_THROWS_AS(copy(std::span{target}, std::span{source}.first(99)), std::out_of_range);
  CHECK(target == std::vector<std::byte>(100, std::byte{2}));
}

}  // namespace tier::copy_engine_test
