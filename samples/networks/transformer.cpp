// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  A Transformer (Vaswani et al., 2017) as a language model: causal, with layer norms before each sublayer.
#include "networks/networks.hpp"

namespace training {
namespace {

constexpr int blocks = 4;
constexpr std::int64_t heads = 4;
constexpr std::int64_t expansion = 4;

Value attention(Network& net, Value x) {
  const auto width = net.shape(x)[2];
  const auto rows = net.inner_product(net.layer_norm(x), {.width = 3 * width});
  return net.inner_product(net.attention(rows, {.heads = heads}), {.width = width});
}

Value feed_forward(Network& net, Value x) {
  const auto width = net.shape(x)[2];
  const auto hidden = net.relu(net.inner_product(net.layer_norm(x), {.width = expansion * width}));
  return net.inner_product(hidden, {.width = width});
}

}  // namespace

Network transformer(const NetworkOptions& o) {
  Network net{"transformer"};
  const auto ids = net.input({o.length > 0 ? o.length : o.steps, o.batch});
  auto x = net.embedding(ids, {.count = o.classes, .width = o.width});
  x = net.position_embedding(x, {.count = o.steps});
  for (int i = 0; i < blocks; ++i) {
    x = net.sum(attention(net, x), x);
    x = net.sum(feed_forward(net, x), x);
  }
  net.softmax_loss(net.inner_product(net.layer_norm(x), {.width = o.classes}));
  return net;
}

}  // namespace training
