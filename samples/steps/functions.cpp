// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "steps/functions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>

#include "common/hashing.hpp"

namespace training {

void step_sgd(const SgdArrays& a, float rate, float momentum, float decay) {
#pragma omp parallel for simd schedule(static)
  for (std::size_t i = 0; i < a.count; ++i) {
    a.velocity[i] = momentum * a.velocity[i] + (a.gradient[i] + decay * a.weights[i]);
    a.weights[i] -= rate * a.velocity[i];
  }
}

void step_adam(const AdamArrays& a, const Iteration& iteration, float decay) {
  constexpr float keep_mean = 0.9F;
  constexpr float keep_square = 0.999F;
  constexpr float epsilon = 1e-8F;
  const auto steps = static_cast<double>(iteration.number + 1);
  const auto of_mean = static_cast<float>(1 / (1 - std::pow(double{keep_mean}, steps)));
  const auto of_square = static_cast<float>(1 / (1 - std::pow(double{keep_square}, steps)));
  const float rate = iteration.rate;
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < a.count; ++i) {
    const float g = a.gradient[i];
    a.mean[i] = keep_mean * a.mean[i] + (1 - keep_mean) * g;
    a.square[i] = keep_square * a.square[i] + (1 - keep_square) * g * g;
    const float step = a.mean[i] * of_mean / (std::sqrt(a.square[i] * of_square) + epsilon);
    a.weights[i] -= rate * (step + decay * a.weights[i]);
  }
}

void softmax_losses(const LossShape& shape, const float* logits, const float* labels, float* probabilities,
                    float* losses) {
  const auto classes = shape.classes;
#pragma omp parallel for schedule(static)
  for (std::size_t row = 0; row < shape.rows; ++row) {
    const float* x = logits + row * classes;
    float* p = probabilities + row * classes;
    const float top = *std::max_element(x, x + classes);
    float sum = 0;
    for (std::size_t i = 0; i < classes; ++i) sum += p[i] = std::exp(x[i] - top);
    for (std::size_t i = 0; i < classes; ++i) p[i] /= sum;
    const auto label = static_cast<std::size_t>(labels[row]);
    losses[row] = std::log(sum) - (x[label] - top);
  }
}

void add_up(const LossShape& shape, const float* probabilities, const float* labels, const float* losses,
            Iteration& iteration) {
  double sum = 0;
  iteration.correct = 0;
  for (std::size_t row = 0; row < shape.rows; ++row) {
    sum += losses[row];
    const float* p = probabilities + row * shape.classes;
    const auto likeliest = static_cast<std::size_t>(std::max_element(p, p + shape.classes) - p);
    iteration.correct += likeliest == static_cast<std::size_t>(labels[row]) ? 1 : 0;
  }
  iteration.loss = sum / static_cast<double>(shape.rows);
  iteration.rows = shape.rows;
}

void softmax_gradient(const LossShape& shape, const float* probabilities, const float* labels,
                      float* gradient) {
  const auto classes = shape.classes;
  const float scale = 1.0F / static_cast<float>(shape.rows);
#pragma omp parallel for schedule(static)
  for (std::size_t row = 0; row < shape.rows; ++row) {
    for (std::size_t i = 0; i < classes; ++i)
      gradient[row * classes + i] = probabilities[row * classes + i] * scale;
    gradient[row * classes + static_cast<std::size_t>(labels[row])] -= scale;
  }
}

void drop_out(std::size_t count, float share, std::uint64_t key, const float* x, float* y) {
  const float scale = 1 / (1 - share);
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < count; ++i)
    y[i] = sample::unit(sample::mix(key, i)) < double{share} ? 0.0F : x[i] * scale;
}

void follow(std::size_t count, const float* batch, float* running) {
  constexpr float rate = 0.1F;
  for (std::size_t i = 0; i < count; ++i) running[i] += rate * (batch[i] - running[i]);
}

namespace {
std::size_t checked_id(float id, std::size_t rows) {
  if (id >= 0 && id < static_cast<float>(rows)) return static_cast<std::size_t>(id);
  throw std::out_of_range{fmt::format("an embedding of {} rows has no row {}", rows, id)};
}
}  // namespace

void embed(std::size_t count, std::size_t width, std::size_t rows, const float* ids, const float* table,
           float* out) {
  for (std::size_t i = 0; i < count; ++i)
    std::copy_n(table + checked_id(ids[i], rows) * width, width, out + i * width);
}

void embed_back(std::size_t count, std::size_t width, std::size_t rows, const float* ids,
                const float* gradient, float* table) {
  std::fill_n(table, rows * width, 0.0F);
  for (std::size_t i = 0; i < count; ++i) {
    float* row = table + checked_id(ids[i], rows) * width;
    for (std::size_t j = 0; j < width; ++j) row[j] += gradient[i * width + j];
  }
}

void position_gradient(const PositionShape& shape, const float* gradient, float* positions) {
  const auto [steps, batch, width, longest] = shape;
  std::fill_n(positions, longest * width, 0.0F);
  for (std::size_t i = 0; i < steps * batch; ++i) {
    float* row = positions + i / batch * width;
    for (std::size_t j = 0; j < width; ++j) row[j] += gradient[i * width + j];
  }
}

void mask_later(std::size_t count, std::size_t steps, float* scores) {
#pragma omp parallel for schedule(static)
  for (std::size_t row = 0; row < count * steps; ++row) {
    const auto later = row % steps + 1;
    std::fill_n(scores + row * steps + later, steps - later, std::numeric_limits<float>::lowest());
  }
}

float normal(std::uint64_t key, std::uint64_t i) {
  const double a = 1 - sample::unit(sample::mix(key, 2 * i));  // in (0, 1]
  const double b = sample::unit(sample::mix(key, 2 * i + 1));
  return static_cast<float>(std::sqrt(-2 * std::log(a)) * std::cos(2 * std::numbers::pi * b));
}

void initialise(const Initial& initial, std::uint64_t key, std::span<float> values) {
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float value = i < initial.ones ? 1 : initial.value;
    values[i] = initial.deviation > 0 ? value + initial.deviation * normal(key, i) : value;
  }
}

}  // namespace training
