// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Networks that learn in a moment, with their data.
#include <tier/memory/tiers.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "networks/networks.hpp"
#include "trainer/data/images.hpp"
#include "trainer/data/text.hpp"
#include "trainer/plain_memory.hpp"
#include "trainer/train.hpp"

namespace training::test {

inline const std::atomic<bool> never{false};

/// A network with data and a few iterations.
struct Case {
  Steps steps;
  std::unique_ptr<Data> data;
  TrainOptions options;

  [[nodiscard]] RunResult run(Memory& memory, std::size_t prefetch_budget = 0,
                              const OnIteration& on_iteration = {}) const {
    auto with_budget = options;
    with_budget.budget = moving_ahead(prefetch_budget);
    return train("run", steps, *data, memory, with_budget, never, on_iteration);
  }
  [[nodiscard]] RunResult run_plain() const {
    PlainMemory memory;
    return run(memory);
  }
};

/// \param network  on images of ten classes
inline Case on_generated_images(const Network& network, std::uint64_t iterations) {
  const auto& input = network.layers().front().shape;
  return {.steps = lower_all({&network, 1}, {.decay = 1e-4F}),
          .data = std::make_unique<ImageData>(generated_images(256, 1), generated_images(64, 2), 1, true),
          .options = {.shape = {.batch = input[0], .image = input[2]},
                      .iterations = iterations,
                      .seed = 3,
                      .test_batches = 4}};
}

inline Case small_resnet(std::uint64_t iterations) {
  const NetworkOptions options{.batch = 16, .image = 16, .classes = 10};
  return on_generated_images(resnet_of_small_images("small", 3, options), iterations);
}

/// Returns a network of convolutions with biases, pooled and concatenated outputs, and a dropout.
inline Network forked_network() {
  constexpr Convolution convolution{.channels = 24, .kernel = {3, 3}, .padding = {1, 1}, .bias = true};
  constexpr Pooling around{.kernel = {3, 3}, .stride = {1, 1}, .padding = {1, 1}};
  Network net{"forked"};
  auto x = net.relu(net.convolution(net.input({16, 3, 16, 16}), convolution));
  x = net.concat({net.relu(net.convolution(x, convolution)), net.mean_pool(x, around), x});
  x = net.dropout(net.relu(net.convolution(net.max_pool(x, {}), convolution)), {});
  net.softmax_loss(net.inner_product(x, {.width = 10}));
  return net;
}

/// Makes a language model on characters.   \param data  text; none: generated
inline Case small_language_model(std::string_view network, std::uint64_t iterations,
                                 std::unique_ptr<Data> data = {}, std::int64_t steps_at_once = 0) {
  if (!data) data = std::make_unique<TextData>(generated_text(20'000, 1), 1);
  const NetworkOptions options{
      .batch = 8, .classes = data->classes(), .steps = 12, .width = 32, .steps_at_once = steps_at_once};
  return {.steps = lower_all(make_networks(find_network(network), options), {.optimizer = Optimizer::Adam}),
          .data = std::move(data),
          .options = {.shape = {.batch = 8, .steps = 12},
                      .iterations = iterations,
                      .rate = 0.01F,
                      .seed = 3,
                      .test_batches = 4}};
}

/// Returns a fifth of the peak; more if the CPU cannot use the slow tier and a kernel needs it.
inline tier::Bytes a_fifth(const Case& c, const tier::TierSpec& slow) {
  const auto fifth = peak_bytes(c.steps) / 5;
  if (slow.kind != tier::TierKind::File) return {fifth};
  return {std::max(fifth, largest_working_set(c.steps).bytes * 5 / 4)};
}

/// Returns the bytes that moved or were used in a slower tier.
inline std::uint64_t moved_by(const RunResult& run) {
  std::uint64_t sum = run.traffic.in_place_bytes;
  for (const auto& [pair, bytes] : run.traffic.bytes_moved) sum += bytes;
  return sum;
}

}  // namespace training::test
