// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Tests footprints of whole networks, computed from their steps alone. The expected numbers are published, or
/// derived from layer lists. They exclude an optimiser's state, and gradients of weights beyond what plain descent needs.
#include <doctest/doctest.h>

#include "networks/networks.hpp"
#include "steps/liveness.hpp"
#include "steps/lower.hpp"

namespace footprint_test {

using namespace training;

namespace {

double gigabytes(std::string_view name, const NetworkOptions& options) {
  const auto step = lower_training(find_network(name).make(options), {});
  double state = 0;
  for (const auto& parameter : step.parameters)
    if (const auto& tensor = step.tensors[parameter.tensor];
        tensor.name.find(".velocity") != std::string::npos)
      state += static_cast<double>(tensor.bytes);
  return (static_cast<double>(peak_bytes(step)) - state) / 1e9;
}

doctest::Approx within(double share, double value) { return doctest::Approx(value).epsilon(share); }

}  // namespace

TEST_CASE("CachedArrays' large networks need what they were derived to need") {
  CHECK(gigabytes("vgg416", {.batch = 256}) == within(0.01, 528));
  CHECK(gigabytes("densenet264", {.batch = 1536, .growth = 48}) == within(0.01, 523.7));
  // 518.5 assumes a mask of one bit for each relu. We keep each relu's output instead, even if only a pooling reads it:
  // 6.6 GB after the first convolution and 0.8 GB before the last mean.
  CHECK(gigabytes("resnet200", {.batch = 2048}) == within(0.01, 518.5 + 6.6 + 0.8));
}

TEST_CASE("AutoTM's networks need what its authors published") {
  CHECK(gigabytes("inception_v4", {.batch = 1024}) == within(0.02, 111));
  CHECK(gigabytes("resnet200", {.batch = 512}) == within(0.02, 132));
  CHECK(gigabytes("vgg19", {.batch = 2048}) == within(0.03, 143));
  CHECK(gigabytes("densenet264", {.batch = 512}) == within(0.02, 115));
}

TEST_CASE("CachedArrays' small VGG needs what it was derived to need") {
  CHECK(gigabytes("vgg116", {.batch = 320}) == within(0.01, 188));
}

}  // namespace footprint_test
