// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/sanitized.hpp"

#ifndef TIER_TEST_SANITIZED  // sanitizers' heaps do not report their size

#include <doctest/doctest.h>
#include <malloc.h>
#include <tier/memory/tiers.hpp>
#include <tier/runtime/runtime.hpp>
#include <tier/tensor/tensor.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace tier::metadata_test {

using namespace tier::literals;

namespace {

/// Returns the bytes that the heap has given to the program.
std::size_t allocated() {
  const auto all = ::mallinfo2();
  return all.uordblks + all.hblkhd;
}

/// Compares the counted bytes with those that the heap has given out meanwhile.
void check(const char* what, std::size_t counted, std::size_t taken) {
  INFO(what << ": " << counted << " counted, " << taken << " taken");
  // A heap rounds up the many small allocations of a runtime, and threads and libraries allocate some memory once.
  CHECK(static_cast<double>(counted) > 0.8 * static_cast<double>(taken));
  CHECK(static_cast<double>(counted) < 1.1 * static_cast<double>(taken));
}

}  // namespace

TEST_CASE("metadata is what a runtime takes of the heap beside its tiers") {
  const TierSpec slow = tiers::simulated("optane", 64_GiB);
  { const Runtime once{{.tiers = {tiers::dram(64_MiB), slow}}}; }  // lets libraries allocate what they keep
  const auto before = allocated();
  Runtime runtime{{.tiers = {tiers::dram(64_MiB), slow}, .policy = "hint_aware"}};
  check("a runtime", runtime.statistics().metadata.count, allocated() - before);

  const auto empty = std::pair{runtime.statistics().metadata.count, allocated()};
  std::vector<Tensor<float>> tensors;
  constexpr std::size_t count = 20'000;
  tensors.reserve(count);
  const auto handles = allocated() - empty.second;
  for (std::size_t i = 0; i < count; ++i)
    tensors.emplace_back(runtime, Shape{64 << 10},
                         "a name that a small string has no room for " + std::to_string(i));
  check("objects", runtime.statistics().metadata.count - empty.first, allocated() - empty.second - handles);
}

}  // namespace tier::metadata_test

#endif
