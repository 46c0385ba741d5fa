// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <zlib.h>
#include <tier/core/error.hpp>

#include <algorithm>
#include <fstream>
#include <set>

#include "common/testing/data_folder.hpp"
#include "data/images.hpp"
#include "data/text.hpp"
#include "support/temporary_directory.hpp"

using namespace training;

namespace {

void write(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream{path, std::ios::binary} << bytes;
}
void write_gzipped(const std::filesystem::path& path, const std::string& bytes) {
  const auto file = ::gzopen(path.c_str(), "wb");
  ::gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  ::gzclose(file);
}

/// One record of CIFAR-10: red in the first pixel, green in the second.
std::string cifar_record(char label) {
  std::string record(1 + 3 * 1024, '\0');
  record[0] = label;
  record[1] = '\xff';
  record[1 + 1024 + 1] = '\xff';
  return record;
}

/// Two images of 2x2 pixels: each pixel is its own number.
ImageSet tiny_images() {
  return {.side = 2, .channels = 1, .classes = 2, .pixels = {0, 1, 2, 3, 4, 5, 6, 7}, .labels = {0, 1}};
}

}  // namespace

TEST_CASE("CIFAR-10's planes of colours become pixels") {
  const tier::test::TemporaryDirectory folder;
  const auto path = std::filesystem::path{folder.path()} / "train.bin";
  write(path, cifar_record(3) + cifar_record(9));
  const auto set = read_cifar10({&path, 1});
  CHECK(set.labels == std::vector<std::uint8_t>{3, 9});
  CHECK(std::vector(set.pixels.begin(), set.pixels.begin() + 6) ==
        std::vector<std::uint8_t>{255, 0, 0, 0, 255, 0});
  SUBCASE("a file that ends early is refused") {
    write(path, cifar_record(3).substr(1));
    CHECK_THROWS_AS(std::ignore = read_cifar10({&path, 1}), tier::TierError);
  }
  SUBCASE("a label that is no class is refused") {
    write(path, cifar_record(10));
    CHECK_THROWS_AS(std::ignore = read_cifar10({&path, 1}), tier::TierError);
  }
}

TEST_CASE("CIFAR-10 is found as it is distributed, and where each set is one file") {
  const tier::test::TemporaryDirectory folder;
  const std::filesystem::path path{folder.path()};
  SUBCASE("in batches") {
    write(path / "data_batch_1.bin", cifar_record(3));
    write(path / "data_batch_2.bin", cifar_record(4) + cifar_record(5));
    write(path / "test_batch.bin", cifar_record(9));
    CHECK(open_data(path, InputKind::Images, 1)->training_batches({.batch = 1}) == 3);
  }
  SUBCASE("in one file") {
    write(path / "train.bin", cifar_record(3));
    write(path / "test.bin", cifar_record(9));
    CHECK(open_data(path, InputKind::Images, 1)->training_batches({.batch = 1}) == 1);
  }
  SUBCASE("without a test it is refused") {
    write(path / "data_batch_1.bin", cifar_record(3));
    CHECK_THROWS_AS(std::ignore = open_data(path, InputKind::Images, 1), tier::ConfigError);
  }
}

TEST_CASE("MNIST is read from gzipped IDX files") {
  const tier::test::TemporaryDirectory folder;
  const auto images = std::filesystem::path{folder.path()} / "t10k-images-idx3-ubyte.gz";
  const auto labels = std::filesystem::path{folder.path()} / "t10k-labels-idx1-ubyte.gz";
  using namespace std::string_literals;
  write_gzipped(images, "\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x01\x07\x09"s);
  write_gzipped(labels, "\0\0\x08\x01\0\0\0\x02\x04\x05"s);
  const auto set = read_mnist(images, labels);
  CHECK(set.pixels == std::vector<std::uint8_t>{7, 9});
  CHECK(set.labels == std::vector<std::uint8_t>{4, 5});
  SUBCASE("images are no labels") {
    CHECK_THROWS_AS(std::ignore = read_mnist(labels, images), tier::TierError);
  }
  SUBCASE("a count that is not the file's is refused") {
    write_gzipped(labels, "\0\0\x08\x01\0\0\0\x03\x04\x05"s);
    CHECK_THROWS_AS(std::ignore = read_mnist(images, labels), tier::TierError);
  }
}

TEST_CASE("images are enlarged by repeating their pixels, and scaled to a mean of 0") {
  const ImageData data{tiny_images(), tiny_images(), 1, false};
  std::vector<float> inputs(16);
  std::vector<float> labels(1);
  data.test_batch({.batch = 1, .image = 4}, 0, inputs, labels);
  CHECK(labels[0] == 0);
  for (std::size_t row = 0; row < 4; ++row)
    for (std::size_t column = 0; column < 4; ++column)
      CHECK(inputs[row * 4 + column] == inputs[row / 2 * 8 + column / 2 * 2]);
  CHECK(inputs[0] == doctest::Approx(-3.5 / 2.2913));
}

TEST_CASE("an epoch shows each image once, in an order of its own") {
  const auto set = generated_images(50, 3);
  const ImageData data{set, set, 4, false};
  const BatchShape shape{.batch = 10, .image = 32};
  std::vector<float> inputs(10 * 3 * 32 * 32);
  std::vector<float> labels(10);
  const auto first_pixels = [&](std::uint64_t epoch) {
    std::vector<std::vector<float>> seen;
    for (std::uint64_t i = 0; i < 5; ++i) {
      data.training_batch(shape, epoch * 5 + i, inputs, labels);
      for (std::size_t image = 0; image < 10; ++image) {
        const auto* pixels = &inputs[image * 3 * 32 * 32];
        seen.emplace_back(pixels, pixels + 12);
      }
    }
    return seen;
  };
  CHECK(data.training_batches(shape) == 5);
  const auto one = first_pixels(0);
  const auto two = first_pixels(1);
  CHECK(one != two);
  CHECK(std::set(one.begin(), one.end()).size() == 50);
  CHECK(std::set(one.begin(), one.end()) == std::set(two.begin(), two.end()));
}

TEST_CASE("text is learned character by character, and its end is held out") {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += static_cast<char>('a' + i % 10);
  const TextData data{text, 1};
  const BatchShape shape{.batch = 2, .steps = 5};
  CHECK(data.classes() == 10);
  CHECK(data.test_batches(shape) == 9);
  std::vector<float> ids(10);
  std::vector<float> labels(10);
  data.training_batch(shape, 0, ids, labels);
  for (std::size_t i = 0; i < 10; ++i)
    CHECK(static_cast<int>(labels[i]) == (static_cast<int>(ids[i]) + 1) % 10);
  for (std::size_t i = 0; i < 8; ++i) CHECK(ids[i + 2] == labels[i]);  // [steps, batch]
  SUBCASE("in sequences as long as there is room for") {
    std::vector<float> shorter(6);
    data.training_batch(shape, 0, shorter, std::span{labels}.first(6));
    CHECK(shorter[2] == labels[0]);
    CHECK(shorter[4] == labels[2]);
  }
}

TEST_SUITE("data") {
  TEST_CASE("the data sets are read") {
    const auto data = sample::data_folder();
    if (!data) return;
    CHECK(open_data(*data / "cifar10", InputKind::Images, 1)->training_batches({.batch = 100}) == 100);
    CHECK(open_data(*data / "mnist_t10k", InputKind::Images, 1)->training_batches({.batch = 100}) == 90);
    CHECK(open_data(*data / "text", InputKind::Text, 1)->classes() > 60);
  }
}
