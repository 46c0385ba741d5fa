// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "embedding.hpp"

#include <algorithm>
#include <cmath>

#include "dense_kernels.hpp"
#include "logs/hashing.hpp"

namespace dlrm {
namespace {

constexpr double initial_spread =
    0.05;  // small against what a few updates add, large enough to tell rows apart

// Eight sums side by side, so that the order of additions is the same whatever the compiler makes of it.
float mean_square(const float* values, std::size_t count) {
  float lanes[8] = {};
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (std::size_t lane = 0; lane < 8; ++lane) lanes[lane] += values[i + lane] * values[i + lane];
  }
  for (; i < count; ++i) lanes[i % 8] += values[i] * values[i];
  float sum = 0;
  for (const float lane : lanes) sum += lane;
  return sum / static_cast<float>(count);
}

}  // namespace

void RowOptimizer::operator()(float* row, const float* gradient, std::size_t dim) const {
  float step = rate;
  if (kind == Optimizer::Adagrad) {
    row[dim] += mean_square(gradient, dim);
    step /= std::sqrt(row[dim]) + adagrad_epsilon;
  }
#pragma omp simd
  for (std::size_t i = 0; i < dim; ++i) row[i] -= step * gradient[i];
}

void initial_row(const TableShape& shape, RowId row, float* values) {
  const auto key = mix(shape.seed, shape.table, row);
  for (std::size_t i = 0; i < shape.dim; ++i) {
    values[i] = static_cast<float>((2 * unit(mix(key + i)) - 1) * initial_spread);
  }
  std::fill_n(values + shape.dim, shape.optimizer.state_floats(), 0.0F);
}

void sum_gradients(std::span<const std::uint64_t> occurrences, const float* gradients, std::size_t stride,
                   std::size_t dim, float* sum) {
  std::copy_n(gradients + Lookup::sample_of(occurrences.front()) * stride, dim, sum);
  for (const auto occurrence : occurrences.subspan(1)) {
    const float* gradient = gradients + Lookup::sample_of(occurrence) * stride;
#pragma omp simd
    for (std::size_t i = 0; i < dim; ++i) sum[i] += gradient[i];
  }
}

}  // namespace dlrm
