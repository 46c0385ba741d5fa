// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Tensors with windows whose contents are retired: an overwrite gets all blocks back, a read throws.
#include <doctest/doctest.h>
#include <tier/core/error.hpp>
#include <tier/policy/policy.hpp>
#include <tier/scope/hints.hpp>
#include <tier/tensor/tensor.hpp>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "support/message_of.hpp"
#include "support/test_manager.hpp"
#include "support/windows.hpp"

namespace tier::retired_windows_test {
namespace {

using namespace literals;
using test::make_manager;

const Shape shape{1024, 1024};  // 4 MiB

class FreesLate final : public Policy {
 public:
  std::string_view name() const noexcept override { return "frees late"; }
  bool frees_early() const noexcept override { return false; }
  Placement place(const AllocationEvent&, PolicyContext&) override { return {0, true}; }
  MissDecision on_miss(const MissEvent&, PolicyContext&) override { return {0, false}; }
};

/// Stores to every element through the unchanging address, whichever blocks the scope has fetched.
void fill(TensorView<float> view, float value) { std::ranges::fill(view.elements(), value); }
bool holds(const Tensor<float>& tensor, float value) {
  const ReadScope in{tensor};
  return std::ranges::all_of(in[tensor].elements(), [&](float x) { return x == value; });
}

}  // namespace

TEST_CASE("a retired tensor of more than scopes may keep in place is overwritten as a whole") {
  for (const auto mode : test::window_modes()) {
    CAPTURE(to_string(mode));
    const auto manager = make_manager({tiers::dram(4_MiB), tiers::emulated("cxl", 16_MiB)}, mode);
    Tensor<float> x{manager, shape, windowed, "large"};
    for (const float value : {1.0F, 2.0F}) {
      {
        WriteScope out{overwrites(x)};
        fill(out[x], value);
      }
      CHECK(holds(x, value));
      retire(x);
      manager->check_invariants();
    }
  }
}

TEST_CASE("a retired tensor among others of a number known at run time is overwritten as a whole") {
  for (const auto mode : test::window_modes()) {
    CAPTURE(to_string(mode));
    const auto manager = make_manager({tiers::dram(16_MiB), tiers::emulated("cxl", 16_MiB)}, mode);
    Tensor<float> x{manager, shape, windowed, "x"}, y{manager, shape, windowed, "y"};
    for (const float value : {1.0F, 2.0F}) {
      retire(x);
      retire(y);
      {
        const std::vector<ObjectRef> by_reference{x.object()};
        const std::vector<Tensor<float>*> by_pointer{&y};
        const WriteScope out{overwrites(by_reference), overwrites(by_pointer)};
        fill(out.out(x), value);
        fill(out.out(y), value);
      }
      CHECK(holds(x, value));
      CHECK(holds(y, value));
      manager->check_invariants();
    }
    retire(x);
    const std::vector<ObjectRef> gone{x.object()};
    CHECK_THROWS_AS(std::ignore = ReadScope{reads(gone)}, TierError);
  }
}

TEST_CASE("rows of a retired tensor are overwritten, up to the middle of a block") {
  for (const auto mode : test::window_modes()) {
    CAPTURE(to_string(mode));
    const auto manager = make_manager({tiers::dram(16_MiB), tiers::emulated("cxl", 16_MiB)}, mode);
    Tensor<float> x{manager, shape, windowed, "rows"};
    retire(x);
    for (const auto& [begin, end] : {std::pair{0U, 700U}, std::pair{700U, 1024U}}) {
      WriteScope out{overwrites(x.rows(begin, end))};
      std::ranges::fill(out[x.rows(begin, end)].elements(), 3.0F);
    }
    CHECK(holds(x, 3));
    manager->check_invariants();
  }
}

TEST_CASE("who reads or updates a retired tensor with a window is told") {
  for (const auto mode : test::window_modes()) {
    CAPTURE(to_string(mode));
    const auto manager = make_manager({tiers::dram(16_MiB), tiers::emulated("cxl", 16_MiB)}, mode);
    Tensor<float> x{manager, shape, windowed, "gone"}, y{manager, shape, windowed, "there"};
    retire(x);
    const std::string expected = "only a scope that overwrites can be opened on a retired object: gone";
    CHECK(test::message_of([&] { std::ignore = ReadScope{x}; }).starts_with(expected));
    CHECK(test::message_of([&] { std::ignore = WriteScope{x}; }).starts_with(expected));
    CHECK(test::message_of([&] { std::ignore = ReadScope{y, x.rows(5, 6)}; }).starts_with(expected));
    const Tensor<float> plain{manager, {64}, "plain"};
    CHECK(test::message_of([&] { std::ignore = ReadScope{plain, x}; }).starts_with(expected));
    CHECK(plain.object().object->block->pins() == 0);
    CHECK(test::message_of([&] { std::ignore = WriteScope{updates(x.rows(0, 900))}; }).starts_with(expected));
    {
      WriteScope out{overwrites(y)};
      fill(out[y], 4);
    }
    migrate(y.rows(0, 1024), 1);  // nothing is pinned
    CHECK(holds(y, 4));
    manager->check_invariants();
  }
}

TEST_CASE("where all tiers are full, a scope that overwrites what is retired throws, and all is as it was") {
  if (!test::has_windows()) return;
  const auto manager = make_manager({tiers::dram(8_MiB), tiers::emulated("cxl", 8_MiB)}, WindowMode::Full);
  Tensor<float> x{manager, shape, windowed, "to come back"};
  retire(x);
  std::vector<Tensor<float>> rest;
  try {
    for (;;) rest.emplace_back(manager, Shape{16, 1024});
  } catch (const OutOfTierMemory&) {
  }
  CHECK_THROWS_AS(std::ignore = WriteScope{overwrites(x)}, OutOfTierMemory);
  manager->check_invariants();
  rest.clear();
  {
    WriteScope out{overwrites(x)};
    fill(out[x], 5);
  }
  CHECK(holds(x, 5));
}

TEST_CASE("with early freeing off, what is overwritten again outlives the step") {
  for (const auto mode : test::window_modes()) {
    CAPTURE(to_string(mode));
    const auto manager = make_manager({tiers::dram(4_MiB), tiers::emulated("cxl", 16_MiB)}, mode, {},
                                      std::make_unique<FreesLate>());
    Tensor<float> x{manager, shape, windowed, "kept"};
    {
      WriteScope out{overwrites(x)};
      fill(out[x], 1);
    }
    retire(x);
    {
      WriteScope out{overwrites(x)};
      fill(out[x], 2);
    }
    manager->end_of_step();
    CHECK(holds(x, 2));
    manager->check_invariants();
  }
}

TEST_CASE("with early freeing off, rows that end within a block outlive the step once they are overwritten") {
  for (const auto mode : test::window_modes()) {
    CAPTURE(to_string(mode));
    const auto manager = make_manager({tiers::dram(4_MiB), tiers::emulated("cxl", 16_MiB)}, mode, {},
                                      std::make_unique<FreesLate>());
    Tensor<float> x{manager, shape, windowed, "kept in part"};
    {
      WriteScope out{overwrites(x)};
      fill(out[x], 1);
    }
    retire(x);
    const auto some = [&] { return x.rows(0, 700); };
    {
      WriteScope out{overwrites(some())};
      fill(out[some()], 2);
    }
    manager->end_of_step();
    const ReadScope in{some()};
    CHECK(std::ranges::all_of(in[some()].elements(), [](float value) { return value == 2; }));
    manager->check_invariants();
  }
}

}  // namespace tier::retired_windows_test
