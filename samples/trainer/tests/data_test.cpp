// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <zlib.h>
#include <tier/core/error.hpp>

#include <algorithm>
#include <fstream>
#include <set>

#include "common/tests/data_folder.hpp"
#include "support/fuzz.hpp"
#include "support/temporary_directory.hpp"
#include "trainer/data/images.hpp"
#include "trainer/data/text.hpp"

namespace data_test {

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

/// Returns a record of CIFAR-10: red in the first pixel, green in the second.
std::string cifar_record(char label) {
  std::string record(1 + 3 * 1024, '\0');
  record[0] = label;
  record[1] = '\xff';
  record[1 + 1024 + 1] = '\xff';
  return record;
}

/// Returns two images of 2x2 pixels; each pixel's value is its index.
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
    CHECK_THROWS_WITH_AS(std::ignore = read_cifar10({&path, 1}),
                         doctest::Contains("not records of CIFAR-10, which have 3073 bytes: it has 3072"),
                         tier::ConfigError);
  }
  SUBCASE("a label that is no class is refused") {
    write(path, cifar_record(3) + cifar_record(10));
    CHECK_THROWS_WITH_AS(std::ignore = read_cifar10({&path, 1}),
                         doctest::Contains("label 10 of record 1 is no class: allowed are 0 to 9"),
                         tier::ConfigError);
  }
}

TEST_CASE("a pixel has its place in images of more bytes than an int counts") {
  const ImageSet set{.side = 50'000, .channels = 3, .pixels = {}, .labels = {}};
  CHECK(set.offset(0, 0) == 0);
  CHECK(set.offset(48'437, 7) == (std::size_t{48'437} * 50'000 + 7) * 3);
  CHECK(set.offset(49'999, 49'999) == set.bytes_of_one() - 3);
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

namespace {

/// Returns an IDX file of bytes.
std::string idx(const std::vector<std::uint32_t>& extents, const std::string& bytes) {
  std::string file{'\0', '\0', '\x08', static_cast<char>(extents.size())};
  for (const auto extent : extents)
    for (const int shift : {24, 16, 8, 0}) file += static_cast<char>(extent >> shift & 0xff);
  return file + bytes;
}

/// Writes images of 2x2 pixels of one brightness, and labels.
void write_mnist(const std::filesystem::path& folder, const std::string& prefix, std::uint32_t count,
                 char brightness, bool packed, char separator = '-') {
  const auto images = idx({count, 2, 2}, std::string(std::size_t{4} * count, brightness));
  const auto labels = idx({count}, std::string(count, '\3'));
  const auto name = [&](const char* what, const char* kind) {
    return folder / (prefix + what + separator + kind + "-ubyte");
  };
  if (!packed) {
    write(name("images", "idx3"), images);
    write(name("labels", "idx1"), labels);
  } else {
    write_gzipped(name("images", "idx3").string() + ".gz", images);
    write_gzipped(name("labels", "idx1").string() + ".gz", labels);
  }
}

std::string refusal_of(const std::filesystem::path& folder, InputKind kind = InputKind::Images) {
  try {
    std::ignore = open_data(folder, kind, 1);
  } catch (const tier::ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("MNIST is read from IDX files, packed or not") {
  const tier::test::TemporaryDirectory folder;
  const auto images = std::filesystem::path{folder.path()} / "images";
  const auto labels = std::filesystem::path{folder.path()} / "labels";
  for (const bool packed : {true, false}) {
    const auto put = [&](const std::filesystem::path& path, const std::string& bytes) {
      packed ? write_gzipped(path, bytes) : write(path, bytes);
    };
    put(images, idx({2, 1, 1}, "\7\11"));
    put(labels, idx({2}, "\4\5"));
    const auto set = read_mnist(images, labels);
    CHECK(set.pixels == std::vector<std::uint8_t>{7, 9});
    CHECK(set.labels == std::vector<std::uint8_t>{4, 5});
  }
  const auto refused = [&](const std::string& image_file, const std::string& label_file) {
    write(images, image_file);
    write(labels, label_file);
    try {
      std::ignore = read_mnist(images, labels);
    } catch (const tier::ConfigError& error) {
      return std::string{error.what()};
    }
    return std::string{"accepted"};
  };
  const auto good = idx({2, 1, 1}, "\7\11"), two = idx({2}, "\4\5");
  CHECK(contains(refused(two, good), "images\": not an IDX file of bytes in 3 dimensions"));
  CHECK(contains(refused(good, idx({3}, "\4\5")), "labels\": its header says 3 bytes, but 2 follow it"));
  CHECK(contains(refused(good, idx({3}, "\4\5\6")),
                 "images\": 2 images, but \"" + labels.string() + "\" has 3 labels"));
  CHECK(contains(refused(good, idx({2}, "\4\12")),
                 "labels\": label 10 of image 1 is no class: allowed are 0 to 9"));
  CHECK(contains(refused(idx({2, 1, 2}, "\1\2\3\4"), two),
                 "its images have 1 x 2 pixels; square ones are read"));
  CHECK(contains(refused(idx({2, 0, 0}, ""), two), "there is nothing in it: its header says 2 x 0 x 0"));
  CHECK(contains(refused(idx({0, 28, 28}, ""), idx({0}, "")),
                 "there is nothing in it: its header says 0 x 28 x 28"));
  SUBCASE("products that wrap to what is there are refused") {
    CHECK(contains(refused(idx({64, 1U << 29, 1U << 29}, ""), idx({64}, std::string(64, '\1'))),
                   "its header says 64 x 536870912 x 536870912 bytes, but 0 follow it"));
    CHECK(contains(refused(idx({1U << 31, 1U << 31, 4}, ""), two),
                   "its header says 2147483648 x 2147483648 x 4 bytes"));
    CHECK(contains(refused(idx({0xffffffff, 0xffffffff, 0xffffffff}, "\1"), two), "bytes, but 1 follow it"));
  }
}

TEST_CASE("a folder with MNIST's four files is learned from by train-* and tested by t10k-*") {
  const tier::test::TemporaryDirectory temporary;
  const std::filesystem::path folder{temporary.path()};
  SUBCASE("packed") {
    write_mnist(folder, "train-", 30, '\1', true);
    write_mnist(folder, "t10k-", 7, '\2', true);
  }
  SUBCASE("unpacked, by an unpacker that writes a dot") {
    write_mnist(folder, "train-", 30, '\1', false, '.');
    write_mnist(folder, "t10k-", 7, '\2', false, '.');
  }
  SUBCASE("both ways") {
    for (const bool packed : {true, false}) {
      write_mnist(folder, "train-", 30, '\1', packed);
      write_mnist(folder, "t10k-", 7, '\2', packed);
    }
  }
  const auto data = open_data(folder, InputKind::Images, 1);
  CHECK(data->training_batches({.batch = 1}) == 30);
  CHECK(data->test_batches({.batch = 1}) == 7);
  CHECK(data->channels() == 1);
  CHECK(data->image() == 2);
}

TEST_CASE(
    "a folder with one pair of MNIST's files holds a tenth out, and one with half a pair says what is "
    "missing") {
  const tier::test::TemporaryDirectory temporary;
  const std::filesystem::path folder{temporary.path()};
  write_mnist(folder, "t10k-", 20, '\1', true);
  CHECK(open_data(folder, InputKind::Images, 1)->test_batches({.batch = 1}) == 2);
  write(folder / "train-images-idx3-ubyte", idx({1, 2, 2}, "\1\1\1\1"));
  CHECK(refusal_of(folder) ==
        "\"" + folder.string() + "\" has train-images without train-labels-idx1-ubyte beside it");
  write(folder / "train-labels-idx1-ubyte", idx({1}, "\1"));
  CHECK(open_data(folder, InputKind::Images, 1)->training_batches({.batch = 1}) == 1);
  write_mnist(folder, "more-", 20, '\1', true);
  CHECK(contains(refusal_of(folder),
                 "has 3 sets of images; a folder has one, or train-* to learn from and t10k-*"));
}

TEST_CASE("text is a file or a folder's *.txt, packed or not, without a byte order mark") {
  const tier::test::TemporaryDirectory temporary;
  const std::filesystem::path folder{temporary.path()};
  std::string text = "\xef\xbb\xbf";
  for (int i = 0; i < 2000; ++i) text += static_cast<char>('a' + i % 10);
  write_gzipped(folder / "a.txt.gz", text);
  CHECK(open_data(folder, InputKind::Text, 1)->classes() == 10);
  CHECK(open_data(folder / "a.txt.gz", InputKind::Text, 1)->classes() == 10);
  write(folder / "a.txt", std::string(2000, 'a'));  // by its name the unpacked form of a.txt.gz
  CHECK(contains(refusal_of(folder, InputKind::Text), "it repeats one character"));
  CHECK(contains(refusal_of(folder / "none", InputKind::Text), "no such data at position 0"));
  write(folder / "a.txt", "hello");
  CHECK(contains(refusal_of(folder, InputKind::Text), ": 5 characters, at least 1000 are needed"));
  CHECK(contains(refusal_of(folder), "no images at position 0"));
}

TEST_CASE("damaged files of images are read as what their headers say, or refused" *
          doctest::test_suite("fuzz")) {
  const tier::test::TemporaryDirectory temporary;
  const auto images = std::filesystem::path{temporary.path()} / "images";
  const auto labels = std::filesystem::path{temporary.path()} / "labels";
  const std::vector<std::string> examples{
      idx({2, 3, 3}, std::string(18, '\5')), idx({2}, "\1\2"), idx({1U << 31, 1U << 31, 4}, "\1"),
      idx({64, 1U << 29, 1U << 29}, ""), cifar_record(3) + cifar_record(4)};
  write(labels, idx({2}, "\1\2"));
  tier::test::fuzz(examples, [&](const std::string& bytes) {
    write(images, bytes);
    try {
      const auto set = read_mnist(images, labels);
      CHECK(set.count() == 2);
      CHECK(set.pixels.size() == set.count() * set.bytes_of_one());
    } catch (const tier::ConfigError& error) {
      CHECK(contains(error.what(), temporary.path()));
    }
    try {
      const auto set = read_cifar10({&images, 1});
      CHECK(set.pixels.size() == set.count() * 3072);
    } catch (const tier::ConfigError& error) {
      CHECK(contains(error.what(), temporary.path()));
    }
  });
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

}  // namespace data_test
