// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The kernels that oneDNN lacks, or has not as one (a loss with its gradient), on plain pointers. The same inputs and number of threads give the same bits.
#include <cstddef>
#include <cstdint>
#include <span>

#include "step/step.hpp"

namespace training {

struct SgdArrays {
  float* weights;
  const float* gradient;
  float* velocity;
  std::size_t count;
};
/// v = momentum v + g + decay w;  w -= rate v
void step_sgd(const SgdArrays& arrays, float rate, float momentum, float decay);

struct AdamArrays {
  float* weights;
  const float* gradient;
  float* mean;
  float* square;
  std::size_t count;
};
/// Kingma and Ba, 2015, with weights that decay on their own (Loshchilov and Hutter, 2019).
void step_adam(const AdamArrays& arrays, const Iteration& iteration, float decay);

/// Rows of logits and their labels.
struct LossShape {
  std::size_t rows, classes;
};
/// \param[out] probabilities  softmax of the logits
/// \param[out] losses         of each row
void softmax_losses(const LossShape& shape, const float* logits, const float* labels, float* probabilities,
                    float* losses);
/// The mean of the losses, and how often the likeliest class is the right one; summed in the order of rows.
void add_up(const LossShape& shape, const float* probabilities, const float* labels, const float* losses,
            Iteration& iteration);
void softmax_gradient(const LossShape& shape, const float* probabilities, const float* labels,
                      float* gradient);

/// Sets a share of the values to 0 and scales the others up. Which ones is a function of the key alone.
void drop_out(std::size_t count, float share, std::uint64_t key, const float* x, float* y);

/// running += (batch - running) / 10
void follow(std::size_t count, const float* batch, float* running);

/// rows[i] = table[ids[i]]   \throws  `std::out_of_range`
void embed(std::size_t count, std::size_t width, std::size_t rows, const float* ids, const float* table,
           float* out);
/// The gradient of the table, summed in the order of ids.
void embed_back(std::size_t count, std::size_t width, std::size_t rows, const float* ids,
                const float* gradient, float* table);

/// The gradient of what each step of a sequence has added to its rows, of `longest` steps: of later ones than there are, 0.
struct PositionShape {
  std::size_t steps, batch, width, longest;
};
void position_gradient(const PositionShape& shape, const float* gradient, float* positions);

/// Sets what queries have to do with later keys to the least of numbers, of which softmax makes 0 as of minus infinity, in
/// `count` matrices of a row for each query.
void mask_later(std::size_t count, std::size_t steps, float* scores);

/// Element `i` of a stream of normal numbers.
[[nodiscard]] float normal(std::uint64_t key, std::uint64_t i);
void initialise(const Initial& initial, std::uint64_t key, std::span<float> values);

}  // namespace training
