// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "networks/networks.hpp"

namespace training {

Network lstm_language_model(const NetworkOptions& o) {
  Network net{"lstm"};
  const auto ids = net.input({o.steps, o.batch});
  auto x = net.embedding(ids, {.count = o.classes, .width = o.width});
  for (int i = 0; i < 2; ++i) x = net.lstm(x, {.width = o.width, .steps_at_once = o.steps_at_once});
  net.softmax_loss(net.inner_product(x, {.width = o.classes}));
  return net;
}

}  // namespace training
