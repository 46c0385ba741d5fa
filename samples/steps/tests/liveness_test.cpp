// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "steps/liveness.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <initializer_list>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sketch.hpp"
#include "support/seed.hpp"

namespace liveness_test {

using namespace training;
using namespace training::test;

namespace {

/// Returns three layers that keep their outputs: written at 0, 1, 2, read back at 5, 4, 3.
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
  const auto hints = hints_of(s.step, {});
  CHECK(kernels_that(hints, &Hints::retire, a) == Places{2});
  CHECK(kernels_that(hints, &Hints::retire, scratch) == Places{1});
}

TEST_CASE(
    "a parameter is archived where a pass has used it for the last time, and prefetched for the next, in a "
    "later step, too") {
  Sketch s;
  const auto w = s.tensor(Kind::Parameter, 64 << 10);
  const auto scratch = s.tensor(Kind::Temporary, 64 << 10);
  s.kernel(Phase::Forward, {{w, reads}});
  s.kernel(Phase::Forward, {{scratch, writes}});
  s.kernel(Phase::Backward, {});
  s.kernel(Phase::Backward, {{w, reads}});
  s.kernel(Phase::Update, {{w, Role::Updates}});
  s.kernel(Phase::Update, {{s.tensor(Kind::Temporary, 64 << 10), writes}});
  s.kernel(Phase::Update, {});
  const auto hints = hints_of(s.step, moving_ahead(64 << 10));
  CHECK(kernels_that(hints, &Hints::retire, w).empty());
  CHECK(kernels_that(hints, &Hints::archive, w) == Places{0, 4});
  CHECK(kernels_that(hints, &Hints::prefetch, w) == Places{2, 6});
  const auto twice_the_budget =
      hints_of(s.step, moving_ahead(128 << 10));  // the forward pass has two thirds of it
  CHECK(kernels_that(twice_the_budget, &Hints::archive, w) == Places{0});
  CHECK(kernels_that(twice_the_budget, &Hints::prefetch, w) == Places{2});
  const auto enough = hints_of(s.step, moving_ahead(192 << 10));
  CHECK(kernels_that(enough, &Hints::archive, w).empty());
  CHECK(kernels_that(enough, &Hints::prefetch, w).empty());
}

TEST_CASE(
    "where bytes move late nothing is prefetched, and what does not stay takes no room from what could") {
  Sketch s;
  const auto early = s.tensor(Kind::Activation, 100), late = s.tensor(Kind::Activation, 60);
  const auto large = s.tensor(Kind::Temporary, 50), gradient = s.tensor(Kind::Gradient, 60);
  s.kernel(Phase::Forward, {{late, writes}});
  s.kernel(Phase::Forward, {{early, writes}});
  s.kernel(Phase::Forward, {{large, writes}});
  s.kernel(Phase::Backward, {{gradient, writes}});
  s.kernel(Phase::Backward, {});
  s.kernel(Phase::Backward, {{early, reads}});
  s.kernel(Phase::Backward, {{late, reads}, {gradient, reads}});
  const auto archived = [&](Budget budget) {
    std::vector<TensorId> tensors;
    for (const auto& hint : hints_of(s.step, budget))
      tensors.insert(tensors.end(), hint.archive.begin(), hint.archive.end());
    return tensors;
  };
  CHECK(archived(moving_ahead(175)) == std::vector<TensorId>{late, early, gradient});
  CHECK(archived(moving_late(175)) == std::vector<TensorId>{late, early});  // but not the gradient
  for (const auto& hint : hints_of(s.step, moving_late(175))) CHECK(hint.prefetch.empty());
}

TEST_CASE("small parameters are left alone: they share blocks") {
  Sketch s;
  const auto w = s.tensor(Kind::Parameter, (64 << 10) - 1);
  s.kernel(Phase::Forward, {{w, reads}});
  s.kernel(Phase::Backward, {{w, reads}});
  s.kernel(Phase::Update, {{w, Role::Updates}});
  for (const auto& hint : hints_of(s.step, moving_ahead(1 << 20))) {
    CHECK(hint.archive.empty());
    CHECK(hint.prefetch.empty());
  }
}

TEST_CASE("what both passes use is archived after its last use in the forward one, unless it is used next") {
  const auto hints = hints_of(three_layers(8).step, {});
  CHECK(kernels_that(hints, &Hints::archive, 0) == Places{1});
  CHECK(kernels_that(hints, &Hints::archive, 1) == Places{2});
  CHECK(kernels_that(hints, &Hints::archive, 2).empty());
}

TEST_CASE("what the backward pass uses twice leaves between, if it has no room there") {
  Sketch s;
  const auto w = s.tensor(Kind::Parameter, 64 << 10);
  const auto layout = s.tensor(Kind::Temporary, 64 << 10);
  const auto gradient = s.tensor(Kind::Gradient, 64 << 10);
  s.kernel(Phase::Forward, {{w, reads}});
  s.kernel(Phase::Backward, {{w, reads}, {layout, writes}});
  s.kernel(Phase::Backward, {{layout, reads}, {gradient, writes}});
  s.kernel(Phase::Backward, {{layout, reads}, {gradient, reads}});
  s.kernel(Phase::Backward, {{gradient, reads}});
  s.kernel(Phase::Update, {{gradient, reads}, {w, Role::Updates}});
  const auto two = hints_of(s.step, moving_ahead(128 << 10));
  CHECK(kernels_that(two, &Hints::archive, w) == Places{1});
  CHECK(kernels_that(two, &Hints::prefetch, w) == Places{3});  // beyond the budget
  CHECK(kernels_that(two, &Hints::archive, gradient).empty());
  const auto all = hints_of(s.step, moving_ahead(192 << 10));
  CHECK(kernels_that(all, &Hints::archive, w).empty());
  CHECK(kernels_that(all, &Hints::prefetch, w).empty());
}

TEST_CASE("what the forward pass alone uses is not archived") {
  Sketch s;
  const auto a = s.tensor(Kind::Activation, 4);
  s.kernel(Phase::Forward, {{a, writes}});
  s.kernel(Phase::Forward, {{a, reads}});
  CHECK(kernels_that(hints_of(s.step, moving_ahead(100)), &Hints::archive, a).empty());
}

TEST_CASE("what was archived is prefetched in the order of its use, as early as there is room for it") {
  const auto step = three_layers(8).step;
  SUBCASE("without room for two each comes a kernel ahead, if it has been gone by then") {
    const auto hints = hints_of(step, moving_ahead(15));
    CHECK(kernels_that(hints, &Hints::prefetch, 0) == Places{3});
    CHECK(kernels_that(hints, &Hints::prefetch, 1).empty());
  }
  SUBCASE("two") {
    const auto hints = hints_of(step, moving_ahead(16));
    CHECK(kernels_that(hints, &Hints::archive, 1).empty());  // it stays beside 2
    CHECK(kernels_that(hints, &Hints::archive, 0) == Places{1});
    CHECK(kernels_that(hints, &Hints::prefetch, 0) == Places{3});
  }
  SUBCASE("all: nothing leaves") {
    CHECK(kernels_that(hints_of(step, moving_ahead(35)), &Hints::archive, 0) == Places{1});
    for (const auto& hint : hints_of(step, moving_ahead(36))) {  // 24 bytes in the forward pass
      CHECK(hint.archive.empty());
      CHECK(hint.prefetch.empty());
    }
  }
}

TEST_CASE("a tensor that has no room does not hold back those after it") {
  auto s = three_layers(8);
  s.step.tensors[1].bytes = 100;
  const auto hints = hints_of(s.step, moving_ahead(16));
  CHECK(kernels_that(hints, &Hints::archive, 1) == Places{2});
  CHECK(kernels_that(hints, &Hints::prefetch, 1).empty());
  CHECK(kernels_that(hints, &Hints::archive, 0) == Places{1});
  CHECK(kernels_that(hints, &Hints::prefetch, 0) == Places{3});
}

TEST_CASE("whatever stays or comes long before it is needed has room beside all that is in use then") {
  constexpr std::size_t lead = 2;  // for tensors without room
  constexpr std::size_t budget = 100;
  constexpr std::size_t kernels = 20;
  const auto seed = tier::test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  std::size_t early = 0;
  for (int round = 0; round < 600; ++round) {
    Sketch s;
    for (std::size_t k = 0; k < kernels; ++k)
      s.kernel(2 * k < kernels ? Phase::Forward : Phase::Backward, {});
    using Gap = std::pair<std::size_t, std::size_t>;
    std::vector<std::vector<Gap>> gaps;  // by tensor
    for (int t = 0; t < 15; ++t) {
      const auto tensor = s.tensor(Kind::Activation, 1 + random() % 60);
      auto& of = gaps.emplace_back();
      const auto first = random() % (kernels / 2);
      auto last = first;
      for (auto k = first; k < kernels; k += 1 + random() % 8) {
        if (2 * k >= kernels) of.push_back({last, k});
        last = k;
        s.step.kernels[k].uses.push_back({tensor, k == first ? writes : reads});
      }
    }
    const auto hints = hints_of(s.step, moving_ahead(budget));
    std::set<TensorId> there;
    for (std::size_t k = 0; k < kernels; ++k) {
      there.insert(hints[k].prefetch.begin(), hints[k].prefetch.end());
      for (const auto& use : s.step.kernels[k].uses) there.insert(use.tensor);
      std::size_t bytes = 0;
      bool some_early = false;
      for (const auto t : there) {
        const bool is_early =
            std::ranges::any_of(gaps[t], [&](Gap gap) { return gap.first < k && k + lead < gap.second; });
        const bool is_used =
            std::ranges::find(s.step.kernels[k].uses, t, &Use::tensor) != s.step.kernels[k].uses.end();
        if (is_early || is_used) bytes += s.step.tensors[t].bytes;
        some_early |= is_early;
      }
      early += some_early;
      CHECK((!some_early || bytes <= (2 * k < kernels ? budget / 3 * 2 : budget)));
      for (const auto t : hints[k].archive) CHECK(there.erase(t) == 1);
      for (const auto t : hints[k].retire) CHECK(there.erase(t) == 1);
    }
    CHECK(there.empty());
  }
  CHECK(early > 100);
}

TEST_CASE("the peak counts parameters always and the rest from its first to its last use") {
  auto s = three_layers(8);
  CHECK(peak_bytes(s.step) == 24);
  s.tensor(Kind::Parameter, 100);
  CHECK(peak_bytes(s.step) == 124);
  const auto scratch = s.tensor(Kind::Temporary, 50);
  s.step.kernels[1].uses.push_back({scratch, writes});  // 8 + 8 + 50 are alive at this kernel
  CHECK(peak_bytes(s.step) == 166);
}

TEST_CASE("the largest kernel is the first of those whose operands take most, each tensor as a whole") {
  auto s = three_layers(8);  // kernels 1 and 2 use two of them
  CHECK(&largest_kernel(s.step) == &s.step.kernels[1]);
  CHECK(operand_bytes(s.step, s.step.kernels[1]) == 16);
  s.step.kernels[5].uses.push_back({s.tensor(Kind::Temporary, 50), writes, 4});  // only part of the tensor
  CHECK(&largest_kernel(s.step) == &s.step.kernels[5]);
  CHECK(operand_bytes(s.step, s.step.kernels[5]) == 58);
}

}  // namespace liveness_test
