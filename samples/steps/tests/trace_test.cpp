// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Tests steps as traces: a written trace is read back and matches the step.
#include <doctest/doctest.h>
#include <tier/trace/summary.hpp>
#include <tier/trace/text.hpp>

#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "networks/networks.hpp"
#include "steps/liveness.hpp"
#include "steps/lower.hpp"
#include "steps/trace.hpp"

namespace trace_test {

using namespace training;
using tier::trace::Trace;

namespace {

std::string text_of(const Step& step, std::int64_t batch) {
  std::ostringstream out;
  tier::trace::write_text(trace_of(step, batch), out);
  return out.str();
}

Trace read(const std::string& text) {
  std::istringstream in{text};
  return tier::trace::read_text(in);
}

Trace recorded(std::string_view name, const NetworkOptions& options) {
  return read(text_of(lower_training(find_network(name).make(options), {}), options.batch));
}

/// Returns the peak without the optimiser's state, as tests/footprint_test.cpp does.
double gigabytes(const Trace& trace) {
  std::size_t state = 0;
  for (const auto& tensor : trace.tensors())
    if (trace.name(tensor.name).find(".velocity") != std::string_view::npos) state += tensor.size.count;
  return static_cast<double>(tier::trace::summarise(trace).peak.count - state) / 1e9;
}

doctest::Approx within(double share, double value) { return doctest::Approx(value).epsilon(share); }

Network small_network() {
  Network net{"small"};
  auto x = net.input({2, 3, 8, 8});
  x = net.relu(net.convolution(x, {.channels = 16, .kernel = {3, 3}, .padding = {1, 1}}));
  const auto y = net.convolution(x, {.channels = 16});
  net.softmax_loss(net.inner_product(net.concat({x, y}), {.width = 5}));
  return net;
}

}  // namespace

TEST_CASE("the trace of every network keeps the rules, and has the step's kernels, tensors and peak") {
  for (const auto& known : known_networks()) {
    CAPTURE(known.name);
    NetworkOptions options{.batch = 2};
    if (known.input == InputKind::Text)
      options.steps = known.sequences.steps, options.width = known.sequences.width;
    for (const auto optimizer : {Optimizer::Sgd, Optimizer::Adam}) {
      const auto step = lower_training(make_networks(known, options).back(), {.optimizer = optimizer});
      const auto trace = read(text_of(step, 2));
      const auto all = tier::trace::summarise(trace);
      CHECK(all.kernels == step.kernels.size());
      CHECK(all.tensors == step.tensors.size());
      CHECK(all.iterations == 1);
      CHECK(all.peak.count == peak_bytes(step));
      CHECK(trace.header("net") == std::string{known.name} + "_b2");
      CHECK(trace.header("dtype") == "f32");
    }
  }
}

TEST_CASE("the large networks' footprints come out of their traces") {
  CHECK(gigabytes(recorded("vgg416", {.batch = 256})) == within(0.01, 528));
  CHECK(gigabytes(recorded("densenet264", {.batch = 1536, .growth = 48})) == within(0.01, 523.7));
  CHECK(gigabytes(recorded("resnet200", {.batch = 2048})) == within(0.01, 518.5 + 6.6 + 0.8));
}

TEST_CASE("a kernel's operands have the roles and the bytes that it uses") {
  const auto step = lower_training(small_network(), {});
  const auto trace = trace_of(step, 2);
  REQUIRE(trace.kernels().size() == step.kernels.size());
  std::vector<bool> seen(step.tensors.size());
  std::size_t slices = 0;
  for (std::size_t k = 0; k < step.kernels.size(); ++k) {
    const auto& kernel = step.kernels[k];
    const auto& recorded = trace.kernels()[k];
    CAPTURE(kernel.name);
    CHECK(trace.name(recorded.op) == kernel.op);
    CHECK(static_cast<char>(recorded.phase) == static_cast<char>(kernel.phase));
    CHECK(recorded.flops == kernel.flops);
    for (const auto& operand : trace.operands(recorded)) {
      const auto use = std::ranges::find(kernel.uses, TensorId{operand.tensor}, &Use::tensor);
      REQUIRE(use != kernel.uses.end());
      const bool parameter = step.tensors[use->tensor].kind == Kind::Parameter;
      const bool created = !parameter && !seen[use->tensor];
      const char role = created                         ? 'W'
                        : use->role == Role::Reads      ? 'R'
                        : use->role == Role::Overwrites ? 'O'
                                                        : 'U';
      CHECK(static_cast<char>(operand.role) == role);
      CHECK(operand.touched.count == use->bytes);
      slices += operand.touched < trace.tensor(operand.tensor).size ? 1 : 0;
      seen[use->tensor] = true;
    }
    CHECK(trace.operands(recorded).size() == kernel.uses.size());
  }
  CHECK(slices == 2);  // of the gradient of the concatenation
}

TEST_CASE("a trace archives and retires what the step's hints do") {
  const auto step = lower_training(small_network(), {});
  const auto hints = hints_of(step, {});
  std::vector<std::vector<TensorId>> archived(hints.size()), retired(hints.size());
  const auto trace = trace_of(step, 2);
  std::size_t kernels = 0;
  for (const auto event : trace.events()) {
    using tier::trace::EventKind;
    if (event.kind == EventKind::Kernel) ++kernels;
    if (event.kind != EventKind::Archive && event.kind != EventKind::Retire) continue;
    auto& list = (event.kind == EventKind::Archive ? archived : retired).at(kernels - 1);
    list.assign(trace.tensors_of(event).begin(), trace.tensors_of(event).end());
  }
  for (std::size_t k = 0; k < hints.size(); ++k) {
    CHECK(archived[k] == hints[k].archive);
    CHECK(retired[k] == hints[k].retire);
  }
}

}  // namespace trace_test
