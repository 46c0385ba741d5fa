// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The networks that the program trains, by name.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "networks/network.hpp"

namespace training {

struct NetworkOptions {
  std::int64_t batch = 64;
  std::int64_t channels = 3;       ///< of images
  std::int64_t image = 0;          ///< pixels in height and width; 0: as published
  std::int64_t classes = 1000;     ///< of images, or the number of characters in text
  std::int64_t growth = 32;        ///< of a DenseNet
  std::int64_t steps = 35;         ///< of a sequence; for a Transformer, of the longest
  std::int64_t length = 0;         ///< of a Transformer's sequences; 0: as the longest
  std::int64_t width = 650;        ///< of an LSTM or a Transformer
  std::int64_t steps_at_once = 0;  ///< of an LSTM, as in `Lstm`
};

/// The numbers of convolutions in VGG's five parts.
struct VggDepths {
  std::array<int, 5> parts;
  /// True for AutoTM's variant: the last convolution of a part has the channels of the next part.
  bool widens_early = false;
};
[[nodiscard]] Network vgg(std::string name, const VggDepths& depths, const NetworkOptions& options);

/// Residual networks of three parts for small images.
[[nodiscard]] Network resnet_of_small_images(std::string name, int blocks, const NetworkOptions& options);
/// Residual networks of bottlenecks as published, except that the 3x3 convolution has the stride.
[[nodiscard]] Network resnet(std::string name, const std::array<int, 4>& blocks,
                             const NetworkOptions& options);
/// Residual networks with batch norm and relu before each convolution.
[[nodiscard]] Network resnet_v2(std::string name, const std::array<int, 4>& blocks,
                                const NetworkOptions& options);
/// The variant that AutoTM's authors coded: the last 1x1 convolution has the stride.
[[nodiscard]] Network resnet_of_autotm(std::string name, const std::array<int, 4>& blocks,
                                       const NetworkOptions& options);

/// DenseNets as published, which halve the channels between blocks.
[[nodiscard]] Network densenet(std::string name, const std::array<int, 4>& layers,
                               const NetworkOptions& options);
/// The variant that AutoTM's authors coded: between blocks twice the growth is left, not half of the channels.
[[nodiscard]] Network densenet_of_autotm(std::string name, const std::array<int, 4>& layers,
                                         const NetworkOptions& options);

[[nodiscard]] Network inception_v3(const NetworkOptions& options);
/// Uses biases instead of batch norms; only then does it have the footprint that AutoTM reports.
[[nodiscard]] Network inception_v4(const NetworkOptions& options);

/// A language model: embedding, two LSTM layers, a distribution over the next character.
[[nodiscard]] Network lstm_language_model(const NetworkOptions& options);

/// A language model: embedding, four blocks of causal attention and a feed-forward network, a distribution over the next
/// character.
[[nodiscard]] Network transformer(const NetworkOptions& options);

enum class InputKind : std::uint8_t { Images, Text };
/// The usual parameters of networks on text.
struct Sequences {
  std::int64_t steps = 0;
  std::int64_t width = 0;
  bool vary = false;  ///< the length varies from iteration to iteration
};
struct KnownNetwork {
  std::string_view name;
  InputKind input;
  Network (*make)(const NetworkOptions& options);
  Sequences sequences{};
};
[[nodiscard]] const std::vector<KnownNetwork>& known_networks();

/// \throws  `tier::ConfigError` listing the known networks
[[nodiscard]] const KnownNetwork& find_network(std::string_view name);

/// Makes one network; if sequences vary in length, one per length: 2/8, 3/8 and so on to all of `options.steps`, the
/// longest last. All have the same parameters.
[[nodiscard]] std::vector<Network> make_networks(const KnownNetwork& known, NetworkOptions options);

}  // namespace training
