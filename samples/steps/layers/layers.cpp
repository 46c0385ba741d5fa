// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "steps/layers/layers.hpp"

#include <array>

namespace training {
namespace {

struct Of {
  Lowered (*lower)(const Layer& layer, Value self);
  BackwardReads backward;
};

/// In the order of `Attributes`.
constexpr std::array<Of, std::variant_size_v<Attributes>> kinds{{
    {lower_input, {.input = false, .output = false}},
    {lower_convolution, {.input = true, .output = false}},
    {lower_batch_norm, {.input = true, .output = false}},
    {lower_relu, {.input = false, .output = true}},  // its slope follows from its output
    {lower_pooling, {.input = false, .output = false}},
    {lower_concat, {.input = false, .output = false}},
    {lower_sum, {.input = false, .output = false}},
    {lower_inner_product, {.input = true, .output = false}},
    {lower_dropout, {.input = false, .output = false}},  // its mask is computed again
    {lower_embedding, {.input = true, .output = false}},
    {lower_lstm, {.input = true, .output = true}},
    {lower_layer_norm, {.input = true, .output = false}},
    {lower_position_embedding, {.input = false, .output = false}},
    {lower_attention, {.input = true, .output = false}},
    {lower_softmax_loss, {.input = false, .output = false}},
}};

}  // namespace

std::unique_ptr<LoweredLayer> make_lowered(const Layer& layer, Value self) {
  return kinds[layer.attributes.index()].lower(layer, self);
}

BackwardReads backward_reads(const Attributes& attributes) { return kinds[attributes.index()].backward; }

}  // namespace training
