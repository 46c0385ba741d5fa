// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "networks/networks.hpp"

namespace training {

Network lstm_language_model(const NetworkOptions& o) {
  Network net{"lstm"};
  const auto ids = net.input({o.steps, o.batch});
  const auto x = net.embedding(ids, {.count = o.classes, .width = o.width});
  const auto y = net.lstm(x, {.width = o.width, .layers = 2, .steps_at_once = o.steps_at_once});
  net.softmax_loss(net.inner_product(y, {.width = o.classes}));
  return net;
}

}  // namespace training
