// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The functions that turn each kind of layer into kernels.
#include "steps/lowering.hpp"

namespace training {

using Lowered = std::unique_ptr<LoweredLayer>;

[[nodiscard]] Lowered lower_input(const Layer& layer, Value self);
[[nodiscard]] Lowered lower_convolution(const Layer& layer, Value self);
[[nodiscard]] Lowered lower_batch_norm(const Layer& layer, Value self);
[[nodiscard]] Lowered lower_relu(const Layer& layer, Value self);
[[nodiscard]] Lowered lower_pooling(const Layer& layer, Value self);
[[nodiscard]] Lowered lower_concat(const Layer& layer, Value self);
[[nodiscard]] Lowered lower_sum(const Layer& layer, Value self);
[[nodiscard]] Lowered lower_inner_product(const Layer& layer, Value self);
[[nodiscard]] Lowered lower_dropout(const Layer& layer, Value self);
[[nodiscard]] Lowered lower_embedding(const Layer& layer, Value self);
[[nodiscard]] Lowered lower_lstm(const Layer& layer, Value self);
[[nodiscard]] Lowered lower_layer_norm(const Layer& layer, Value self);
[[nodiscard]] Lowered lower_position_embedding(const Layer& layer, Value self);
[[nodiscard]] Lowered lower_attention(const Layer& layer, Value self);
[[nodiscard]] Lowered lower_softmax_loss(const Layer& layer, Value self);

}  // namespace training
