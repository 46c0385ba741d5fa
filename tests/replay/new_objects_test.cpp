// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  CachedArrays' mode 0: new objects start in slow memory and are copied before use.
#include "machines.hpp"
#include "random_steps.hpp"
#include "support/seed.hpp"

#include <tier/replay/replay.hpp>
#include <tier/runtime/policies.hpp>

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

namespace tier::new_objects_test {

using namespace tier::test;

namespace {

replay::Result run(const trace::Trace& trace, Bytes fast, const std::string& mode, bool copies) {
  const auto make = [&](const FutureUses&) { return make_policy("hint_aware:free=0,mode=" + mode); };
  return replay::run(trace, small_machine(), {{"fast", fast}, {"slow", 1_GiB}}, make,
                     {.asynchronous = false, .copies_new_objects = copies});
}

std::uint64_t copied(const replay::Result& r, TierIndex from, TierIndex to) {
  std::uint64_t bytes = 0;
  for (const auto& moved : r.copied)
    if (moved.from == from && moved.to == to) bytes += moved.bytes;
  return bytes;
}

}  // namespace

TEST_CASE(
    "where new objects are copied before use, each costs a copy from slow memory, and kernels write in fast "
    "memory") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  const auto trace = random_steps(random, {.kernels = 300, .retires_parameters = false});
  std::uint64_t created = 0, written = 0;
  for (const auto& kernel : trace.kernels())
    for (const auto& o : trace.operands(kernel)) {
      if (o.role == trace::Role::Creates) created += o.touched.count;
      if (o.role != trace::Role::Reads) written += o.touched.count;
    }
  const auto all_fits = run(trace, 1_GiB, "0", true);
  CHECK(copied(all_fits, 1, 0) == created);
  CHECK(copied(all_fits, 0, 1) == 0);
  CHECK(all_fits.traffic.at(0).written_by_kernels == written);
  CHECK(all_fits.inputs_fast_share == 1);
  CHECK(all_fits.outputs_fast_share == 1);
  CHECK(all_fits.waiting > 0);
  CHECK(copied(run(trace, 1_GiB, "L", false), 1, 0) == 0);
}

TEST_CASE(
    "with little fast memory mode 0 moves more than L, L more than LM, and kernels read and write the same") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  const auto trace = random_steps(random, {.kernels = 500, .smallest = 200'000});
  const auto zero = run(trace, 12_MiB, "0", true), local = run(trace, 12_MiB, "L", false),
             early = run(trace, 12_MiB, "LM", false);
  const auto by_kernels = [](const replay::Result& r) {
    double sum = 0;
    for (const auto& t : r.traffic) sum += static_cast<double>(t.read_by_kernels + t.written_by_kernels);
    return sum;
  };
  CHECK(by_kernels(zero) == doctest::Approx(by_kernels(early)).epsilon(1e-9));
  CHECK(by_kernels(local) == doctest::Approx(by_kernels(early)).epsilon(1e-9));
  CHECK(copied(zero, 1, 0) > copied(local, 1, 0));
  CHECK(copied(local, 0, 1) > copied(early, 0, 1));
}

}  // namespace tier::new_objects_test
