// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "steps/recomputation.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cases.hpp"
#include "steps/tests/sketch.hpp"

namespace recomputation_test {

using namespace training;
using namespace training::test;

namespace {

/// A norm with its relu, as lowered: `x` is kept for the backward pass, and `y` is made again from it. Between the passes
/// is a kernel that uses neither and takes as much memory as both.
struct NormAndRelu {
  Sketch sketch;
  TensorId x, y, other;

  explicit NormAndRelu(std::size_t bytes = 8)
      : x{sketch.tensor(Kind::Activation, bytes)},
        y{sketch.tensor(Kind::Activation, bytes)},
        other{sketch.tensor(Kind::Temporary, 2 * bytes)} {
    sketch.kernel(Phase::Forward, {{x, writes}});
    sketch.kernel(Phase::Forward, {{x, reads}, {y, writes}});
    auto& relu = sketch.kernel(Phase::Forward, {{y, Role::Updates}});
    Kernel again;
    again.name = "again";
    again.phase = Phase::Backward;
    again.uses = {{x, reads}, {y, writes}};
    relu.again = std::make_shared<const Kernel>(std::move(again));
    sketch.kernel(Phase::Forward, {{other, writes}});
  }
  /// Adds a backward pass that uses `y` first.
  void add_backward() {
    sketch.kernel(Phase::Backward, {{y, reads}});
    sketch.kernel(Phase::Backward, {{y, reads}});
    sketch.kernel(Phase::Backward, {{x, reads}});
  }
};

bool is_same(const Step& a, const Step& b) {
  return a.tensors.size() == b.tensors.size() && a.kernels.size() == b.kernels.size();
}

std::size_t made_again(const Step& step) {
  return static_cast<std::size_t>(std::ranges::count_if(
      step.tensors, [](const StepTensor& tensor) { return tensor.name.ends_with(".again"); }));
}

}  // namespace

TEST_CASE("what would leave is made again, before the backward pass uses it first, and dies before that") {
  NormAndRelu norm;
  norm.add_backward();
  const auto step = with_recomputation(norm.sketch.step, {});
  REQUIRE(step.kernels.size() == 8);
  CHECK(step.kernels[4].name == "again");
  const auto made = step.kernels[4].uses.at(1).tensor;
  CHECK(step.kernels[4].uses.at(0).tensor == norm.x);
  CHECK(step.tensors.at(made).name == norm.sketch.step.tensors[norm.y].name + ".again");
  CHECK(step.tensors[made].bytes == norm.sketch.step.tensors[norm.y].bytes);
  for (const auto k : {5, 6}) CHECK(step.kernels[static_cast<std::size_t>(k)].uses.at(0).tensor == made);
  CHECK(step.kernels[7].uses.at(0).tensor == norm.x);
  CHECK(step.kernels[2].uses.at(0).tensor == norm.y);
}

TEST_CASE("what stays in fast memory is not made again") {
  NormAndRelu norm;
  norm.add_backward();
  CHECK(is_same(with_recomputation(norm.sketch.step, moving_ahead(1000)), norm.sketch.step));
}

TEST_CASE("nothing is made again from what would be there no more, or be another one") {
  NormAndRelu norm;
  SUBCASE("an input that was used last before") { norm.sketch.kernel(Phase::Backward, {{norm.y, reads}}); }
  SUBCASE("an input that was written again") {
    norm.sketch.kernel(Phase::Forward, {{norm.x, Role::Updates}});
    norm.add_backward();
  }
  SUBCASE("a tensor that was written again, by what cannot be repeated") {
    norm.sketch.kernel(Phase::Forward, {{norm.y, Role::Updates}});
    norm.sketch.kernel(Phase::Forward, {{norm.other, writes}});
    norm.add_backward();
  }
  SUBCASE("a tensor that the backward pass writes") {
    norm.sketch.kernel(Phase::Backward, {{norm.y, Role::Updates}});
    norm.sketch.kernel(Phase::Backward, {{norm.x, reads}});
  }
  CHECK(is_same(with_recomputation(norm.sketch.step, {}), norm.sketch.step));
}

TEST_CASE("nothing is made again from what is made again itself") {
  NormAndRelu norm;
  auto& step = norm.sketch.step;
  const auto z = norm.sketch.tensor(Kind::Activation, 8);  // from y, as y is from x
  auto& relu = norm.sketch.kernel(Phase::Forward, {{norm.y, reads}, {z, writes}});
  Kernel again;
  again.phase = Phase::Backward;
  again.uses = {{norm.y, reads}, {z, writes}};
  relu.again = std::make_shared<const Kernel>(std::move(again));
  norm.sketch.kernel(Phase::Forward, {{norm.other, writes}});
  norm.sketch.kernel(Phase::Backward, {{z, reads}});
  norm.add_backward();
  const auto result = with_recomputation(step, {});
  REQUIRE(made_again(result) == 1);
  CHECK(result.tensors.back().name == step.tensors[z].name + ".again");
}

TEST_CASE("nothing is made again that would drive a gradient out instead") {
  NormAndRelu norm{100};
  auto& sketch = norm.sketch;
  const auto gradient = sketch.tensor(Kind::Gradient, 100);
  sketch.kernel(Phase::Backward, {{gradient, writes}});
  sketch.kernel(Phase::Backward, {{norm.y, reads}});
  sketch.kernel(Phase::Backward, {{gradient, Role::Updates}, {norm.y, reads}});
  sketch.kernel(Phase::Backward, {{gradient, Role::Updates}, {norm.x, reads}});
  CHECK(made_again(with_recomputation(sketch.step, moving_ahead(300))) == 1);
  CHECK(made_again(with_recomputation(sketch.step, moving_ahead(299))) == 0);
}

TEST_CASE("networks whose norms are made again compute the same bits") {
  const auto check = [](const Case& learned) {
    const auto plain = learned.run_plain();
    auto options = learned.options;
    options.recompute = true;
    PlainMemory memory;
    const auto again = train("again", learned.steps, *learned.data, memory, options, never);
    CHECK(made_again(with_recomputation(learned.steps.training.front(), {})) > 3);
    CHECK(again.checksum == plain.checksum);
    CHECK(again.loss == plain.loss);
  };
  const NetworkOptions options{.batch = 8, .image = 32, .classes = 10, .growth = 12};
  SUBCASE("small images") { check(small_resnet(3)); }
  SUBCASE("norms before convolutions") {
    check(on_generated_images(resnet_v2("v2", {1, 1, 1, 1}, options), 2));
  }
  SUBCASE("concatenations") { check(on_generated_images(densenet("dense", {2, 2, 2, 2}, options), 2)); }
}

}  // namespace recomputation_test
