// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/pmr/container_scopes.hpp>
#include <tier/pmr/migrating_resource.hpp>
#include <tier/runtime/runtime.hpp>
#include <tier/scope/scope.hpp>

#include <cstdio>
#include <numeric>
#include <unordered_map>
#include <vector>
using namespace tier::literals;
using tier::tiers::dram, tier::tiers::file;

int main() {
  tier::Runtime runtime{{.tiers = {dram(16_MiB), file("/var/tmp", 1_GiB)}}};
  tier::MigratingResource memory{runtime};

  // From here on as with any other resource: 80 MB of lists, over 16 MiB of fast memory.
  std::pmr::unordered_map<int, std::pmr::vector<int>> lists{&memory};
  for (int key = 0; key < 100; ++key) lists[key].assign(200'000, key);
  const int* const pointer = &lists[7].front();

  long long sum = 0;
  for (const auto& [key, list] : lists) {
    const tier::ReadScope in{
        list};  // optional: all its blocks at once, instead of one by one as they are touched
    sum += std::accumulate(list.begin(), list.end(), 0LL);
  }
  std::printf("%lld, and element 7 is where it was: %s\n", sum, pointer == &lists[7].front() ? "yes" : "no");
}
