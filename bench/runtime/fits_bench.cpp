// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Question: what does a program pay for libtier if all its data fits fast memory?
#include "harness/rows.hpp"

#include <tier/runtime/runtime.hpp>
#include <tier/scope/scope.hpp>
#include <tier/tensor/tensor.hpp>

#include <benchmark/benchmark.h>
#include <sys/mman.h>
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace tier::bench {
namespace {

using namespace tier::literals;

constexpr std::size_t elements = 4096;  // eight operands of 16 KiB: about 10 us a kernel
constexpr std::size_t operands = 8;
constexpr int kernels = 500;

/// Reads six operands, updates one, overwrites one.
[[gnu::noinline]] void kernel(const std::array<const float*, 6>& in, float* updated, float* out) {
  for (int pass = 0; pass < 2; ++pass) {
    for (std::size_t i = 0; i < elements; ++i) {
      const float sum = in[0][i] * in[1][i] + in[2][i] * in[3][i] + in[4][i] * in[5][i];
      updated[i] = updated[i] * 0.5F + sum;
      out[i] = sum - updated[i];
    }
  }
}

std::vector<Row> fits_overhead() {
  Runtime runtime{{.tiers = {tiers::dram(16_MiB)}, .policy = "hint_aware"}};
  std::vector<Tensor<float>> t;
  for (std::size_t i = 0; i < operands; ++i) t.emplace_back(runtime, Shape{elements});
  for (auto& tensor : t) {
    WriteScope fill{overwrites(tensor)};
    std::fill_n(fill.get<0>().data(), elements, 0.25F);
  }
  // The same work on plain memory: huge pages, faulted in, at the same distances.
  constexpr std::size_t bytes = 2 << 20;
  auto* memory = static_cast<float*>(::aligned_alloc(bytes, bytes));
  ::madvise(memory, bytes, MADV_HUGEPAGE);
  std::fill_n(memory, bytes / sizeof(float), 0.25F);
  std::array<float*, operands> plain{};
  for (std::size_t i = 0; i < operands; ++i) plain[i] = memory + i * elements;

  const auto ours = [&] {
    for (int i = 0; i < kernels; ++i) {
      KernelScope k{"kernel", reads(t[0], t[1], t[2], t[3], t[4], t[5]), updates(t[6]), overwrites(t[7])};
      kernel({k.in(t[0]).data(), k.in(t[1]).data(), k.in(t[2]).data(), k.in(t[3]).data(), k.in(t[4]).data(),
              k.in(t[5]).data()},
             k.out(t[6]).data(), k.out(t[7]).data());
    }
  };
  const auto theirs = [&] {
    for (int i = 0; i < kernels; ++i)
      kernel({plain[0], plain[1], plain[2], plain[3], plain[4], plain[5]}, plain[6], plain[7]);
  };
  const Pair pair = time_pair(ours, theirs, 21);
  const Row row = timed_row({.id = "fits.overhead",
                             .what = "a loop of kernels with 8 operands",
                             .unit = "us",
                             .baseline = "plain memory",
                             .reach = "<= 1.02"},
                            pair, 1e6 / kernels, [](const Row& r) { return r.ratio <= 1.02; });
  std::free(memory);
  return {row};
}

const bool registered = add_rows("fits.overhead", fits_overhead);

}  // namespace
}  // namespace tier::bench
