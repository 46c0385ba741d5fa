// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  DenseNet (Huang et al., 2016).
#include "networks/blocks.hpp"
#include "networks/networks.hpp"

namespace training {
namespace {

constexpr std::int64_t usual_image = 224;

Value stem(Network& net, const NetworkOptions& o) {
  const auto image = o.image > 0 ? o.image : usual_image;
  const auto x = net.input({o.batch, o.channels, image, image});
  return net.max_pool(conv_bn_relu(net, x, same_size(2 * o.growth, {7, 7}, 2)),
                      {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}});
}

Value dense_block(Network& net, Value x, int layers, std::int64_t growth) {
  for (int i = 0; i < layers; ++i) {
    auto y = bn_relu_conv(net, x, same_size(4 * growth, {1, 1}));
    y = bn_relu_conv(net, y, same_size(growth, {3, 3}));
    x = net.concat({x, y});
  }
  return x;
}

Value transition(Network& net, Value x, std::int64_t channels) {
  return net.mean_pool(bn_relu_conv(net, x, same_size(channels, {1, 1})),
                       {.kernel = {2, 2}, .stride = {2, 2}});
}

}  // namespace

Network densenet(std::string name, const std::array<int, 4>& layers, const NetworkOptions& o) {
  Network net{std::move(name)};
  auto x = stem(net, o);
  for (std::size_t block = 0; block < layers.size(); ++block) {
    if (block > 0) x = transition(net, x, net.shape(x)[1] / 2);
    x = dense_block(net, x, layers[block], o.growth);
  }
  classify(net, net.relu(net.batch_norm(x)), o.classes);
  return net;
}

Network densenet_of_autotm(std::string name, const std::array<int, 4>& layers, const NetworkOptions& o) {
  Network net{std::move(name)};
  auto x = stem(net, o);
  for (std::size_t block = 0; block < layers.size(); ++block) {
    if (block > 0) x = transition(net, x, 2 * o.growth);
    x = dense_block(net, x, layers[block], o.growth);
  }
  classify(net, x, o.classes);
  return net;
}

}  // namespace training
