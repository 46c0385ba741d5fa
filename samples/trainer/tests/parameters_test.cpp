// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Tests how many values networks learn, which shows a missing or extra block and wrong channels.
#include <doctest/doctest.h>

#include <cstdint>
#include <string_view>

#include "networks/networks.hpp"
#include "steps/lower.hpp"

namespace parameters_test {

using namespace training;

namespace {

/// Counts learned values, without the optimiser's state and the running statistics of batch norms.
std::int64_t learned(std::string_view name, const NetworkOptions& options) {
  const auto networks = make_networks(find_network(name), options);
  const auto step = lower_prediction(networks.back(), {});
  std::int64_t count = 0;
  for (const auto& parameter : step.parameters) {
    const auto& tensor = step.tensors[parameter.tensor];
    const bool other = tensor.name.find(".velocity") != std::string::npos ||
                       tensor.name.find(".running_") != std::string::npos;
    if (!other) count += count_of(tensor.desc.dims());
  }
  return count;
}

/// Counts for a thousand classes and images of the published size.
std::int64_t learned(std::string_view name) { return learned(name, {.batch = 1}); }

}  // namespace

TEST_CASE("networks as published learn as many values as published") {
  CHECK(learned("vgg16") == 138'357'544);
  CHECK(learned("vgg19") == 143'667'240);
  CHECK(learned("resnet101") == 44'549'160);
  CHECK(learned("resnet152") == 60'192'808);
  CHECK(learned("densenet121") == 7'978'856);
  CHECK(learned("inception_v3") == 27'161'264 - 3'326'696);  // without the side classifier
}

TEST_CASE("networks in other forms learn as many values as published but for where they differ") {
  SUBCASE("ResNet 50 V2 norms what comes into a block, not what leaves it and its shortcut, and in the end") {
    // In first blocks; in others input and output have equally many channels. Each channel has a scale and a shift.
    constexpr int entering = 2 * (64 + 256 + 512 + 1024);
    constexpr int leaving = 2 * 2 * (256 + 512 + 1024 + 2048);
    constexpr int in_the_end = 2 * 2048 - 2 * 64;  // but not after the first convolution
    CHECK(learned("resnet50") == 25'557'032 + entering - leaving + in_the_end);
  }
  SUBCASE("ResNet 32 projects what a part begins with, where He et al. pad it with zeros") {
    constexpr int projections = 16 * 32 + 2 * 32 + 32 * 64 + 2 * 64;
    CHECK(learned("resnet32", {.batch = 1, .classes = 10}) == 464'154 + projections);
  }
  SUBCASE("Inception V4 has a bias in place of a scale and a shift of each of a convolution's channels") {
    CHECK(learned("inception_v4") == 42'679'816 - 31'584);
  }
  SUBCASE("AutoTM's ResNet 200 has the stride elsewhere") { CHECK(learned("resnet200") == 64'673'832); }
  SUBCASE("AutoTM's deep VGGs are VGGs whose parts widen one convolution early") {
    // The additional convolutions over VGG 16, and the wider ends and beginnings of parts.
    constexpr std::int64_t widened = 2'322'880;
    const auto more = [](std::int64_t convolutions, std::int64_t channels) {
      return convolutions * (9 * channels * channels + channels);
    };
    CHECK(learned("vgg116") ==
          138'357'544 + more(20, 64) + more(20, 128) + more(20, 256) + more(20 + 20, 512) + widened);
    CHECK(learned("vgg416") ==
          138'357'544 + more(80, 64) + more(80, 128) + more(80, 256) + more(80 + 80, 512) + widened);
  }
  SUBCASE("AutoTM's DenseNet 264 goes on with twice the growth after a block, and has no norm in the end") {
    CHECK(learned("densenet264") == 21'119'592);  // published: 33'337'704
  }
}

TEST_CASE("language models learn as many values as their layers add up to") {
  constexpr std::int64_t classes = 50;
  SUBCASE("LSTM") {
    constexpr std::int64_t width = 650;
    constexpr auto layer = 4 * (2 * width * width + width);
    CHECK(learned("lstm", {.batch = 1, .classes = classes, .width = width}) ==
          classes * width + 2 * layer + width * classes + classes);
  }
  SUBCASE("Transformer") {
    constexpr std::int64_t width = 256;
    constexpr std::int64_t steps = 64;
    constexpr auto norm = 2 * width;
    constexpr auto attention = width * 3 * width + 3 * width + width * width + width;
    constexpr auto feed_forward = width * 4 * width + 4 * width + 4 * width * width + width;
    CHECK(learned("transformer", {.batch = 1, .classes = classes, .steps = steps, .width = width}) ==
          classes * width + steps * width + 4 * (2 * norm + attention + feed_forward) + norm +
              width * classes + classes);
  }
}

}  // namespace parameters_test
