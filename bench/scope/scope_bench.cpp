// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Question: what does a scope cost if nothing has to move, and how much more if it is recorded? How long does a prefetch
// take to return?
#include "harness/recorded.hpp"
#include "harness/rows.hpp"

#include <tier/runtime/policies.hpp>
#include <tier/runtime/runtime.hpp>
#include <tier/scope/scope.hpp>
#include <tier/tensor/tensor.hpp>

#include <benchmark/benchmark.h>
#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace tier::bench {
namespace {

using namespace tier::literals;

struct Fixture {
  Runtime runtime;
  std::vector<Tensor<float>> tensors;

  explicit Fixture(const char* policy = "lru") : runtime{{.tiers = {tiers::dram(16_MiB)}, .policy = policy}} {
    for (int i = 0; i < 8; ++i) tensors.emplace_back(runtime, Shape{1024});
  }
};

/// The minimum for pinning an object: one atomic add and one subtract on its own cache line.
struct alignas(64) Counter {
  std::atomic<std::uint64_t> pins{0};
};

constexpr int repeats = 200'000;

template <class Body>
auto times(Body body) {
  return [body] {
    for (int i = 0; i < repeats; ++i) body();
  };
}

/// Runs the same work on `threads` threads at once; returns when all have ended.
template <class Work>
void on_threads(int threads, const Work& work) {
  std::vector<std::jthread> team;
  for (int i = 1; i < threads; ++i) team.emplace_back(work);
  work();
}

Row row(std::string what, const Pair& pair, double operands, double mark, const char* reach) {
  return timed_row({.id = "scope.resident",
                    .what = std::move(what),
                    .unit = "ns",
                    .baseline = "atomic add and subtract",
                    .reach = reach},
                   pair, 1e9 / repeats / operands, [&](const Row& r) { return r.value <= mark; });
}

std::vector<Row> scope_resident() {
  Fixture f;
  auto& t = f.tensors;
  std::array<Counter, 8> counters;
  const auto one = times([&] {
    ReadScope scope{t[0]};
    benchmark::DoNotOptimize(scope.get<0>().data());
  });
  const auto one_pin = times([&] {
    counters[0].pins.fetch_add(1);
    benchmark::DoNotOptimize(&counters);
    counters[0].pins.fetch_sub(1);
  });
  const auto eight = times([&] {
    ReadScope scope{t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7]};
    benchmark::DoNotOptimize(scope.get<7>().data());
  });
  const auto eight_pins = times([&] {
    for (auto& c : counters) c.pins.fetch_add(1);
    benchmark::DoNotOptimize(&counters);
    for (auto& c : counters) c.pins.fetch_sub(1);
  });
  std::vector<Row> rows;
  rows.push_back(row("entry + exit, one object", time_pair(one, one_pin, 15), 1, 10, "<= 10 ns"));
  rows.push_back(
      row("entry + exit, an object in a batch of 8", time_pair(eight, eight_pins, 15), 8, 8, "<= 8 ns"));
  if (std::thread::hardware_concurrency() > 1)
    rows.push_back(row("entry + exit, two threads on one object",
                       time_pair([&] { on_threads(2, one); }, [&] { on_threads(2, one_pin); }, 15), 1, 60,
                       "<= 60 ns"));
  return rows;
}

const bool registered = add_rows("scope.resident", scope_resident);

/// Compares entry and exit on one object by several threads with that by one: on as many cores as there are.
std::vector<Row> scope_shared() {
  Fixture f;
  const auto scopes = [&](int count) {
    for (int i = 0; i < count; ++i) {
      ReadScope scope{f.tensors[0]};
      benchmark::DoNotOptimize(scope.get<0>().data());
    }
  };
  const auto cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  std::vector<Row> rows;
  for (const int threads : {2, 4, 8}) {
    const int each = repeats * std::min(cores, threads) / threads;
    const auto pair =
        time_pair([&] { on_threads(threads, [&] { scopes(each); }); }, [&] { scopes(repeats); }, 15);
    rows.push_back(timed_row({.id = "scope.shared",
                              .what = "entry + exit on one object, " + std::to_string(threads) + " threads",
                              .unit = "ns",
                              .baseline = "one thread",
                              .reach = "<= 1.3 x one thread"},
                             pair, 1e9 / repeats,
                             [](const Row& r) { return r.value <= 1.3 * r.baseline_value; }));
  }
  return rows;
}

const bool shared_registered = add_rows("scope.shared", scope_shared);

Row recorded_row(std::string what, const Pair& pair) {
  return timed_row({.id = "record.scope",
                    .what = std::move(what),
                    .unit = "ns",
                    .baseline = "not recorded",
                    .reach = "<= 50 ns more"},
                   pair, 1e9 / repeats, [](const Row& r) { return r.value - r.baseline_value <= 50; });
}

/// Measures in bursts that the recording's buffers can hold.
std::vector<Row> record_scope() {
  const Recorded recorded;
  Fixture ours;
  recorded.stop();
  Fixture theirs;
  const auto one = [](Fixture& f) {
    return times([&f] {
      ReadScope scope{f.tensors[0]};
      benchmark::DoNotOptimize(scope.get<0>().data());
    });
  };
  const auto kernel = [](Fixture& f) {
    return times([&f] {
      auto& t = f.tensors;
      KernelScope k{"kernel", reads(t[0], t[1]), overwrites(t[2])};
      benchmark::DoNotOptimize(k.out(t[2]).data());
    });
  };
  const auto written = [&](Side) { ours.runtime.recorder()->flush(); };
  std::vector<Row> rows;
  rows.push_back(recorded_row("entry + exit, one object, in bursts of 200,000",
                              time_pair(one(ours), one(theirs), 15, written)));
  rows.push_back(recorded_row("entry + exit, a kernel of three, in bursts of 200,000",
                              time_pair(kernel(ours), kernel(theirs), 15, written)));
  return rows;
}

const bool record_registered = add_rows("record.scope", record_scope);

/// A thread that sleeps until it is woken, and then sleeps again.
class Sleeper {
 public:
  Sleeper() = default;
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  ~Sleeper() {
    thread_.request_stop();
    wake();
  }
  void wake() {
    {
      const std::lock_guard lock{mutex_};
      woken_ = true;
    }
    changed_.notify_one();
  }

 private:
  void run(const std::stop_token& stop) {
    std::unique_lock lock{mutex_};
    while (!stop.stop_requested()) {
      changed_.wait(lock, [&] { return woken_; });
      woken_ = false;
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false;
  std::jthread thread_{[this](const std::stop_token& stop) { run(stop); }};  // last: uses the others
};

/// Measures how long `prefetch` of 1 GiB takes to return; moving takes no time here. `others` make room for it.
Row prefetch_row(std::string what, std::size_t others) {
  Runtime runtime{
      {.tiers = {tiers::simulated("redl", 1_GiB), tiers::simulated("cxl", 64_GiB)}, .policy = "lru"}};
  const auto large = [&](std::size_t parts) {
    return Tensor<float>{runtime, Shape{(std::size_t{1} << 28) / parts}};
  };
  std::vector<Tensor<float>> tensors;
  tensors.push_back(large(1));
  for (std::size_t i = 0; i < others; ++i) tensors.push_back(large(others));
  auto& wanted = tensors.front();
  Sleeper sleeper;
  const auto prepare = [&](Side) {
    for (auto& t : tensors) WriteScope{overwrites(t)};
    runtime.end_of_step();
    runtime.manager()->quiesce();
    std::this_thread::sleep_for(std::chrono::milliseconds{1});  // so that the threads to wake are asleep
  };
  bool all_begun = true;
  const auto pair = time_pair([&] { all_begun &= prefetch(wanted) == Outcome::Done; },
                              [&] { sleeper.wake(); }, 101, prepare);
  return timed_row({.id = "scope.prefetch",
                    .what = std::move(what),
                    .unit = "us",
                    .baseline = "waking a thread",
                    .reach = "<= 20 us"},
                   pair, 1e6, [&](const Row& r) { return all_begun && r.value <= 20; });
}

std::vector<Row> scope_prefetch() {
  return {prefetch_row("1 GiB, for which one of its size leaves", 1),
          prefetch_row("1 GiB, for which 1024 leave", 1024)};
}

const bool prefetch_registered = add_rows("scope.prefetch", scope_prefetch);

Fixture& shared() {
  static Fixture fixture;
  return fixture;
}

void read_one_object(benchmark::State& state) {
  auto& t = shared().tensors;
  for (auto _ : state) {
    ReadScope scope{t[0]};
    benchmark::DoNotOptimize(scope.get<0>().data());
  }
}
BENCHMARK(read_one_object)->ThreadRange(1, 8)->UseRealTime();

void read_own(benchmark::State& state, Fixture& f) {
  auto& t = f.tensors[static_cast<std::size_t>(state.thread_index())];
  for (auto _ : state) {
    ReadScope scope{t};
    benchmark::DoNotOptimize(scope.get<0>().data());
  }
}
void read_own_object(benchmark::State& state) { read_own(state, shared()); }
BENCHMARK(read_own_object)->ThreadRange(1, 8)->UseRealTime();

/// The policy first_touch, but told of every use.
class EveryUsePolicy final : public Policy {
 public:
  std::string_view name() const noexcept override { return "every_use"; }
  WantedUses wanted_uses() const noexcept override { return WantedUses::EveryUse; }
  Placement place(const AllocationEvent&, PolicyContext&) override { return {}; }
  MissDecision on_miss(const MissEvent&, PolicyContext&) override { return {}; }
  void on_use(const UseEvent&, PolicyContext&) override { ++uses_; }

 private:
  std::uint64_t uses_ = 0;
};

/// Compare with `read_own_object`: shows the cost of reporting each use, and how many reports are dropped.
void read_own_object_every_use_told(benchmark::State& state) {
  static const bool known =
      (register_policy("every_use", [](PolicyOptions) { return std::make_unique<EveryUsePolicy>(); }), true);
  benchmark::DoNotOptimize(known);
  static Fixture f{"every_use"};
  const auto before = f.runtime.statistics();
  read_own(state, f);
  const auto after = f.runtime.statistics();
  const auto told = after.hits - before.hits, dropped = after.uses_dropped - before.uses_dropped;
  if (state.thread_index() == 0)
    state.counters["dropped_%"] = 100 * static_cast<double>(dropped) / static_cast<double>(told + dropped);
}
BENCHMARK(read_own_object_every_use_told)->ThreadRange(1, 8)->UseRealTime();

void kernel_with_three_operands(benchmark::State& state) {
  auto& t = shared().tensors;
  for (auto _ : state) {
    KernelScope kernel{"kernel", reads(t[0], t[1]), overwrites(t[2])};
    benchmark::DoNotOptimize(kernel.out(t[2]).data());
  }
}
BENCHMARK(kernel_with_three_operands);

}  // namespace
}  // namespace tier::bench
