// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <tier/trace/trace.hpp>

#include <array>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/message_of.hpp"
#include "support/seed.hpp"

namespace tier::trace_test {

using namespace tier::trace;

TEST_CASE("tensors are found by their ids, whichever numbers these are") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  Trace trace;
  std::vector<std::uint64_t> ids;
  for (std::uint64_t i = 0; i < 3000; ++i)
    ids.push_back(i % 3 == 0 ? i : i % 3 == 1 ? i << 40 : random() | 1);
  for (const auto id : ids) trace.declare(id, 1_B, TensorKind::Input, "x");
  for (TensorIndex i = 0; i < ids.size(); ++i) CHECK(trace.find(ids[i]) == i);
  CHECK(!trace.find(4));
  CHECK(!trace.find(~0ULL - 1));
  CHECK(!Trace{}.find(0));
}

TEST_CASE("a name that comes again is the same, and every other is another") {
  NamePool names;
  CHECK(names.add("") == 0);
  std::vector<NameIndex> places;
  for (int i = 0; i < 1000; ++i) places.push_back(names.add(std::to_string(i)));
  for (int i = 0; i < 1000; ++i) {
    CHECK(names.add(std::to_string(i)) == places[static_cast<std::size_t>(i)]);
    CHECK(names[places[static_cast<std::size_t>(i)]] == std::to_string(i));
  }
  CHECK(names.count() == 1001);
}

TEST_CASE("a kernel of eight operands takes less than 200 bytes, and a million of them no allocation each") {
  Trace trace;
  std::vector<Operand> operands;
  for (std::uint64_t i = 0; i < 8; ++i)
    operands.push_back(
        {.touched = 64_B, .tensor = trace.declare(i, 64_B, TensorKind::Parameter, "w"), .role = Role::Reads});
  const auto before = trace.memory();
  constexpr std::size_t kernels = 100'000;
  for (std::size_t i = 0; i < kernels; ++i) trace.add_kernel("conv3_f", Phase::Forward, 1e9, operands);
  CHECK(trace.memory() - before < kernels * 200_B);
  CHECK(trace.kernels().data() + 1 == &trace.kernel(trace.events()[9]));
  CHECK(trace.operands(trace.kernels()[1]).data() == trace.operands(trace.kernels()[0]).data() + 8);
}

TEST_CASE("a trace refuses tensors that it does not declare, and ids that it does, and stays as it was") {
  Trace trace;
  const auto tensor = trace.declare(7, 4_KiB, TensorKind::Parameter, "weights");
  const auto before = trace;
  const std::vector<TensorIndex> list{tensor, 1};
  const std::array operands{Operand{.touched = 1_KiB, .tensor = 1, .role = Role::Reads}};
  constexpr auto message = "tensor number 1 is out of range; the trace declares 1";
  CHECK(test::message_of<std::out_of_range>([&] { trace.add_kernel("conv", Phase::Forward, 1, operands); }) ==
        message);
  CHECK(test::message_of<std::out_of_range>([&] { trace.add_archive(list); }) == message);
  CHECK(test::message_of<std::out_of_range>([&] { trace.add_retire(list); }) == message);
  CHECK(test::message_of<std::out_of_range>([&] { trace.add(Hint{}, list); }) == message);
  CHECK(test::message_of<std::invalid_argument>([&] {
          trace.declare(7, 8_KiB, TensorKind::Parameter, "weights");
        }) == "tensor 7 is declared a second time");
  RowAccess access;
  access.count = 3;
  CHECK(test::message_of<std::invalid_argument>([&] {
          trace.add(access, std::vector<std::uint64_t>{1, 2});
        }) == "2 rows are listed, not 3");
  CHECK(test::message_of<std::out_of_range>([&] { trace.add(Migration{.tensor = 1}); }) == message);
  CHECK(test::message_of<std::out_of_range>([&] { trace.add(Fault{.tensor = 1}); }) == message);
  CHECK(test::message_of<std::out_of_range>([&] { trace.add(Placement{.tensor = 1}); }) == message);
  constexpr auto no_name = "name number 2 is out of range; the trace has 2";
  CHECK(test::message_of<std::out_of_range>([&] { trace.add(Migration{.from = 2}); }) == no_name);
  CHECK(test::message_of<std::out_of_range>([&] { trace.add(Migration{.to = 2}); }) == no_name);
  CHECK(test::message_of<std::out_of_range>([&] { trace.add(Placement{.tier = 2}); }) == no_name);
  CHECK(test::message_of<std::out_of_range>([&] { trace.add(Measurement{.placement = 2}); }) == no_name);
  CHECK(test::message_of<std::out_of_range>([&] { trace.add(Stall{.scope = 2}); }) == no_name);
  CHECK(test::message_of<std::out_of_range>([&] { trace.add(Stall{.cause = 2}); }) == no_name);
  CHECK(test::message_of<std::out_of_range>([&] { trace.add(Hint{.hint = 2}, {}); }) == no_name);
  CHECK(test::message_of<std::out_of_range>([&] { trace.add(RowAccess{.table = 2}, {}); }) == no_name);
  CHECK(trace == before);
}

}  // namespace tier::trace_test
