// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Inception v3 (Szegedy et al., 2015) without its side classifier, and v4 (Szegedy et al., 2016).
#include "networks/blocks.hpp"
#include "networks/networks.hpp"

namespace training {
namespace {

constexpr std::int64_t usual_image = 299;
constexpr Pooling around{.kernel = {3, 3}, .stride = {1, 1}, .padding = {1, 1}};
constexpr Pooling halving{.kernel = {3, 3}, .stride = {2, 2}};

/// A chain of convolutions, the notation for branches of these networks.
struct Chain {
  Network& net;
  Value at;
  bool normed = true;  ///< with batch norm; otherwise with a bias

  /// Adds a convolution whose output is as large as its input.
  Chain same(std::int64_t channels, Pair kernel) const { return then(same_size(channels, kernel)); }
  /// Adds a convolution without padding.
  Chain valid(std::int64_t channels, Pair kernel, std::int64_t stride = 1) const {
    return then({.channels = channels, .kernel = kernel, .stride = {stride, stride}});
  }
  Chain mean_around() const { return {net, net.mean_pool(at, around), normed}; }

 private:
  Chain then(Convolution convolution) const {
    convolution.bias = !normed;
    return {net, normed ? conv_bn_relu(net, at, convolution) : net.relu(net.convolution(at, convolution)),
            normed};
  }
};
Chain with_bias(Network& net, Value at) { return {net, at, false}; }

Value input(Network& net, const NetworkOptions& o) {
  const auto image = o.image > 0 ? o.image : usual_image;
  return net.input({o.batch, o.channels, image, image});
}

// ---- v3

Value block_35(Network& net, Value x, std::int64_t pooled) {
  const Chain in{net, x};
  return net.concat({in.same(64, {1, 1}).at, in.same(48, {1, 1}).same(64, {5, 5}).at,
                     in.same(64, {1, 1}).same(96, {3, 3}).same(96, {3, 3}).at,
                     in.mean_around().same(pooled, {1, 1}).at});
}

Value to_17(Network& net, Value x) {
  const Chain in{net, x};
  return net.concat({in.valid(384, {3, 3}, 2).at,
                     in.same(64, {1, 1}).same(96, {3, 3}).valid(96, {3, 3}, 2).at, net.max_pool(x, halving)});
}

Value block_17(Network& net, Value x, std::int64_t inner) {
  const Chain in{net, x};
  const auto once = in.same(inner, {1, 1}).same(inner, {1, 7}).same(192, {7, 1});
  const auto twice =
      in.same(inner, {1, 1}).same(inner, {7, 1}).same(inner, {1, 7}).same(inner, {7, 1}).same(192, {1, 7});
  return net.concat({in.same(192, {1, 1}).at, once.at, twice.at, in.mean_around().same(192, {1, 1}).at});
}

Value to_8(Network& net, Value x) {
  const Chain in{net, x};
  return net.concat({in.same(192, {1, 1}).valid(320, {3, 3}, 2).at,
                     in.same(192, {1, 1}).same(192, {1, 7}).same(192, {7, 1}).valid(192, {3, 3}, 2).at,
                     net.max_pool(x, halving)});
}

Value block_8(Network& net, Value x) {
  const Chain in{net, x};
  const auto once = in.same(384, {1, 1});
  const auto twice = in.same(448, {1, 1}).same(384, {3, 3});
  return net.concat({in.same(320, {1, 1}).at, once.same(384, {1, 3}).at, once.same(384, {3, 1}).at,
                     twice.same(384, {1, 3}).at, twice.same(384, {3, 1}).at,
                     in.mean_around().same(192, {1, 1}).at});
}

// ---- v4

Value stem_v4(Network& net, const NetworkOptions& o) {
  const auto x = with_bias(net, input(net, o)).valid(32, {3, 3}, 2).valid(32, {3, 3}).same(64, {3, 3}).at;
  const auto a = net.concat({net.max_pool(x, halving), with_bias(net, x).valid(96, {3, 3}, 2).at});
  const auto in = with_bias(net, a);
  const auto b = net.concat({in.same(64, {1, 1}).valid(96, {3, 3}).at,
                             in.same(64, {1, 1}).same(64, {7, 1}).same(64, {1, 7}).valid(96, {3, 3}).at});
  return net.concat({with_bias(net, b).valid(192, {3, 3}, 2).at, net.max_pool(b, halving)});
}

Value block_a(Network& net, Value x) {
  const auto in = with_bias(net, x);
  return net.concat({in.mean_around().same(96, {1, 1}).at, in.same(96, {1, 1}).at,
                     in.same(64, {1, 1}).same(96, {3, 3}).at,
                     in.same(64, {1, 1}).same(96, {3, 3}).same(96, {3, 3}).at});
}

Value reduction_a(Network& net, Value x) {
  const auto in = with_bias(net, x);
  return net.concat({net.max_pool(x, halving), in.valid(384, {3, 3}, 2).at,
                     in.same(192, {1, 1}).same(224, {3, 3}).valid(256, {3, 3}, 2).at});
}

Value block_b(Network& net, Value x) {
  const auto in = with_bias(net, x);
  const auto twice =
      in.same(192, {1, 1}).same(192, {1, 7}).same(224, {7, 1}).same(224, {1, 7}).same(256, {7, 1});
  return net.concat({in.mean_around().same(128, {1, 1}).at, in.same(384, {1, 1}).at,
                     in.same(192, {1, 1}).same(224, {1, 7}).same(256, {7, 1}).at, twice.at});
}

Value reduction_b(Network& net, Value x) {
  const auto in = with_bias(net, x);
  return net.concat({net.max_pool(x, halving), in.same(192, {1, 1}).valid(192, {3, 3}, 2).at,
                     in.same(256, {1, 1}).same(256, {1, 7}).same(320, {7, 1}).valid(320, {3, 3}, 2).at});
}

Value block_c(Network& net, Value x) {
  const auto in = with_bias(net, x);
  const auto once = in.same(384, {1, 1});
  const auto twice = in.same(384, {1, 1}).same(448, {1, 3}).same(512, {3, 1});
  return net.concat({in.mean_around().same(256, {1, 1}).at, in.same(256, {1, 1}).at,
                     once.same(256, {1, 3}).at, once.same(256, {3, 1}).at, twice.same(256, {3, 1}).at,
                     twice.same(256, {1, 3}).at});
}

void classify_with_dropout(Network& net, Value x, std::int64_t classes, float dropped) {
  const auto mean = net.dropout(net.mean_of_image(x), {.share = dropped});
  net.softmax_loss(net.inner_product(mean, {.width = classes}));
}

}  // namespace

Network inception_v3(const NetworkOptions& o) {
  Network net{"inception_v3"};
  auto x = Chain{net, input(net, o)}.valid(32, {3, 3}, 2).valid(32, {3, 3}).same(64, {3, 3}).at;
  x = Chain{net, net.max_pool(x, halving)}.valid(80, {1, 1}).valid(192, {3, 3}).at;
  x = net.max_pool(x, halving);
  for (const std::int64_t pooled : {32, 64, 64}) x = block_35(net, x, pooled);
  x = to_17(net, x);
  for (const std::int64_t inner : {128, 160, 160, 192}) x = block_17(net, x, inner);
  x = to_8(net, x);
  for (int i = 0; i < 2; ++i) x = block_8(net, x);
  classify_with_dropout(net, x, o.classes, 0.5F);
  return net;
}

Network inception_v4(const NetworkOptions& o) {
  Network net{"inception_v4"};
  auto x = stem_v4(net, o);
  for (int i = 0; i < 4; ++i) x = block_a(net, x);
  x = reduction_a(net, x);
  for (int i = 0; i < 7; ++i) x = block_b(net, x);
  x = reduction_b(net, x);
  for (int i = 0; i < 3; ++i) x = block_c(net, x);
  classify_with_dropout(net, x, o.classes, 0.2F);
  return net;
}

}  // namespace training
