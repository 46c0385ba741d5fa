// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "model.hpp"

namespace dlrm {
namespace {

// Counts weights, gradients and sums of squares, and outputs with their gradients.
std::size_t floats_of_layers(const std::vector<std::size_t>& widths, std::size_t batch) {
  std::size_t sum = 0;
  for (std::size_t i = 0; i + 1 < widths.size(); ++i)
    sum += 3 * (widths[i] + 1) * widths[i + 1] + 2 * batch * widths[i + 1];
  return sum;
}

}  // namespace

std::vector<std::size_t> chain(std::size_t first, std::vector<std::size_t> widths, std::size_t last) {
  widths.insert(widths.begin(), first);
  widths.push_back(last);
  return widths;
}

std::size_t dense_floats(const ModelOptions& options) {
  const auto features = 1 + options.rows.size();
  const auto pairs = Interaction::width(features, options.dim);
  const auto of_a_sample = options.dense + 4 * features * options.dim + features * features + 2 * pairs;
  return floats_of_layers(chain(options.dense, options.bottom, options.dim), options.batch) +
         floats_of_layers(chain(pairs, options.top, 1), options.batch) + options.batch * of_a_sample;
}

}  // namespace dlrm
