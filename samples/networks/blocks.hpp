// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Shared parts of convolutional networks.
#include "networks/network.hpp"

namespace training {

/// Returns a convolution whose output is as large as its input, apart from the stride.
[[nodiscard]] inline Convolution same_size(std::int64_t channels, Pair kernel, std::int64_t stride = 1) {
  return {.channels = channels,
          .kernel = kernel,
          .stride = {stride, stride},
          .padding = {kernel[0] / 2, kernel[1] / 2}};
}

[[nodiscard]] inline Value conv_bn(Network& net, Value x, const Convolution& convolution) {
  return net.batch_norm(net.convolution(x, convolution));
}
[[nodiscard]] inline Value conv_bn_relu(Network& net, Value x, const Convolution& convolution) {
  return net.relu(conv_bn(net, x, convolution));
}
[[nodiscard]] inline Value bn_relu_conv(Network& net, Value x, const Convolution& convolution) {
  return net.convolution(net.relu(net.batch_norm(x)), convolution);
}

/// Adds the classifier of networks that end in a mean over the image.
inline void classify(Network& net, Value x, std::int64_t classes) {
  net.softmax_loss(net.inner_product(net.mean_of_image(x), {.width = classes}));
}

}  // namespace training
