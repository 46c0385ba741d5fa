// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Question: what rates of reads and writes does this disk reach at once, by block, share of writes and depth?
#include "harness/disk_rates.hpp"

#include <benchmark/benchmark.h>
#include <cstdlib>

namespace tier::bench {
namespace {

void disk(benchmark::State& state) {
  const char* folder = std::getenv("TIER_BENCH_DIR");
  const DiskMix mix{.block = Bytes{static_cast<std::size_t>(state.range(0))},
                    .write_share = static_cast<double>(state.range(1)) / 100,
                    .depth = static_cast<unsigned>(state.range(2))};
  for (auto _ : state) {
    const auto rates = measure_disk(folder != nullptr ? folder : ".", mix);
    state.counters["read_MB/s"] = rates.read / 1e6;
    state.counters["write_MB/s"] = rates.write / 1e6;
  }
}

BENCHMARK(disk)
    ->ArgNames({"block", "writes_%", "depth"})
    ->ArgsProduct({{4096, 65536}, {0, 50, 100}, {1, 16, 32, 64}})
    ->Iterations(1)
    ->Unit(benchmark::kSecond);

}  // namespace
}  // namespace tier::bench
