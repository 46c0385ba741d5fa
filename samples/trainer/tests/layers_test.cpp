// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "common/hashing.hpp"
#include "networks/networks.hpp"
#include "reference.hpp"
#include "steps/functions.hpp"
#include "steps/lower.hpp"
#include "trainer/executor.hpp"
#include "trainer/plain_memory.hpp"

namespace layers_test {

using namespace training;
using test::Batch;
using test::Values;
using test::Weights;

namespace {

constexpr std::uint64_t seed = 5;
constexpr Pair three{3, 3};
constexpr Pair one{1, 1};

Values random_values(std::size_t count, std::uint64_t key) {
  Values values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = normal(key, i);
  return values;
}

/// Returns random images or ids, and labels below the number of classes.
Batch random_batch(const Network& net) {
  const auto& input = net.layers().front().shape;
  const auto& logits = net.shape(net.layers().back().inputs.front());
  Batch batch{.inputs = random_values(static_cast<std::size_t>(count_of(input)), 17), .labels = {}};
  if (input.size() == 2)  // ids
    for (auto& id : batch.inputs) id = std::floor(std::abs(id)) < 2 ? std::floor(std::abs(id)) : 2;
  for (std::int64_t i = 0; i < count_of(logits) / logits.back(); ++i)
    batch.labels.push_back(static_cast<double>(i * 7 % logits.back()));
  return batch;
}

/// Copies images to channels-last, as steps expect them.
void put_in_memory_order(const Dims& d, const Values& from, std::span<float> to) {
  if (d.size() != 4) {
    std::ranges::transform(from, to.begin(), [](double x) { return static_cast<float>(x); });
    return;
  }
  const auto pixels = static_cast<std::size_t>(d[2] * d[3]);
  const auto channels = static_cast<std::size_t>(d[1]);
  for (std::size_t i = 0; i < from.size(); ++i) {
    const auto n = i / (channels * pixels), c = i / pixels % channels, p = i % pixels;
    to[(n * pixels + p) * channels + c] = static_cast<float>(from[i]);
  }
}

Weights weights_in(const Parameters& parameters) {
  Weights weights;
  parameters.visit([&](const StepTensor& tensor, std::span<const float> values) {
    weights[tensor.name] = {values.begin(), values.end()};
  });
  return weights;
}

struct Learned {
  double loss;
  Weights before, after;
};

/// \pre  the arguments outlive the result
Iteration iteration_of(const Network& net, const Batch& batch) {
  return {.seed = seed, .rate = 1, .fill = [&](std::span<float> inputs, std::span<float> labels) {
            put_in_memory_order(net.layers().front().shape, batch.inputs, inputs);
            std::ranges::transform(batch.labels, labels.begin(),
                                   [](double x) { return static_cast<float>(x); });
          }};
}

/// Makes one step of plain gradient descent at a rate of 1, so that the change of weights is the gradient.
Learned learn_once(const Network& net, const Batch& batch) {
  PlainMemory memory;
  const auto step = lower_training(net, {.momentum = 0});
  const Parameters parameters{step, memory, seed};
  Executor executor{step, parameters, memory, {}};
  auto iteration = iteration_of(net, batch);
  const auto before = weights_in(parameters);
  executor.run(iteration);
  return {iteration.loss, before, weights_in(parameters)};
}

bool kept(std::size_t layer, std::size_t i) {
  return sample::unit(
             sample::mix(sample::mix(seed, std::uint64_t{0}, std::uint64_t{layer}), std::uint64_t{i})) >= 0.5;
}

bool is_learned(const std::string& name) {
  return name.find(".running") == std::string::npos && !name.ends_with(".velocity");
}

/// Returns the slope of the reference along one weight. In double precision the step can be so small that a kink of a relu
/// or a maximum is unlikely within it, and that the quotient's error is far below that of floats.
double slope(const Network& net, Weights weights, const Batch& batch, const std::string& name,
             std::size_t i) {
  constexpr double step = 1e-7;
  auto& weight = weights[name][i];
  const double middle = weight;
  weight = middle + step;
  const double above = reference_loss(net, weights, batch, kept);
  weight = middle - step;
  const double below = reference_loss(net, weights, batch, kept);
  return (above - below) / (2 * step);
}

/// Checks loss and gradients against the reference; for large arrays, some elements.
void check_against_reference(const Network& net) {
  const auto batch = random_batch(net);
  const auto [loss, before, after] = learn_once(net, batch);
  CHECK(loss == doctest::Approx(reference_loss(net, before, batch, kept)).epsilon(1e-5));
  for (const auto& weight : before) {  // no structured binding: clang 14 cannot capture it
    const auto& name = weight.first;
    const auto& values = weight.second;
    if (!is_learned(name)) continue;
    CAPTURE(name);
    const auto stride = std::max<std::size_t>(1, values.size() / 12);
    double largest = 0;
    double error = 0;
    for (std::size_t i = 0; i < values.size(); i += stride) {
      const double expected = slope(net, before, batch, name, i);
      const double found = values[i] - after.at(name)[i];
      largest = std::max(largest, std::abs(expected));
      error = std::max(error, std::abs(found - expected));
    }
    CHECK(largest > 1e-5);  // the gradient is not all zeros
    CHECK(error < 1e-4 * largest + 2e-7);
  }
}

Network on_images(auto body, const Dims& shape = {3, 3, 7, 6}) {
  Network net{"test"};
  const auto y = body(net, net.input(shape));
  net.softmax_loss(net.inner_product(y, {.width = 4}));
  return net;
}

/// Returns a network on embedded characters below 3.
Network on_sequences(auto body, const Dims& ids = {5, 3}) {
  Network net{"test"};
  const auto y = body(net, net.embedding(net.input(ids), {.count = 3, .width = 10}));
  net.softmax_loss(net.inner_product(y, {.width = 4}));
  return net;
}

/// Puts a layer between two that learn, so that the first needs its gradient.
Network between(auto layer) {
  return on_images([&](Network& net, Value x) {
    return layer(net, net.convolution(x, {.channels = 5, .kernel = {2, 2}}));
  });
}

}  // namespace

TEST_CASE("an inner product and its gradients are those of direct loops") {
  SUBCASE("with a bias") {
    check_against_reference(on_images([](Network&, Value x) { return x; }));
  }
  SUBCASE("without, of rows") {
    check_against_reference(on_images([](Network& net, Value x) {
      return net.inner_product(net.inner_product(x, {.width = 6, .bias = false}),
                               {.width = 7, .bias = false});
    }));
  }
}

TEST_CASE("a convolution and its gradients are those of direct loops") {
  const auto check = [](const Convolution& a) {
    check_against_reference(between([&](Network& net, Value x) { return net.convolution(x, a); }));
  };
  SUBCASE("1x1") { check({.channels = 4}); }
  SUBCASE("3x3 with padding and a bias") {
    check({.channels = 16, .kernel = three, .padding = one, .bias = true});
  }
  SUBCASE("with a stride") { check({.channels = 4, .kernel = three, .stride = {2, 2}, .padding = one}); }
  SUBCASE("not square") { check({.channels = 4, .kernel = {1, 5}, .padding = {0, 2}}); }
  SUBCASE("of many channels") {
    check_against_reference(between([](Network& net, Value x) {
      return net.convolution(net.convolution(x, {.channels = 32}), {.channels = 32, .kernel = three});
    }));
  }
}

TEST_CASE("a batch norm and its gradients are those of direct loops") {
  check_against_reference(between([](Network& net, Value x) { return net.batch_norm(x); }));
}

TEST_CASE("a relu and its gradients are those of direct loops") {
  SUBCASE("in place") {
    check_against_reference(between([](Network& net, Value x) { return net.relu(net.batch_norm(x)); }));
  }
  SUBCASE("beside another reader") {
    check_against_reference(between([](Network& net, Value x) { return net.sum(net.relu(x), x); }));
  }
}

TEST_CASE("poolings and their gradients are those of direct loops") {
  SUBCASE("maximum") {
    check_against_reference(between([](Network& net, Value x) { return net.max_pool(x, {}); }));
  }
  SUBCASE("maximum with padding and overlap") {
    check_against_reference(between([](Network& net, Value x) {
      return net.max_pool(x, {.kernel = three, .stride = {2, 2}, .padding = one});
    }));
  }
  SUBCASE("mean, of which padding is no part") {
    check_against_reference(between([](Network& net, Value x) {
      return net.mean_pool(x, {.kernel = three, .stride = one, .padding = one});
    }));
  }
  SUBCASE("mean of the image") {
    check_against_reference(between([](Network& net, Value x) { return net.mean_of_image(x); }));
  }
}

TEST_CASE("a concatenation and its gradients are those of direct loops") {
  check_against_reference(between([](Network& net, Value x) {
    const auto a = net.convolution(x, {.channels = 3});
    const auto b = net.convolution(x, {.channels = 17});
    return net.concat({a, x, b, a});
  }));
}

TEST_CASE("a sum and its gradients are those of direct loops") {
  SUBCASE("in place") {
    check_against_reference(between([](Network& net, Value x) {
      return net.sum(net.convolution(x, {.channels = 5}), net.convolution(x, {.channels = 5}));
    }));
  }
  SUBCASE("of what a relu gave, which its backward pass reads") {
    check_against_reference(between(
        [](Network& net, Value x) { return net.sum(net.relu(net.convolution(x, {.channels = 5})), x); }));
  }
  SUBCASE("of a value and itself") {
    check_against_reference(between([](Network& net, Value x) { return net.relu(net.sum(x, x)); }));
  }
}

TEST_CASE("gradients of a value with many consumers are summed") {
  check_against_reference(between([](Network& net, Value x) {
    const auto a = net.relu(net.batch_norm(x));
    const auto b = net.convolution(a, {.channels = 5, .kernel = three, .padding = one});
    const auto c = net.sum(net.sum(a, net.relu(b)), x);
    return net.concat({net.sum(c, a), net.relu(c), b});
  }));
}

TEST_CASE("a dropout and its gradients are those of direct loops with the same mask") {
  SUBCASE("of an image, in place") {
    check_against_reference(between([](Network& net, Value x) { return net.dropout(x, {}); }));
  }
  SUBCASE("of what a relu gave") {
    check_against_reference(between([](Network& net, Value x) { return net.dropout(net.relu(x), {}); }));
  }
}

TEST_CASE("an embedding, an LSTM and their gradients are those of direct loops") {
  Network net{"sequence"};
  auto x = net.embedding(net.input({4, 3}), {.count = 3, .width = 5});
  SUBCASE("embedding") {}
  SUBCASE("one") { x = net.lstm(x, {.width = 6}); }
  SUBCASE("two, of other widths") { x = net.lstm(net.lstm(x, {.width = 6}), {.width = 16}); }
  SUBCASE("step by step") { x = net.lstm(x, {.width = 6, .steps_at_once = 1}); }
  SUBCASE("some steps at once, and a rest") {
    x = net.lstm(net.lstm(x, {.width = 6, .steps_at_once = 3}), {.width = 16, .steps_at_once = 2});
  }
  SUBCASE("a stack") { x = net.lstm(x, {.width = 16, .layers = 2}); }
  SUBCASE("a stack, some steps at once, and a rest") {
    x = net.lstm(x, {.width = 16, .layers = 2, .steps_at_once = 3});
  }
  net.softmax_loss(net.inner_product(x, {.width = 3}));
  check_against_reference(net);
}

TEST_CASE("a layer norm and its gradients are those of direct loops") {
  SUBCASE("of rows") {
    check_against_reference(
        on_images([](Network& net, Value x) { return net.layer_norm(net.inner_product(x, {.width = 6})); }));
  }
  SUBCASE("of sequences, of a width that fills no vectors") {
    check_against_reference(on_sequences([](Network& net, Value x) {
      return net.layer_norm(net.inner_product(net.layer_norm(x), {.width = 37}));
    }));
  }
}

TEST_CASE("a position embedding and its gradients are those of direct loops") {
  SUBCASE("in place") {
    check_against_reference(
        on_sequences([](Network& net, Value x) { return net.position_embedding(x, {.count = 5}); }));
  }
  SUBCASE("beside another reader") {
    check_against_reference(on_sequences(
        [](Network& net, Value x) { return net.sum(net.position_embedding(x, {.count = 5}), x); }));
  }
  SUBCASE("of sequences that are shorter than the longest") {
    check_against_reference(
        on_sequences([](Network& net, Value x) { return net.position_embedding(x, {.count = 9}); }));
  }
}

TEST_CASE("attention and its gradients are those of direct loops") {
  const auto check = [](std::int64_t heads, const Dims& ids) {
    check_against_reference(on_sequences(
        [&](Network& net, Value x) {
          return net.attention(net.inner_product(x, {.width = 3 * 12}), {.heads = heads});
        },
        ids));
  };
  SUBCASE("of one head") { check(1, {5, 3}); }
  SUBCASE("of some") { check(4, {5, 3}); }
  SUBCASE("of sequences longer than a vector") { check(2, {37, 2}); }
  SUBCASE("of one step, which has only itself") { check(3, {1, 4}); }
}

TEST_CASE("a Transformer and its gradients are those of direct loops") {
  const NetworkOptions options{.batch = 2, .classes = 3, .steps = 6, .width = 8};
  const auto networks = make_networks(find_network("transformer"), options);
  check_against_reference(networks.front());
  check_against_reference(networks.back());
}

TEST_CASE("a prediction is that of direct loops, by running statistics and without dropout") {
  const auto net = between([](Network& n, Value x) {
    const auto y = n.dropout(n.relu(n.batch_norm(x)), {});
    return n.concat({n.batch_norm(n.convolution(y, {.channels = 4, .bias = true})), y});
  });
  const auto batch = random_batch(net);
  PlainMemory memory;
  const auto training = lower_training(net, {});
  const auto prediction = lower_prediction(net, {});
  const Parameters parameters{training, memory, seed};
  Executor learner{training, parameters, memory, {}};
  auto learned = iteration_of(net, batch);
  learned.rate = 0.01F;
  for (int i = 0; i < 3; ++i) learner.run(learned);  // running statistics start from 0 and 1
  const auto weights = weights_in(parameters);
  Executor predictor{prediction, parameters, memory, {}};
  auto predicted = iteration_of(net, batch);
  predictor.run(predicted);
  CHECK(predicted.loss == doctest::Approx(reference_loss(net, weights, batch, {})).epsilon(1e-5));
  CHECK(predicted.loss != doctest::Approx(reference_loss(net, weights, batch, kept)).epsilon(1e-2));
  CHECK(weights_in(parameters) == weights);
}

TEST_CASE("running statistics go a tenth of the way to those of each batch") {
  const auto net = on_images([](Network& n, Value x) { return n.batch_norm(x); }, {2, 1, 1, 2});
  const Batch batch{.inputs = {1, 3, 5, 7}, .labels = {0, 1}};  // of mean 4 and variance 5
  const auto after = learn_once(net, batch).after;
  CHECK(after.at("bn1.running_mean").front() == doctest::Approx(0.4));
  CHECK(after.at("bn1.running_variance").front() == doctest::Approx(1 + (5 - 1) / 10.0));
}

TEST_CASE("adam's later steps are those that its authors wrote down, with weights that decay") {
  constexpr double rate = 0.125, decay = 0.25;
  float w[] = {1};
  float mean[1]{}, square[1]{};
  double expected = 1, m = 0, v = 0;
  std::uint64_t number = 0;
  for (const float g : {0.5F, -2.0F, 0.25F, 1.0F, 0.0F}) {
    step_adam({w, &g, mean, square, 1}, {.number = number, .rate = rate}, decay);
    ++number;
    m = 0.9 * m + 0.1 * double{g};
    v = 0.999 * v + 0.001 * double{g} * double{g};
    const auto n = static_cast<double>(number);
    const double of_mean = m / (1 - std::pow(0.9, n));
    const double of_square = v / (1 - std::pow(0.999, n));
    expected -= rate * (of_mean / (std::sqrt(of_square) + 1e-8) + decay * expected);
    CHECK(w[0] == doctest::Approx(expected).epsilon(1e-4));
  }
}

TEST_CASE("adam goes a rate's length at first, whatever the gradient") {
  float w[] = {1, 1, 1};
  const float g[] = {100, -0.01F, 0};
  float mean[3]{}, square[3]{};
  step_adam({w, g, mean, square, 3}, {.rate = 0.25F}, 0);
  CHECK(w[0] == doctest::Approx(0.75));
  CHECK(w[1] == doctest::Approx(1.25));
  CHECK(w[2] == 1);
}

TEST_CASE("sgd keeps a share of its velocity and lets weights decay") {
  float w[] = {2};
  const float g[] = {1};
  float velocity[] = {4};
  step_sgd({w, g, velocity, 1}, 0.5F, 0.25F, 0.125F);
  CHECK(velocity[0] == doctest::Approx(0.25 * 4 + 1 + 0.125 * 2));
  CHECK(w[0] == doctest::Approx(2 - 0.5 * 2.25));
}

TEST_CASE("what is dropped depends on the key and the place alone") {
  const std::vector<float> ones(1000, 1);
  std::vector<float> a(1000), b(1000), c(1000);
  drop_out(1000, 0.25F, 1, ones.data(), a.data());
  drop_out(1000, 0.25F, 1, ones.data(), b.data());
  drop_out(1000, 0.25F, 2, ones.data(), c.data());
  CHECK(a == b);
  CHECK(a != c);
  const auto dropped = std::ranges::count(a, 0.0F);
  CHECK(dropped > 200);
  CHECK(dropped < 300);
  CHECK(std::set<float>(a.begin(), a.end()) == std::set<float>{0, 1 / 0.75F});
}

}  // namespace layers_test
