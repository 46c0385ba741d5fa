// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>
#include <tier/core/error.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include "data/images.hpp"
#include "data/text.hpp"

namespace training {
namespace {

namespace fs = std::filesystem;

/// In order.
std::vector<fs::path> files_named(const fs::path& folder, std::string_view begin, std::string_view end) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator{folder}) {
    const auto name = entry.path().filename().string();
    if (name.starts_with(begin) && name.ends_with(end)) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

std::string read_text(const fs::path& file) {
  std::ifstream in{file, std::ios::binary};
  std::string text{std::istreambuf_iterator<char>{in}, {}};
  if (!in) throw tier::TierError{tier::last_system_error(), fmt::format("reading \"{}\"", file.string())};
  return text;
}

std::unique_ptr<Data> open_text(const fs::path& path, std::uint64_t seed) {
  std::string text;
  const auto files = fs::is_directory(path) ? files_named(path, "", ".txt") : std::vector{path};
  for (const auto& file : files) text += read_text(file);
  if (text.size() < 1000)
    throw tier::ConfigError{"too little text (*.txt)", path.string(), 0, "1000 characters"};
  return std::make_unique<TextData>(text, seed);
}

std::unique_ptr<Data> open_mnist(const fs::path& images, const fs::path& labels, std::uint64_t seed) {
  auto training = read_mnist(images, labels);
  auto test = split_off(training, training.count() / 10);
  return std::make_unique<ImageData>(std::move(training), std::move(test), seed, true);
}

}  // namespace

std::unique_ptr<Data> open_data(const fs::path& path, InputKind kind, std::uint64_t seed) {
  if (!fs::exists(path))
    throw tier::ConfigError{"no such data", path.string(), 0, "a folder with a data set"};
  if (kind == InputKind::Text) return open_text(path, seed);
  const auto with = [&](std::string_view begin, std::string_view end) {
    return fs::is_directory(path) ? files_named(path, begin, end) : std::vector<fs::path>{};
  };
  for (const auto& [training_name, test_name] :
       {std::pair{"train.bin", "test.bin"}, std::pair{"data_batch_", "test_batch"}}) {
    const auto training = with(training_name, ".bin"), test = with(test_name, ".bin");
    if (!training.empty() && test.size() == 1)
      return std::make_unique<ImageData>(read_cifar10(training), read_cifar10(test), seed, true);
  }
  const auto images = with("", "images-idx3-ubyte.gz"), labels = with("", "labels-idx1-ubyte.gz");
  if (images.size() == 1 && labels.size() == 1) return open_mnist(images.front(), labels.front(), seed);
  throw tier::ConfigError{"no images", path.string(), 0,
                          "CIFAR-10 in binary form (data_batch_*.bin and test_batch.bin, or train.bin and "
                          "test.bin), or MNIST (*-images-idx3-ubyte.gz and *-labels-idx1-ubyte.gz)"};
}

std::unique_ptr<Data> generated_data(InputKind kind, std::uint64_t seed) {
  if (kind == InputKind::Text) return std::make_unique<TextData>(generated_text(200'000, seed), seed);
  return std::make_unique<ImageData>(generated_images(2048, seed), generated_images(256, seed + 1), seed,
                                     false);
}

}  // namespace training
