// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "networks/networks.hpp"
#include "steps/liveness.hpp"
#include "steps/lower.hpp"

namespace lowering_test {

using namespace training;

namespace {

/// Lists the kernels without copies into other layouts, which depend on the machine.
std::string kernels_of(const Step& step) {
  std::vector<std::string> names;
  for (const auto& kernel : step.kernels)
    if (kernel.op != "copy") names.push_back(fmt::format("{}:{}", kernel.name, kernel.op));
  return fmt::format("{}", fmt::join(names, " "));
}

Network small_convolution() {
  Network net{"small"};
  const auto x = net.input({2, 3, 8, 8});
  auto y =
      net.relu(net.batch_norm(net.convolution(x, {.channels = 16, .kernel = {3, 3}, .padding = {1, 1}})));
  y = net.max_pool(y, {});
  net.softmax_loss(net.inner_product(y, {.width = 5}));
  return net;
}

const Kernel& kernel_named(const Step& step, std::string_view name) {
  const auto found = std::ranges::find(step.kernels, name, &Kernel::name);
  REQUIRE(found != step.kernels.end());
  return *found;
}

}  // namespace

TEST_CASE("a network becomes a forward pass, and a backward one in which each layer learns at once") {
  const auto step = lower_training(small_convolution(), {});
  CHECK(
      kernels_of(step) ==
      "input1.f:input conv1.f:conv3_f bn1.f:bn_f bn1.follow:bn_stats relu1.f:relu_f pool1.f:pool_f "
      "fc1.f:fc_f "
      "loss1.f:loss loss1.b:softmax_b fc1.d:fc_d fc1.w:fc_w fc1.w.update:sgd fc1.b.update:sgd pool1.b:pool_b "
      "relu1.b:relu_b bn1.b:bn_b bn1.w.update:sgd conv1.w:conv3_w conv1.w.update:sgd");
}

TEST_CASE("the step of a prediction is the forward pass alone") {
  const auto step = lower_prediction(small_convolution(), {});
  CHECK(kernels_of(step) ==
        "input1.f:input conv1.f:conv3_f bn1.f:bn_f relu1.f:relu_f pool1.f:pool_f fc1.f:fc_f loss1.f:loss");
}

TEST_CASE("the steps of a network have the same parameters") {
  const auto training = lower_training(small_convolution(), {});
  const auto prediction = lower_prediction(small_convolution(), {});
  REQUIRE(training.parameters.size() == prediction.parameters.size());
  for (std::size_t i = 0; i < training.parameters.size(); ++i) {
    CHECK(training.parameters[i].tensor == i);
    CHECK(prediction.parameters[i].tensor == i);
    CHECK(training.tensors[i].name == prediction.tensors[i].name);
    CHECK(training.tensors[i].desc == prediction.tensors[i].desc);
  }
}

TEST_CASE("a large parameter is updated with one slice of the optimizer's state after the other") {
  constexpr std::size_t slice = 16 << 20;
  Network net{"large"};
  net.softmax_loss(net.inner_product(net.input({2, 1500, 1, 1}), {.width = 7000}));
  for (const auto optimizer : {Optimizer::Sgd, Optimizer::Adam}) {
    const auto step = lower_training(net, {.optimizer = optimizer});
    const auto& weights = step.tensors[step.parameters.front().tensor];
    const std::size_t states = optimizer == Optimizer::Adam ? 2 : 1;
    std::size_t updated = 0;
    std::set<TensorId> of_optimizer;
    for (const auto& kernel : step.kernels) {
      if (kernel.name != "fc1.w.update") continue;
      REQUIRE(kernel.uses.size() == 2 + states);
      CHECK(kernel.uses[0].tensor == step.parameters.front().tensor);
      updated += kernel.uses[0].bytes;
      for (const auto& use : std::span{kernel.uses}.subspan(2)) {
        CHECK(step.tensors[use.tensor].bytes == kernel.uses[0].bytes);
        CHECK(use.bytes <= slice);
        CHECK(of_optimizer.insert(use.tensor).second);
      }
    }
    CHECK(updated == weights.bytes);
    CHECK(of_optimizer.size() == 3 * states);
    CHECK(operand_bytes(step, largest_kernel(step)) <= 2 * weights.bytes + states * slice + (1 << 20));
  }
}

TEST_CASE("sequences of any length are learned from with the same parameters") {
  const auto networks = make_networks(find_network("transformer"), {.batch = 2, .steps = 16, .width = 16});
  CHECK(networks.size() == 7);
  CHECK(networks.front().layers().front().shape == Dims{4, 2});
  CHECK(networks.back().layers().front().shape == Dims{16, 2});
  const auto prediction = lower_prediction(networks.back(), {});
  for (const auto& network : networks) {
    const auto training = lower_training(network, {});
    REQUIRE(training.parameters.size() == prediction.parameters.size());
    for (std::size_t i = 0; i < training.parameters.size(); ++i) {
      CHECK(training.parameters[i].tensor == i);
      CHECK(training.tensors[i].name == prediction.tensors[i].name);
      CHECK(training.tensors[i].desc == prediction.tensors[i].desc);
    }
  }
}

TEST_CASE("a relu works in place where nothing else needs its input") {
  SUBCASE("of a batch norm: forward and back") {
    const auto step = lower_training(small_convolution(), {});
    CHECK(kernel_named(step, "relu1.f").uses.size() == 1);
    CHECK(kernel_named(step, "relu1.b").uses.size() == 2);
  }
  SUBCASE("not of what another layer reads") {
    Network net{"fork"};
    const auto y = net.convolution(net.input({2, 3, 8, 8}), {.channels = 16});
    net.softmax_loss(net.inner_product(net.sum(net.relu(y), y), {.width = 5}));
    CHECK(kernel_named(lower_training(net, {}), "relu1.f").uses.size() == 2);
  }
  SUBCASE("not of what a layer reads in its backward pass") {
    Network net{"relus"};
    auto y = net.convolution(net.input({2, 3, 8, 8}), {.channels = 16});
    y = net.dropout(net.relu(y), {});
    net.softmax_loss(net.inner_product(y, {.width = 5}));
    const auto step = lower_training(net, {});
    CHECK(kernel_named(step, "relu1.f").uses.size() == 1);
    CHECK(kernel_named(step, "dropout1.f").uses.size() == 2);  // relu1.b reads what it would overwrite
  }
}

TEST_CASE(
    "functional differentiation overwrites no gradient and no operand of a sum, and needs little more at "
    "once") {
  Network net{"block"};
  auto x = net.relu(net.convolution(net.input({2, 3, 8, 8}), {.channels = 16}));
  const auto y = net.relu(net.batch_norm(net.convolution(x, {.channels = 16})));
  x = net.relu(net.sum(net.batch_norm(net.convolution(y, {.channels = 16})), x));
  net.softmax_loss(net.inner_product(net.dropout(x, {}), {.width = 5}));
  const auto in_place = lower_training(net, {});
  const auto functional = lower_training(net, {.functional = true});
  REQUIRE(functional.kernels.size() == in_place.kernels.size());
  const auto updates = [](const Step& step, std::string_view op) {
    std::size_t count = 0;
    for (const auto& kernel : step.kernels)
      if (kernel.op == op)
        count += static_cast<std::size_t>(std::ranges::count(kernel.uses, Role::Updates, &Use::role));
    return count;
  };
  for (const auto* op : {"relu_b", "bn_b", "add", "dropout_b"}) {
    CAPTURE(op);
    CHECK(updates(in_place, op) > 0);
    CHECK(updates(functional, op) == 0);
  }
  CHECK(updates(functional, "relu_f") == updates(in_place, "relu_f"));
  const auto image = std::size_t{2} * 16 * 8 * 8 * sizeof(float);
  CHECK(functional.tensors.size() > in_place.tensors.size());
  CHECK(peak_bytes(functional) <= peak_bytes(in_place) + 2 * image);
}

TEST_CASE("hidden scratchpads are no tensors, and nothing else differs") {
  const auto net = find_network("resnet50").make({.batch = 2, .classes = 10});
  const auto names_of = [](const Step& step) {
    std::vector<std::string> names;
    for (const auto& tensor : step.tensors) names.push_back(tensor.name);
    return names;
  };
  auto shown = names_of(lower_training(net, {}));
  CHECK(std::erase_if(shown, [](const std::string& name) { return name.ends_with(".scratch"); }) > 0);
  CHECK(names_of(lower_training(net, {.hidden_scratchpads = true})) == shown);
}

TEST_CASE("a gradient that two layers wait for is overwritten by neither") {
  Network net{"shared"};
  const auto x = net.convolution(net.input({2, 3, 8, 8}), {.channels = 16});
  const auto y = net.sum(net.relu(net.batch_norm(x)), net.relu(net.batch_norm(x)));
  net.softmax_loss(net.inner_product(y, {.width = 5}));
  const auto step = lower_training(net, {});
  // The network's second relu is the first in the backward pass: the other still needs the gradient of the sum.
  CHECK(kernel_named(step, "relu2.b").uses.size() == 3);
  CHECK(kernel_named(step, "relu1.b").uses.size() == 2);
  CHECK(kernel_named(step, "conv1.dy").op == "add");
}

TEST_CASE("each network keeps the rules of a trace") {
  for (const auto& known : known_networks()) {
    CAPTURE(known.name);
    const auto net =
        known.make({.batch = 2, .image = known.name == "resnet32" ? 8 : 96, .steps = 3, .width = 16});
    const auto step = lower_training(net, {});
    std::set<TensorId> exists;
    std::set<TensorId> retired;
    for (const auto& parameter : step.parameters) exists.insert(parameter.tensor);
    const auto hints = hints_of(step, moving_ahead(1 << 20));
    bool rules = true;
    for (std::size_t k = 0; k < step.kernels.size(); ++k) {
      for (const auto& use : step.kernels[k].uses) {
        const bool fresh = exists.insert(use.tensor).second;
        rules = rules && fresh == (use.role == Role::Overwrites) && !retired.contains(use.tensor);
      }
      for (const auto t : hints[k].retire) retired.insert(t);
    }
    CHECK(rules);
    CHECK(retired.size() + step.parameters.size() == exists.size());
  }
}

}  // namespace lowering_test
