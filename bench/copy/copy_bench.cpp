// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Questions: from which size on do our copies run at the speed of memory, cold and warm? What does a second thread gain?
// How fast are the other directions, relative to the device's speed?
#include "copy/cold_copies.hpp"
#include "harness/engine_copies.hpp"

#include <tier/copy/copy_engine.hpp>
#include <tier/memory/tiers.hpp>

#include <benchmark/benchmark.h>
#include <algorithm>
#include <cstdlib>
#include <deque>
#include <string>
#include <thread>
#include <vector>

namespace tier::bench {
namespace {

void count_bytes(benchmark::State& state, std::size_t size) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(size));
}

/// Places to copy from: always others (cold), or always the same (warm).
class Places {
 public:
  Places(std::size_t size, bool warm) : size_{size}, warm_{warm} {}
  std::size_t next() noexcept { return warm_ ? 0 : ColdMemory::instance().next(size_); }

 private:
  std::size_t size_;
  bool warm_;
};

void by_loop(benchmark::State& state, bool streaming, bool warm) {
  const auto size = static_cast<std::size_t>(state.range(0));
  const auto threads = static_cast<unsigned>(state.range(1));
  const Loop& loop = streaming ? best_streaming_loop(threads) : memcpy_loop();
  const auto& memory = ColdMemory::instance();
  Team team{threads};
  Places places{size, warm};
  for (auto _ : state) {
    const auto at = places.next();
    team.copy(loop, memory.destination(at), memory.source(at), size);
  }
  state.SetLabel(loop.name);
  count_bytes(state, size);
}

void by_engine(benchmark::State& state, bool warm) {
  const auto size = static_cast<std::size_t>(state.range(0));
  const auto& memory = ColdMemory::instance();
  CopyEngine engine{{.threads = static_cast<unsigned>(state.range(1)), .movers = 0}};
  Places places{size, warm};
  for (auto _ : state) {
    const auto at = places.next();
    run_copy(engine, memory.to(at), memory.from(at), size, warm);
  }
  state.SetLabel("ours");
  count_bytes(state, size);
}

/// Returns the folder for a file tier: TIER_BENCH_DIR, or else the current one.
std::string scratch_directory() {
  const char* given = std::getenv("TIER_BENCH_DIR");
  return given != nullptr ? given : ".";
}

/// Copies 64 MiB between memory and a device, in tasks of the given size.
void by_device(benchmark::State& state, const TierSpec& spec, Direction direction) {
  constexpr std::size_t total = 64 << 20;
  const auto size = static_cast<std::size_t>(state.range(0));
  const auto device = make_tier(spec);
  if (spec.kind == TierKind::File && !device->direct_io()) {
    state.SkipWithError(("no direct I/O: " + device->description()).c_str());
    return;
  }
  if (device->reserve(0, total)) {
    state.SkipWithError("no room for the file");
    return;
  }
  const auto memory = make_tier(tiers::dram(Bytes{total}));
  CopyEngine engine{{}};
  run_copy(engine, {device.get(), 0}, {memory.get(), 0}, total);  // so that reads find written blocks
  for (auto _ : state) {
    for (std::size_t group = 0; group < total; group += 64 * size) {
      std::deque<PlainTask> tasks;
      std::vector<CopyTask*> all;
      for (std::size_t at = group; at < std::min(total, group + 64 * size); at += size) {
        const TierRange there{device.get(), at}, here{memory.get(), at};
        all.push_back(direction == Direction::Read ? &tasks.emplace_back(here, there, size)
                                                   : &tasks.emplace_back(there, here, size));
      }
      engine.run(all);
    }
  }
  state.SetLabel(device->description());
  count_bytes(state, total);
}

bool add_benchmarks() {
  const auto machine = static_cast<std::int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  const auto add = [&](const char* name, auto body) {
    auto* added =
        benchmark::RegisterBenchmark(name, body)->ArgNames({"size", "threads"})->UseRealTime()->MinTime(0.1);
    for (std::int64_t threads = 1; threads <= std::min<std::int64_t>(8, machine); threads *= 2)
      for (std::int64_t size = 16 << 10; size <= 64 << 20; size *= 4) added->Args({size, threads});
  };
  for (bool warm : {false, true}) {
    const std::string suffix = warm ? "/warm" : "/cold";
    add(("memcpy" + suffix).c_str(), [=](auto& state) { by_loop(state, false, warm); });
    add(("best_streaming_loop" + suffix).c_str(), [=](auto& state) { by_loop(state, true, warm); });
    add(("copy_engine" + suffix).c_str(), [=](auto& state) { by_engine(state, warm); });
  }
  for (const TierSpec& spec : {tiers::file(scratch_directory(), 64_MiB), tiers::emulated("optane", 64_MiB),
                               tiers::emulated("cxl", 64_MiB), tiers::emulated("nvme", 64_MiB)}) {
    const std::string device = spec.kind == TierKind::File ? "file" : spec.model;
    for (Direction direction : {Direction::Read, Direction::Write}) {
      const auto name = device + (direction == Direction::Read ? ">memory" : "<memory");
      benchmark::RegisterBenchmark(name.c_str(), [=](auto& state) { by_device(state, spec, direction); })
          ->ArgName("size")
          ->Arg(64 << 10)
          ->Arg(16 << 20)
          ->UseRealTime()
          ->MinTime(0.1);
    }
  }
  return true;
}

const bool added = add_benchmarks();

}  // namespace
}  // namespace tier::bench
