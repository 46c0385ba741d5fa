// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  VGG (Simonyan and Zisserman, 2014), and AutoTM's deep variants.
#include "networks/networks.hpp"

namespace training {
namespace {

constexpr std::int64_t usual_image = 224;
constexpr std::int64_t hidden = 4096;
constexpr std::array<std::int64_t, 5> channels{64, 128, 256, 512, 512};

Value part(Network& net, Value x, std::size_t index, const VggDepths& depths) {
  const int convolutions = depths.parts[index];
  for (int i = 0; i < convolutions; ++i) {
    const bool last = i == convolutions - 1;
    const bool widens = depths.widens_early && last && index + 1 < channels.size();
    x = net.relu(net.convolution(x, {.channels = channels[widens ? index + 1 : index],
                                     .kernel = {3, 3},
                                     .padding = {1, 1},
                                     .bias = true}));
  }
  return net.max_pool(x, {.kernel = {2, 2}, .stride = {2, 2}});
}

}  // namespace

Network vgg(std::string name, const VggDepths& depths, const NetworkOptions& o) {
  Network net{std::move(name)};
  const auto image = o.image > 0 ? o.image : usual_image;
  auto x = net.input({o.batch, o.channels, image, image});
  for (std::size_t i = 0; i < channels.size(); ++i) x = part(net, x, i, depths);
  for (int i = 0; i < 2; ++i) x = net.dropout(net.relu(net.inner_product(x, {.width = hidden})), {});
  net.softmax_loss(net.inner_product(x, {.width = o.classes}));
  return net;
}

}  // namespace training
