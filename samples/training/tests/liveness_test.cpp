// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "step/liveness.hpp"

#include <doctest/doctest.h>

#include <initializer_list>

using namespace training;

namespace {

constexpr auto reads = Role::Reads;
constexpr auto writes = Role::Overwrites;

/// A step written down by hand: sizes of tensors, then kernels.
struct Sketch {
  Step step;

  TensorId tensor(Kind kind, std::size_t bytes) {
    step.tensors.push_back(
        {.name = "t" + std::to_string(step.tensors.size()), .kind = kind, .desc = {}, .bytes = bytes});
    if (kind == Kind::Parameter) step.parameters.push_back({step.tensors.size() - 1, {}});
    return step.tensors.size() - 1;
  }
  void kernel(Phase phase, std::initializer_list<Use> uses) {
    Kernel kernel;
    kernel.phase = phase;
    kernel.uses = uses;
    step.kernels.push_back(std::move(kernel));
  }
};

/// Three layers, each keeping what it gave: written at 0, 1, 2, read back at 5, 4, 3.
Sketch three_layers(std::size_t bytes) {
  Sketch s;
  for (int i = 0; i < 3; ++i) s.tensor(Kind::Activation, bytes);
  s.kernel(Phase::Forward, {{0, writes}});
  s.kernel(Phase::Forward, {{0, reads}, {1, writes}});
  s.kernel(Phase::Forward, {{1, reads}, {2, writes}});
  for (const auto t : {TensorId{2}, TensorId{1}, TensorId{0}}) s.kernel(Phase::Backward, {{t, reads}});
  return s;
}

std::vector<std::size_t> kernels_that(const std::vector<Hints>& hints, std::vector<TensorId> Hints::*list,
                                      TensorId tensor) {
  std::vector<std::size_t> kernels;
  for (std::size_t k = 0; k < hints.size(); ++k)
    kernels.insert(kernels.end(), static_cast<std::size_t>(std::ranges::count(hints[k].*list, tensor)), k);
  return kernels;
}

using Places = std::vector<std::size_t>;

}  // namespace

TEST_CASE("a tensor is retired once, after the last kernel that uses it") {
  Sketch s;
  const auto a = s.tensor(Kind::Activation, 4);
  const auto scratch = s.tensor(Kind::Temporary, 4);
  s.kernel(Phase::Forward, {{a, writes}});
  s.kernel(Phase::Forward, {{a, reads}, {scratch, writes}});
  s.kernel(Phase::Backward, {{a, reads}});
  s.kernel(Phase::Backward, {});
  const auto hints = hints_of(s.step, 0);
  CHECK(kernels_that(hints, &Hints::retire, a) == Places{2});
  CHECK(kernels_that(hints, &Hints::retire, scratch) == Places{1});
}

TEST_CASE(
    "a parameter is archived where a pass has used it for the last time, and prefetched for the next, in a "
    "later step, too") {
  Sketch s;
  const auto w = s.tensor(Kind::Parameter, 64 << 10);
  const auto state = s.tensor(Kind::Parameter, 64 << 10);
  s.kernel(Phase::Forward, {});
  s.kernel(Phase::Forward, {{w, reads}});
  s.kernel(Phase::Backward, {});
  s.kernel(Phase::Backward, {{w, reads}});
  s.kernel(Phase::Update, {{w, Role::Updates}, {state, Role::Updates}});
  const auto hints = hints_of(s.step, 64 << 10);
  CHECK(kernels_that(hints, &Hints::retire, w).empty());
  CHECK(kernels_that(hints, &Hints::archive, w) == Places{1, 4});
  CHECK(kernels_that(hints, &Hints::archive, state) == Places{4});
  CHECK(kernels_that(hints, &Hints::prefetch, w) == Places{0, 2});  // 0: it is updated at the end
  CHECK(kernels_that(hints, &Hints::prefetch, state) == Places{4});
  const auto far_ahead = hints_of(s.step, 1 << 20);
  CHECK(kernels_that(far_ahead, &Hints::prefetch, state) == Places{2});  // in turn, after `w`
}

TEST_CASE("small parameters are left alone: they share blocks") {
  Sketch s;
  const auto w = s.tensor(Kind::Parameter, (64 << 10) - 1);
  s.kernel(Phase::Forward, {{w, reads}});
  s.kernel(Phase::Backward, {{w, reads}});
  s.kernel(Phase::Update, {{w, Role::Updates}});
  for (const auto& hint : hints_of(s.step, 1 << 20)) {
    CHECK(hint.archive.empty());
    CHECK(hint.prefetch.empty());
  }
}

TEST_CASE("what both passes use is archived after its last use in the forward one") {
  const auto hints = hints_of(three_layers(8).step, 0);
  CHECK(kernels_that(hints, &Hints::archive, 0) == Places{1});
  CHECK(kernels_that(hints, &Hints::archive, 1) == Places{2});
  CHECK(kernels_that(hints, &Hints::archive, 2) == Places{2});
}

TEST_CASE("what the forward pass alone uses is not archived") {
  Sketch s;
  const auto a = s.tensor(Kind::Activation, 4);
  s.kernel(Phase::Forward, {{a, writes}});
  s.kernel(Phase::Forward, {{a, reads}});
  CHECK(kernels_that(hints_of(s.step, 100), &Hints::archive, a).empty());
}

TEST_CASE("what was archived is prefetched in the order of its use, as far ahead as the bytes allow") {
  const auto step = three_layers(8).step;
  SUBCASE("nothing ahead: each is left to its kernel") {
    for (const auto& hint : hints_of(step, 0)) CHECK(hint.prefetch.empty());
  }
  SUBCASE("one ahead") {
    const auto hints = hints_of(step, 8);
    CHECK(hints[3].prefetch == std::vector<TensorId>{2});
    CHECK(hints[4].prefetch == std::vector<TensorId>{1});
    CHECK(hints[5].prefetch == std::vector<TensorId>{0});
  }
  SUBCASE("two ahead: one byte less is not enough") {
    CHECK(hints_of(step, 15)[3].prefetch == std::vector<TensorId>{2});
    const auto hints = hints_of(step, 16);
    CHECK(hints[3].prefetch == std::vector<TensorId>{2, 1});
    CHECK(hints[4].prefetch == std::vector<TensorId>{0});
  }
  SUBCASE("all at once, and never in the forward pass") {
    const auto hints = hints_of(step, 1000);
    CHECK(hints[3].prefetch == std::vector<TensorId>{2, 1, 0});
    for (std::size_t k = 0; k < 3; ++k) CHECK(hints[k].prefetch.empty());
  }
}

TEST_CASE("a tensor larger than what may be ahead does not hold back those after it") {
  auto s = three_layers(8);
  s.step.tensors[1].bytes = 100;
  const auto hints = hints_of(s.step, 8);
  CHECK(kernels_that(hints, &Hints::prefetch, 1).empty());
  CHECK(hints[5].prefetch == std::vector<TensorId>{0});
}

TEST_CASE("the peak counts parameters always and the rest from its first to its last use") {
  auto s = three_layers(8);
  CHECK(peak_bytes(s.step) == 24);
  s.tensor(Kind::Parameter, 100);
  CHECK(peak_bytes(s.step) == 124);
  const auto scratch = s.tensor(Kind::Temporary, 50);
  s.step.kernels[1].uses.push_back({scratch, writes});  // 8 + 8 + 50 are alive then
  CHECK(peak_bytes(s.step) == 166);
}
