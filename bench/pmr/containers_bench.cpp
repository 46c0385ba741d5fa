// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Question: what do standard containers gain or pay if their memory comes from a PoolResource?
#include <benchmark/benchmark.h>
#include <tier/pmr/pool_resource.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <list>
#include <map>
#include <memory_resource>
#include <string>
#include <vector>

#include "allocators/allocators.hpp"
#include "container_workloads.hpp"
#include "harness/rows.hpp"
#include "random.hpp"

namespace tier::bench {
namespace {

template <class Memory>
void churn_list(const Memory& memory) {
  std::list<std::uint64_t, typename Memory::template Allocator<std::uint64_t>> list(
      20'000, 1, memory.template get<std::uint64_t>());
  Random random{3};
  auto at = list.begin();
  for (std::uint64_t i = 0; i < 300'000; ++i) {
    if (at == list.end()) at = list.begin();
    if (random.below(2) == 0)
      list.insert(at, i);
    else
      at = list.erase(at);
    if (at != list.end()) ++at;
  }
  benchmark::DoNotOptimize(list.size());
}

template <class Memory>
void churn_map(const Memory& memory) {
  using Entry = std::pair<const std::uint64_t, std::uint64_t>;
  std::map<std::uint64_t, std::uint64_t, std::less<>, typename Memory::template Allocator<Entry>> map(
      memory.template get<Entry>());
  Random random{4};
  for (std::uint64_t i = 0; i < 20'000; ++i) map.emplace(random.below(100'000), i);
  for (std::uint64_t i = 0; i < 50'000; ++i) {
    const auto found = map.lower_bound(random.below(100'000));
    if (found != map.end()) map.erase(found);
    map.emplace(random.below(100'000), i);
  }
  benchmark::DoNotOptimize(map.size());
}

template <class Memory>
void replace_strings(const Memory& memory) {
  using String = std::basic_string<char, std::char_traits<char>, typename Memory::template Allocator<char>>;
  const String empty(memory.template get<char>());
  std::vector<String, typename Memory::template Allocator<String>> strings(20'000, empty,
                                                                           memory.template get<String>());
  Random random{5};
  for (int i = 0; i < 200'000; ++i) {
    String text(8 + random.below(200), 'x', memory.template get<char>());
    text.append(16, 'y');
    strings[random.below(strings.size())].swap(text);
  }
  benchmark::DoNotOptimize(strings.data());
}

struct Workload {
  const char* name;
  void (*plain)(const Plain&);
  void (*over)(const Over&);
};

constexpr std::array workloads{
    Workload{"vectors grow", &grow_small_vectors, &grow_small_vectors},
    Workload{"unordered_map: build, probe", &build_and_probe_hash_map, &build_and_probe_hash_map},
    Workload{"list: insert, erase", &churn_list, &churn_list},
    Workload{"map: insert, erase", &churn_map, &churn_map},
    Workload{"strings are replaced", &replace_strings, &replace_strings},
};

double of_plain(const Pair& pair) { return pair.ours.median() / pair.baseline.median(); }

Pair time_over(const Workload& workload, std::pmr::memory_resource& resource) {
  return time_pair([&] { workload.over({&resource}); }, [&] { workload.plain({}); }, 15);
}

void print_others(const Workload& workload) {
  std::printf(
      "pmr.containers: %s: over malloc %.2f, mimalloc %.2f, jemalloc %.2f, oneTBB %.2f of plain std\n",
      workload.name, of_plain(time_over(workload, *std::pmr::new_delete_resource())),
      of_plain(time_over(workload, mimalloc())), of_plain(time_over(workload, jemalloc())),
      of_plain(time_over(workload, tbbmalloc())));
}

Row row(const Workload& workload, const char* baseline, const Pair& pair) {
  return timed_row(
      {.id = "pmr.containers", .what = workload.name, .unit = "ms", .baseline = baseline, .reach = "<= 1"},
      pair, 1e3, [](const Row& r) { return r.ratio <= 1; });
}

Row against_plain(const Workload& workload) {
  PoolResource pool{std::pmr::new_delete_resource()};
  return row(workload, "plain std", time_over(workload, pool));
}

/// Measures the bound of the other row: unless its allocator is `std::allocator`, the standard library moves a vector's
/// elements one by one, and no resource can make up for that.
Row against_malloc(const Workload& workload) {
  PoolResource pool{std::pmr::new_delete_resource()};
  return row(workload, "std::pmr over malloc",
             time_pair([&] { workload.over({&pool}); },
                       [&] { workload.over({std::pmr::new_delete_resource()}); }, 15));
}

std::vector<Row> pmr_containers() {
  require_the_systems_malloc();
  make_malloc_keep_its_pages();  // as ours does, so that faults are not measured
  std::vector<Row> rows;
  for (const auto& workload : workloads) {
    print_others(workload);
    rows.push_back(against_plain(workload));
    rows.push_back(against_malloc(workload));
  }
  return rows;
}

const bool registered = add_rows("pmr.containers", pmr_containers);

}  // namespace
}  // namespace tier::bench
