// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Question: does a large copy run at the speed of memory, whichever threads carry it out?
#include "copy/cold_copies.hpp"
#include "harness/engine_copies.hpp"
#include "harness/rows.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace tier::bench {
namespace {

constexpr std::size_t walk = 128 << 20;  // one sample: some milliseconds

/// Times our copies against `loop` with equally many threads, each copying `walk` bytes in steps of `size`.
Pair copies_against(const Loop& loop, std::size_t size, unsigned threads) {
  auto& memory = ColdMemory::instance();
  CopyEngine engine{{.threads = threads, .movers = 0}};
  Team team{threads};
  const auto for_each_step = [&](auto copy) {
    for (std::size_t done = 0; done < walk; done += size) copy(memory.next(size));
  };
  const auto ours = [&] {
    for_each_step([&](std::size_t at) { run_copy(engine, memory.to(at), memory.from(at), size); });
  };
  const auto theirs = [&] {
    for_each_step([&](std::size_t at) { team.copy(loop, memory.destination(at), memory.source(at), size); });
  };
  const auto prepare = [&](Side side) {
    side == Side::Ours ? team.rest() : team.wake();
    std::this_thread::sleep_for(
        std::chrono::milliseconds{2});  // meanwhile the other side's threads go to sleep
  };
  return time_pair(ours, theirs, 15, prepare);
}

Row copy_row(const Loop& loop, double mark, const char* reach, std::size_t size, unsigned threads) {
  const Pair pair = copies_against(loop, size, threads);
  const auto rate = [](const Timings& timings) { return double(walk) / timings.median() / 1e9; };
  const double ours = rate(pair.ours), theirs = rate(pair.baseline);
  const std::string what =
      "copy of " + to_human(Bytes{size}) + ", both sides cold, threads: " + std::to_string(threads);
  return checked_row({.id = "copy.large",
                      .what = what,
                      .value = ours,
                      .unit = "GB/s",
                      .baseline = loop.name,
                      .baseline_value = theirs,
                      .ratio = ours / theirs,
                      .reach = reach,
                      .reached = ours / theirs >= mark},
                     pair);
}

/// Prints both sides in cache for comparison, without a mark.
void print_warm() {
  constexpr std::size_t size = 1 << 20, copies = 1000;
  const auto& memory = ColdMemory::instance();
  CopyEngine engine{{.threads = 1, .movers = 0}};
  const auto repeat = [&](auto copy) {
    for (std::size_t i = 0; i < copies; ++i) copy();
  };
  const Pair pair =
      time_pair([&] { repeat([&] { run_copy(engine, memory.to(0), memory.from(0), size, true); }); },
                [&] { repeat([&] { memcpy_loop().copy(memory.destination(0), memory.source(0), size); }); });
  const auto rate = [](const Timings& timings) { return double(size * copies) / timings.median() / 1e9; };
  std::printf("copy.large: copy of 1 MiB, both sides warm, threads: 1: ours %.1f GB/s, memcpy %.1f GB/s\n",
              rate(pair.ours), rate(pair.baseline));
}

std::vector<Row> copy_large() {
  std::vector<Row> rows;
  const unsigned most = std::min(8U, std::max(1U, std::thread::hardware_concurrency()));
  for (unsigned threads : {1U, most}) {
    if (threads == 1 && !rows.empty()) break;  // the machine has one CPU
    for (std::size_t size : {std::size_t{2} << 20, std::size_t{64} << 20}) {
      rows.push_back(copy_row(best_streaming_loop(threads), 0.95, ">= 0.95", size, threads));
      rows.push_back(copy_row(memcpy_loop(), 1.4, ">= 1.4", size, threads));
    }
  }
  ColdMemory::instance().check(64 << 20);
  print_warm();
  return rows;
}

const bool added = add_rows("copy.large", copy_large);

}  // namespace
}  // namespace tier::bench
