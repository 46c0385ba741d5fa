// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  ResNet (He et al., 2015 and 2016).
#include "networks/blocks.hpp"
#include "networks/networks.hpp"

namespace training {
namespace {

constexpr std::int64_t usual_image = 224;
constexpr std::int64_t expansion = 4;

Value input(Network& net, const NetworkOptions& o, std::int64_t usual) {
  const auto image = o.image > 0 ? o.image : usual;
  return net.input({o.batch, o.channels, image, image});
}

Value pool(Network& net, Value x) {
  return net.max_pool(x, {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}});
}

struct Bottleneck {
  std::int64_t channels;
  std::int64_t stride;
  bool first;  ///< in its part
};

/// Calls `block(x, Bottleneck)` for each of four parts.
Value parts(Value x, const std::array<int, 4>& blocks, auto block) {
  std::int64_t channels = 64;
  for (std::size_t part = 0; part < blocks.size(); ++part, channels *= 2) {
    for (int i = 0; i < blocks[part]; ++i)
      x = block(x, Bottleneck{channels, i == 0 && part > 0 ? 2 : 1, i == 0});
  }
  return x;
}

/// \param strided  index of the convolution, of three, that has the stride
Value bottleneck(Network& net, Value x, const Bottleneck& b, int strided) {
  auto y = conv_bn_relu(net, x, same_size(b.channels, {1, 1}));
  y = conv_bn_relu(net, y, same_size(b.channels, {3, 3}, strided == 1 ? b.stride : 1));
  y = conv_bn(net, y, same_size(expansion * b.channels, {1, 1}, strided == 2 ? b.stride : 1));
  const auto shortcut = b.first ? conv_bn(net, x, same_size(expansion * b.channels, {1, 1}, b.stride)) : x;
  return net.relu(net.sum(y, shortcut));
}

Network bottlenecks(std::string name, const std::array<int, 4>& blocks, const NetworkOptions& o,
                    int strided) {
  Network net{std::move(name)};
  auto x = pool(net, conv_bn_relu(net, input(net, o, usual_image), same_size(64, {7, 7}, 2)));
  x = parts(x, blocks, [&](Value y, const Bottleneck& b) { return bottleneck(net, y, b, strided); });
  classify(net, x, o.classes);
  return net;
}

Value bottleneck_v2(Network& net, Value x, const Bottleneck& b) {
  const auto active = net.relu(net.batch_norm(x));
  auto y = net.convolution(active, same_size(b.channels, {1, 1}));
  y = bn_relu_conv(net, y, same_size(b.channels, {3, 3}, b.stride));
  y = bn_relu_conv(net, y, same_size(expansion * b.channels, {1, 1}));
  const auto shortcut =
      b.first ? net.convolution(active, same_size(expansion * b.channels, {1, 1}, b.stride)) : x;
  return net.sum(y, shortcut);
}

Value basic_block(Network& net, Value x, std::int64_t channels, std::int64_t stride) {
  auto y = conv_bn_relu(net, x, same_size(channels, {3, 3}, stride));
  y = conv_bn(net, y, same_size(channels, {3, 3}));
  const bool widens = net.shape(x)[1] != channels;
  return net.relu(net.sum(y, widens ? conv_bn(net, x, same_size(channels, {1, 1}, stride)) : x));
}

}  // namespace

Network resnet_of_small_images(std::string name, int blocks, const NetworkOptions& o) {
  Network net{std::move(name)};
  auto x = conv_bn_relu(net, input(net, o, 32), same_size(16, {3, 3}));
  for (const std::int64_t channels : {16, 32, 64}) {
    for (int i = 0; i < blocks; ++i) x = basic_block(net, x, channels, i == 0 && channels > 16 ? 2 : 1);
  }
  classify(net, x, o.classes);
  return net;
}

Network resnet(std::string name, const std::array<int, 4>& blocks, const NetworkOptions& o) {
  return bottlenecks(std::move(name), blocks, o, 1);
}

Network resnet_of_autotm(std::string name, const std::array<int, 4>& blocks, const NetworkOptions& o) {
  return bottlenecks(std::move(name), blocks, o, 2);
}

Network resnet_v2(std::string name, const std::array<int, 4>& blocks, const NetworkOptions& o) {
  Network net{std::move(name)};
  auto x = pool(net, net.convolution(input(net, o, usual_image), same_size(64, {7, 7}, 2)));
  x = parts(x, blocks, [&](Value y, const Bottleneck& b) { return bottleneck_v2(net, y, b); });
  classify(net, net.relu(net.batch_norm(x)), o.classes);
  return net;
}

}  // namespace training
