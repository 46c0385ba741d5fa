// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Question: what do containers pay for a MigratingResource if all that they hold fits fast memory? Programs of std::pmr
// already pay what std::pmr costs over malloc. Part of plain std's lead comes from the standard library, which grows a
// vector by memcpy only for its own allocator.
#include <malloc.h>
#include <sys/mman.h>
#include <tier/pmr/migrating_resource.hpp>
#include <tier/runtime/runtime.hpp>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory_resource>
#include <vector>

#include "harness/rows.hpp"
#include "pmr/container_workloads.hpp"

namespace tier::bench {
namespace {

using namespace literals;

constexpr Bytes memory = 256_MiB;  // many times what any of them takes

template <class Memory>
void grow_large_vectors(const Memory& resource) {
  grow_vectors(resource, 64, std::size_t{2} << 20);
}

struct Workload {
  const char* name;
  void (*plain)(const Plain&);
  void (*over)(const Over&);
};
constexpr std::array workloads{
    Workload{"vectors grow, to 32 KiB at most", &grow_small_vectors, &grow_small_vectors},
    Workload{"vectors grow, to 8 MiB at most", &grow_large_vectors, &grow_large_vectors},
    Workload{"unordered_map: build, probe", &build_and_probe_hash_map, &build_and_probe_hash_map},
};

/// Makes malloc's memory like that of a tier: on huge pages if the system gives them, faulted in, and kept.
void make_malloc_like_a_tier() {
  make_malloc_keep_its_pages();
  auto* const whole = static_cast<std::byte*>(std::malloc(memory.count));
  constexpr std::uintptr_t page = 2 << 20;
  const auto into = reinterpret_cast<std::uintptr_t>(whole) % page;
  ::madvise(whole + page - into, memory.count - page, MADV_HUGEPAGE);
  std::memset(whole, 1, memory.count);
  std::free(whole);
}

Row row(const Workload& workload, const char* baseline, const Pair& pair) {
  return timed_row(
      {.id = "fits.pmr", .what = workload.name, .unit = "ms", .baseline = baseline, .reach = "<= 1.02"}, pair,
      1e3, [](const Row& r) { return r.ratio <= 1.02; });
}

std::vector<Row> fits_pmr() {
  make_malloc_like_a_tier();
  const Runtime runtime{{.tiers = {tiers::dram(memory)}}};
  MigratingResource resource{runtime};
  std::vector<Row> rows;
  for (const auto& workload : workloads) {
    const auto ours = [&] { workload.over({&resource}); };
    const auto same_containers = [&] { workload.over({std::pmr::new_delete_resource()}); };
    const auto plain = [&] { workload.plain({}); };
    rows.push_back(row(workload, "std::pmr over malloc", time_pair(ours, same_containers, 15)));
    rows.push_back(row(workload, "plain std", time_pair(ours, plain, 15)));
  }
  return rows;
}

const bool registered = add_rows("fits.pmr", fits_pmr);

}  // namespace
}  // namespace tier::bench
