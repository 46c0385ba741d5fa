// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "networks/networks.hpp"

#include <tier/core/error.hpp>
#include <tier/core/suggestion.hpp>

#include <algorithm>

namespace training {

const std::vector<KnownNetwork>& known_networks() {
  using Options = const NetworkOptions&;
  constexpr auto images = InputKind::Images;
  static const std::vector<KnownNetwork> networks{
      {"vgg16", images,
       [](Options o) {
         return vgg("vgg16", {{2, 2, 3, 3, 3}}, o);
       }},
      {"vgg19", images,
       [](Options o) {
         return vgg("vgg19", {{2, 2, 4, 4, 4}}, o);
       }},
      {"vgg116", images,
       [](Options o) {
         return vgg("vgg116", {{22, 22, 23, 23, 23}, true}, o);
       }},
      {"vgg416", images,
       [](Options o) {
         return vgg("vgg416", {{82, 82, 83, 83, 83}, true}, o);
       }},
      {"resnet32", images, [](Options o) { return resnet_of_small_images("resnet32", 5, o); }},
      {"resnet50", images,
       [](Options o) {
         return resnet_v2("resnet50", {3, 4, 6, 3}, o);
       }},
      {"resnet101", images,
       [](Options o) {
         return resnet("resnet101", {3, 4, 23, 3}, o);
       }},
      {"resnet152", images,
       [](Options o) {
         return resnet("resnet152", {3, 8, 36, 3}, o);
       }},
      {"resnet200", images,
       [](Options o) {
         return resnet_of_autotm("resnet200", {3, 24, 36, 3}, o);
       }},
      {"densenet121", images,
       [](Options o) {
         return densenet("densenet121", {6, 12, 24, 16}, o);
       }},
      {"densenet264", images,
       [](Options o) {
         return densenet_of_autotm("densenet264", {6, 12, 64, 48}, o);
       }},
      {"inception_v3", images, inception_v3},
      {"inception_v4", images, inception_v4},
      {"lstm", InputKind::Text, lstm_language_model, {.steps = 35, .width = 650}},
      {"transformer", InputKind::Text, transformer, {.steps = 64, .width = 256, .vary = true}}};
  return networks;
}

const KnownNetwork& find_network(std::string_view name) {
  const auto& all = known_networks();
  const auto found = std::ranges::find(all, name, &KnownNetwork::name);
  if (found != all.end()) return *found;
  std::string names;
  for (const auto& each : all) names += (names.empty() ? "" : ", ") + std::string{each.name};
  throw tier::ConfigError{"unknown network" + tier::detail::did_you_mean(name, names), name, 0, names};
}

std::vector<Network> make_networks(const KnownNetwork& known, NetworkOptions options) {
  if (!known.sequences.vary) return {known.make(options)};
  std::vector<Network> networks;
  for (std::int64_t eighths = 2; eighths <= 8; ++eighths) {
    options.length = std::max<std::int64_t>(1, options.steps * eighths / 8);
    networks.push_back(known.make(options));
  }
  return networks;
}

}  // namespace training
