// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "embedding.hpp"

#include "common/hashing.hpp"

namespace dlrm {

using sample::mix;
using sample::unit;

namespace {

constexpr double initial_spread = 0.05;  // small against a few updates, but large enough to tell rows apart

}  // namespace

void initial_row(const TableShape& shape, RowId row, std::span<float> values) {
  const auto key = mix(shape.seed, shape.table, row);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((2 * unit(mix(key + i)) - 1) * initial_spread);
  }
}

}  // namespace dlrm
