// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Question: from which size on should an allocation be an object of its own rather than a cell of a slab?
#include <benchmark/benchmark.h>
#include <tier/memory/tiers.hpp>
#include <tier/pmr/arena_resource.hpp>
#include <tier/pmr/migrating_resource.hpp>
#include <tier/runtime/runtime.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory_resource>
#include <vector>

#include "pmr/window_memory.hpp"
#include "random.hpp"

namespace tier::bench {
namespace {

using namespace literals;

/// Allocations of three quarters of a size up to that size, 32 MiB in all, which are replaced at random and written.
class Replacements {
 public:
  Replacements(std::pmr::memory_resource& resource, std::size_t most)
      : resource_{resource}, most_{most}, live_((32_MiB).count / most) {
    for (auto& a : live_) a = allocate();
    for (std::size_t i = 0; i < 20 * live_.size(); ++i) replace();  // until sizes are well mixed
  }
  ~Replacements() {
    for (const auto& a : live_) resource_.deallocate(a.p, a.size);
  }
  Replacements(const Replacements&) = delete;
  Replacements& operator=(const Replacements&) = delete;

  void replace() {
    auto& a = live_[random_.below(live_.size())];
    resource_.deallocate(a.p, a.size);
    a = allocate();
  }
  [[nodiscard]] double count() const { return static_cast<double>(live_.size()); }
  [[nodiscard]] double asked() const {
    double bytes = 0;
    for (const auto& a : live_) bytes += static_cast<double>(a.size);
    return bytes;
  }

 private:
  struct Allocation {
    void* p = nullptr;
    std::size_t size = 0;
  };
  Allocation allocate() {
    const auto size = most_ - random_.below(most_ / 4);
    void* const p = resource_.allocate(size);
    std::memset(p, 1, size);
    return {p, size};
  }

  std::pmr::memory_resource& resource_;
  std::size_t most_;
  Random random_{1};
  std::vector<Allocation> live_;
};

Runtime one_tier() { return Runtime{{.tiers = {tiers::dram(256_MiB)}}}; }

void replace_all_the_time(benchmark::State& state, const Runtime& runtime,
                          std::pmr::memory_resource& resource) {
  Replacements replacements{resource, static_cast<std::size_t>(state.range(0)) << 10};
  for (auto _ : state) replacements.replace();
  const auto statistics = runtime.statistics();
  state.counters["mapped/asked"] = static_cast<double>(statistics.tiers[0].used.count) / replacements.asked();
  state.counters["blocks/each"] = static_cast<double>(statistics.blocks) / replacements.count();
}

void cells_of_slabs(benchmark::State& state) {
  auto runtime = one_tier();
  MigratingResource memory{runtime};
  replace_all_the_time(state, runtime, memory);
}
BENCHMARK(cells_of_slabs)->Arg(8)->Arg(16)->Arg(24)->Arg(32);

/// A slab would hold only one allocation of 48 or 64 KiB; larger blocks, as here, could hold more as cells.
void pieces_of_an_arena(benchmark::State& state) {
  auto runtime = one_tier();
  ArenaResource arena{runtime, 128_MiB};
  replace_all_the_time(state, runtime, arena);
}
BENCHMARK(pieces_of_an_arena)->Arg(48)->Arg(64);

void objects_of_their_own(benchmark::State& state) {
  auto runtime = one_tier();
  detail::WindowMemory windows{runtime.manager(), "own"};
  replace_all_the_time(state, runtime, windows);
}
BENCHMARK(objects_of_their_own)->Arg(8)->Arg(16)->Arg(24)->Arg(32)->Arg(48)->Arg(64);

}  // namespace
}  // namespace tier::bench
