// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Kernels on plain pointers that oneDNN lacks, or lacks as one (a loss with its gradient). Equal inputs and
///        an equal number of threads give the same bits.
#include <cstddef>
#include <cstdint>
#include <span>

#include "steps/step.hpp"

namespace training {

struct SgdArrays {
  float* weights;
  const float* gradient;
  float* velocity;
  std::size_t count;
};
/// Computes v = momentum v + g + decay w;  w -= rate v.
void step_sgd(const SgdArrays& arrays, float rate, float momentum, float decay);

struct AdamArrays {
  float* weights;
  const float* gradient;
  float* mean;
  float* square;
  std::size_t count;
};
/// Adam (Kingma and Ba, 2015), with decoupled weight decay (Loshchilov and Hutter, 2019).
void step_adam(const AdamArrays& arrays, const Iteration& iteration, float decay);

/// Rows of logits and their labels.
struct LossShape {
  std::size_t rows, classes;
};
/// \param[out] probabilities  softmax of the logits
/// \param[out] losses         of each row
void softmax_losses(const LossShape& shape, const float* logits, const float* labels, float* probabilities,
                    float* losses);
/// Computes the mean loss, and how often the most likely class is right; summed in the order of rows.
void add_up(const LossShape& shape, const float* probabilities, const float* labels, const float* losses,
            Iteration& iteration);
void softmax_gradient(const LossShape& shape, const float* probabilities, const float* labels,
                      float* gradient);

/// Sets a share of the values to 0 and scales the others up. The choice depends only on the key.
void drop_out(std::size_t count, float share, std::uint64_t key, const float* x, float* y);

/// Computes running += (batch - running) / 10.
void follow(std::size_t count, const float* batch, float* running);

/// Computes rows[i] = table[ids[i]].   \throws  `std::out_of_range`
void embed(std::size_t count, std::size_t width, std::size_t rows, const float* ids, const float* table,
           float* out);
/// Computes the gradient of the table, summed in the order of ids.
void embed_back(std::size_t count, std::size_t width, std::size_t rows, const float* ids,
                const float* gradient, float* table);

/// Shape of a position embedding's gradient: of `longest` steps; rows of steps beyond the sequence get 0.
struct PositionShape {
  std::size_t steps, batch, width, longest;
};
void position_gradient(const PositionShape& shape, const float* gradient, float* positions);

/// Masks scores of later keys in `count` matrices with a row per query: they become the lowest float, for which softmax
/// gives 0, as for minus infinity.
void mask_later(std::size_t count, std::size_t steps, float* scores);

/// Returns element `i` of a stream of normal numbers.
[[nodiscard]] float normal(std::uint64_t key, std::uint64_t i);
void initialise(const Initial& initial, std::uint64_t key, std::span<float> values);

}  // namespace training
