// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Tests what kernels write, value by value.
#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <string_view>

#include "cases.hpp"

namespace values_test {

using namespace training;
using namespace training::test;

namespace {

/// Plain memory in which everything that a kernel will overwrite is NaN.
class PoisonedMemory final : public PlainMemory {
 public:
  void run(std::string_view kernel, std::span<const SlotUse> uses, const Body& body) override {
    PlainMemory::run(kernel, uses, [&](std::span<std::byte* const> data) {
      for (const auto& use : uses)
        if (use.role == Role::Overwrites)
          std::memset(bytes_of(use.slot).data(), 0xff, bytes_of(use.slot).size());
      body(data);
    });
  }
};

/// Checks that only numbers are written, and that nothing is read before it is written.
void check_values(Case learned) {
  CAPTURE(learned.steps.prediction.network);
  const auto plain = learned.run_plain();
  CHECK(!plain.subnormals);
  learned.options.inspection.values = true;
  PoisonedMemory memory;
  const auto result = learned.run(memory);
  CHECK(result.checksum == plain.checksum);
  CHECK(result.subnormals.has_value());
}

}  // namespace

TEST_CASE("kernels of every kind write numbers alone, and read nothing that was not written") {
  const NetworkOptions large{.batch = 2, .image = 75, .classes = 10, .growth = 12};
  SUBCASE("VGG") {
    check_values(
        on_generated_images(vgg("vgg", {{1, 1, 1, 1, 1}}, {.batch = 2, .image = 32, .classes = 10}), 1));
  }
  SUBCASE("ResNet for small images") { check_values(small_resnet(2)); }
  SUBCASE("ResNet") { check_values(on_generated_images(resnet("resnet", {1, 1, 1, 1}, large), 1)); }
  SUBCASE("ResNet V2") { check_values(on_generated_images(resnet_v2("resnet_v2", {1, 1, 1, 1}, large), 1)); }
  SUBCASE("AutoTM's ResNet") {
    check_values(on_generated_images(resnet_of_autotm("autotm", {1, 1, 1, 1}, large), 1));
  }
  SUBCASE("DenseNet") { check_values(on_generated_images(densenet("densenet", {2, 2, 2, 2}, large), 1)); }
  SUBCASE("AutoTM's DenseNet") {
    check_values(on_generated_images(densenet_of_autotm("autotm", {2, 2, 2, 2}, large), 1));
  }
  SUBCASE("Inception V3") {
    auto learned = on_generated_images(inception_v3(large), 1);
    learned.options.rate =
        1e-5F;  // with so few values, norms have gradients so large that a usual rate ruins the weights at once
    check_values(std::move(learned));
  }
  SUBCASE("Inception V4") { check_values(on_generated_images(inception_v4(large), 1)); }
  SUBCASE("an LSTM") { check_values(small_language_model("lstm", 3)); }
  SUBCASE("an LSTM of some steps at once") { check_values(small_language_model("lstm", 3, {}, 5)); }
  SUBCASE("a Transformer") { check_values(small_language_model("transformer", 3)); }
}

TEST_CASE("subnormal values are counted") {
  Network net{"network"};
  net.softmax_loss(net.inner_product(net.input({2, 3, 16, 16}), {.width = 10}));
  auto learned = on_generated_images(net, 1);
  learned.options.inspection.values = true;
  PlainMemory usual;
  CHECK(learned.run(usual).subnormals == 0U);
  learned.options.rate = 1e-38F;  // the rate by which biases move from 0
  PlainMemory memory;
  CHECK(learned.run(memory).subnormals == 10U);
}

TEST_CASE("a value that is no number is found in the part of a tensor that a kernel has written, and named") {
  Network net{"network"};
  const auto x = net.input({2, 3, 16, 16});
  net.softmax_loss(net.inner_product(x, {.width = 10}));
  auto learned = on_generated_images(net, 1);
  learned.options.inspection.values = true;
  learned.options.rate = std::numeric_limits<float>::infinity();
  PlainMemory memory;
  CHECK_THROWS_WITH_AS(std::ignore = learned.run(memory),
                       doctest::Contains("kernel fc1.w.update has written"), NotANumber);
}

}  // namespace values_test
