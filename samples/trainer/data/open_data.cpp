// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>
#include <tier/core/error.hpp>
#include <tier/core/input_file.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/data_files.hpp"
#include "trainer/data/images.hpp"
#include "trainer/data/text.hpp"

namespace training {
namespace {

namespace fs = std::filesystem;
using sample::files_named;

std::unique_ptr<Data> open_text(const fs::path& path, std::uint64_t seed) {
  std::string text;
  const auto files = fs::is_directory(path) ? files_named(path, "", ".txt") : std::vector{path};
  for (const auto& file : files) text += tier::read_text_file(file.string());
  if (text.size() < 1000)
    throw tier::ConfigError{
        fmt::format("too little text in \"{}\" (of a folder its files *.txt count): {} characters, "
                    "at least 1000 are needed",
                    path.string(), text.size())};
  if (text.find_first_not_of(text.front()) == std::string::npos)
    throw tier::ConfigError{
        fmt::format("nothing can be learned from \"{}\": it repeats one character", path.string())};
  return std::make_unique<TextData>(text, seed);
}

std::unique_ptr<Data> open_cifar10(const fs::path& folder, std::uint64_t seed) {
  for (const auto& [training_name, test_name] :
       {std::pair{"train.bin", "test.bin"}, std::pair{"data_batch_", "test_batch"}}) {
    const auto training = files_named(folder, training_name, ".bin"),
               test = files_named(folder, test_name, ".bin");
    if (!training.empty() && test.size() == 1)
      return std::make_unique<ImageData>(read_cifar10(training), read_cifar10(test), seed, true);
  }
  return {};
}

/// The files of images and labels, by the prefix of their names: `train-`, `t10k-`.
struct MnistFiles {
  fs::path images, labels;
};
std::map<std::string, MnistFiles> mnist_files(const fs::path& folder) {
  std::map<std::string, MnistFiles> pairs;
  for (const auto* end : {"-idx3-ubyte", ".idx3-ubyte"})  // some unpackers write the second
    for (const auto& file : files_named(folder, "", std::string{"images"} + end)) {
      const auto name = file.filename().string();
      pairs[name.substr(0, name.rfind("images"))].images = file;
    }
  for (const auto* end : {"-idx1-ubyte", ".idx1-ubyte"})
    for (const auto& file : files_named(folder, "", std::string{"labels"} + end)) {
      const auto name = file.filename().string();
      pairs[name.substr(0, name.rfind("labels"))].labels = file;
    }
  for (const auto& [name, pair] : pairs)
    if (pair.images.empty() || pair.labels.empty())
      throw tier::ConfigError{fmt::format("\"{}\" has {}{} without {}{} beside it", folder.string(), name,
                                          pair.images.empty() ? "labels" : "images", name,
                                          pair.images.empty() ? "images-idx3-ubyte" : "labels-idx1-ubyte")};
  return pairs;
}

/// Opens one set, whose last tenth is held out, or one for learning and one for the test.
std::unique_ptr<Data> open_mnist(const fs::path& folder, std::uint64_t seed) {
  const auto pairs = mnist_files(folder);
  const auto find = [&](std::string_view word) {
    return std::ranges::find_if(pairs,
                                [&](const auto& pair) { return pair.first.find(word) != std::string::npos; });
  };
  if (pairs.empty()) return {};
  if (pairs.size() == 1) {
    auto training = read_mnist(pairs.begin()->second.images, pairs.begin()->second.labels);
    auto test = split_off(training, training.count() / 10);
    return std::make_unique<ImageData>(std::move(training), std::move(test), seed, true);
  }
  const auto learned = find("train");
  const auto tested = find("t10k") != pairs.end() ? find("t10k") : find("test");
  if (pairs.size() > 2 || learned == pairs.end() || tested == pairs.end())
    throw tier::ConfigError{
        fmt::format("\"{}\" has {} sets of images; a folder has one, or train-* to learn from and t10k-* "
                    "to test with",
                    folder.string(), pairs.size())};
  auto training = read_mnist(learned->second.images, learned->second.labels);
  auto test = read_mnist(tested->second.images, tested->second.labels);
  if (training.side != test.side)
    throw tier::ConfigError{
        fmt::format("\"{}\": images to learn from have {} pixels in height and width, those to test with "
                    "{}",
                    folder.string(), training.side, test.side)};
  return std::make_unique<ImageData>(std::move(training), std::move(test), seed, true);
}

}  // namespace

std::unique_ptr<Data> open_data(const fs::path& path, InputKind kind, std::uint64_t seed) {
  const bool standard_input = path == "-" && kind == InputKind::Text;
  if (!standard_input && !fs::exists(path))
    throw tier::ConfigError{"no such data", path.string(), 0, "a folder with a data set"};
  if (kind == InputKind::Text) return open_text(path, seed);
  if (auto cifar10 = open_cifar10(path, seed)) return cifar10;
  if (auto mnist = open_mnist(path, seed)) return mnist;
  throw tier::ConfigError{
      "no images", path.string(), 0,
      "a folder of CIFAR-10 in binary form (data_batch_*.bin and test_batch.bin, or train.bin and "
      "test.bin), or of MNIST (train-images-idx3-ubyte, train-labels-idx1-ubyte and t10k-*, or one such "
      "pair), as they are or packed (.gz, .zst)"};
}

std::unique_ptr<Data> generated_data(InputKind kind, std::uint64_t seed) {
  if (kind == InputKind::Text) return std::make_unique<TextData>(generated_text(200'000, seed), seed);
  return std::make_unique<ImageData>(generated_images(2048, seed), generated_images(256, seed + 1), seed,
                                     false);
}

}  // namespace training
