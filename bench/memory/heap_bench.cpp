// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Question: does allocating a region stay cheap, however many are live?
#include "harness/rows.hpp"

#include <tier/memory/region_heap.hpp>

#include <benchmark/benchmark.h>
#include <malloc.h>
#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace tier::bench {
namespace {

using namespace tier::literals;

/// A heap with `live` regions of 64 KiB to 1 GiB (log-uniform), any of which may be replaced. It stands for a tier of any
/// size: its metadata is out of band and no memory is behind it, as with a `simulated` tier.
class Churn {
 public:
  explicit Churn(std::size_t live) : heap_{Bytes{live * mean_size * 2}, 4_KiB}, slots_(live) {
    for (auto& slot : slots_) slot = allocate();
  }
  /// Frees a region and allocates another.
  void replace() {
    auto& slot = slots_[random_() % slots_.size()];
    heap_.free(slot);
    slot = allocate();
  }
  [[nodiscard]] double metadata_each() const {
    return static_cast<double>(heap_.metadata().count) / static_cast<double>(slots_.size());
  }
  [[nodiscard]] std::uint64_t failures() const { return failures_; }

 private:
  static constexpr std::size_t mean_size = 112 << 20;  // of 2^16 to 2^30, log-uniform

  RegionHeap::Slot allocate() {
    const std::size_t power = 16 + random_() % 14;
    const auto size = Bytes{(std::size_t{1} << power) + random_() % (std::size_t{1} << power)};
    const auto slot = heap_.allocate(size, 4096, this);
    failures_ += slot == RegionHeap::none;
    return slot;
  }

  RegionHeap heap_;
  std::mt19937_64 random_{42};
  std::vector<RegionHeap::Slot> slots_;
  std::uint64_t failures_ = 0;
};

constexpr int operations = 20'000;

Row heap_row(std::size_t live, double mark) {
  Churn churn{live};
  std::mt19937_64 random{42};
  // Keeps malloc from mapping and unmapping pages: that would measure faults, not the allocator.
  ::mallopt(M_MMAP_THRESHOLD, 1 << 30);
  ::mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  std::vector<void*> blocks(1000);
  for (auto& block : blocks) block = ::operator new(64 << 10);
  const auto ours = [&] {
    for (int i = 0; i < operations; ++i) churn.replace();
  };
  const auto theirs = [&] {
    for (int i = 0; i < operations; ++i) {
      auto& block = blocks[random() % blocks.size()];
      ::operator delete(block);
      block = ::operator new((64 << 10) + random() % 1024);
    }
  };
  for (int warm_up = 0; warm_up < 100; ++warm_up) theirs();
  const Pair pair = time_pair(ours, theirs, 9);
  for (void* block : blocks) ::operator delete(block);
  const auto ns = [](const Timings& t) { return t.median() / operations * 1e9; };
  const double metadata = churn.metadata_each();
  const bool reached = ns(pair.ours) <= mark && metadata <= 128 && churn.failures() == 0;
  return checked_row(
      {.id = "heap.object",
       .what = "allocate + free, " + std::to_string(live) + " live regions of 64 KiB to 1 GiB, " +
               std::to_string(static_cast<int>(metadata)) + " B of metadata each",
       .value = ns(pair.ours),
       .unit = "ns",
       .baseline = "operator new, 1000 live of 64 KiB",
       .baseline_value = ns(pair.baseline),
       .ratio = ns(pair.ours) / ns(pair.baseline),
       .reach = "<= " + std::to_string(static_cast<int>(mark)) + " ns, <= 128 B",
       .reached = reached},
      pair);
}

std::vector<Row> heap_object() {
  return {heap_row(1'000, 500), heap_row(100'000, 500), heap_row(10'000'000, 1000)};
}

const bool registered = add_rows("heap.object", heap_object);

void replace_a_region(benchmark::State& state) {
  Churn churn{static_cast<std::size_t>(state.range(0))};
  for (auto _ : state) churn.replace();
  state.counters["metadata"] = churn.metadata_each();
}
BENCHMARK(replace_a_region)->Arg(1'000)->Arg(100'000)->Arg(10'000'000);

}  // namespace
}  // namespace tier::bench
