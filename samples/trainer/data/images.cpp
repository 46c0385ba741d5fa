// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trainer/data/images.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tier/core/assert.hpp>
#include <tier/core/error.hpp>
#include <tier/core/input_file.hpp>

#include <algorithm>
#include <cmath>

#include "common/access_skew.hpp"
#include "common/hashing.hpp"

namespace training {
namespace {

using Bytes = std::vector<std::uint8_t>;

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& what) {
  throw tier::ConfigError{fmt::format("\"{}\": {}", file.string(), what)};
}

Bytes read_file(const std::filesystem::path& file) {
  tier::InputFile in{file.string()};
  Bytes bytes;
  std::vector<char> piece(std::size_t{1} << 20);
  while (const auto count = in.read(piece)) bytes.insert(bytes.end(), piece.data(), piece.data() + count);
  return bytes;
}

std::uint32_t big_endian(std::span<const std::uint8_t> bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = at; i < at + 4; ++i) value = value << 8 | bytes[i];
  return value;
}

/// \return  the bytes after an IDX file's header   \param[out] extents  one for each dimension of the header
Bytes read_idx(const std::filesystem::path& file, std::span<std::uint32_t> extents) {
  auto bytes = read_file(file);
  const auto header = 4 + 4 * extents.size();
  if (bytes.size() < header || big_endian(bytes, 0) != (0x0800U | extents.size()))
    fail(file, fmt::format("not an IDX file of bytes in {} dimensions", extents.size()));
  std::size_t count = 1;
  bool fits = true;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    extents[i] = big_endian(bytes, 4 + 4 * i);
    fits = fits && !__builtin_mul_overflow(count, std::size_t{extents[i]}, &count);
  }
  if (!fits || bytes.size() - header != count)
    fail(file, fmt::format("its header says {} bytes, but {} follow it", fmt::join(extents, " x "),
                           bytes.size() - header));
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(header));
  return bytes;
}

void check_labels(const std::filesystem::path& file, const ImageSet& set) {
  const auto wrong = std::ranges::find_if(set.labels, [&](auto label) { return label >= set.classes; });
  if (wrong != set.labels.end())
    fail(file, fmt::format("label {} of image {} is no class: allowed are 0 to {}", *wrong,
                           wrong - set.labels.begin(), set.classes - 1));
}

}  // namespace

ImageSet read_cifar10(std::span<const std::filesystem::path> files) {
  constexpr std::size_t side = 32;
  constexpr std::size_t pixels = side * side;
  constexpr std::size_t record = 1 + 3 * pixels;
  ImageSet set{.side = side, .channels = 3, .pixels = {}, .labels = {}};
  for (const auto& file : files) {
    const auto bytes = read_file(file);
    if (bytes.empty() || bytes.size() % record != 0)
      fail(file,
           fmt::format("not records of CIFAR-10, which have {} bytes: it has {}", record, bytes.size()));
    for (std::size_t at = 0; at < bytes.size(); at += record) {
      if (bytes[at] >= set.classes)
        fail(file, fmt::format("label {} of record {} is no class: allowed are 0 to {}", bytes[at],
                               at / record, set.classes - 1));
      set.labels.push_back(bytes[at]);
      for (std::size_t p = 0; p < pixels; ++p)
        for (std::size_t c = 0; c < 3; ++c) set.pixels.push_back(bytes[at + 1 + c * pixels + p]);
    }
  }
  return set;
}

ImageSet read_mnist(const std::filesystem::path& images, const std::filesystem::path& labels) {
  std::uint32_t extents[3];
  std::uint32_t count[1];
  ImageSet set{.channels = 1, .pixels = read_idx(images, extents), .labels = read_idx(labels, count)};
  if (set.pixels.empty())
    fail(images, fmt::format("there is nothing in it: its header says {}", fmt::join(extents, " x ")));
  if (extents[1] != extents[2])
    fail(images, fmt::format("its images have {} x {} pixels; square ones are read", extents[1], extents[2]));
  if (extents[0] != count[0])
    fail(images, fmt::format("{} images, but \"{}\" has {} labels", extents[0], labels.string(), count[0]));
  check_labels(labels, set);
  set.side = extents[1];
  return set;
}

ImageSet split_off(ImageSet& set, std::size_t count) {
  ImageSet rest{
      .side = set.side, .channels = set.channels, .classes = set.classes, .pixels = {}, .labels = {}};
  const auto kept = set.count() - count;
  rest.labels.assign(set.labels.begin() + static_cast<std::ptrdiff_t>(kept), set.labels.end());
  rest.pixels.assign(set.pixels.begin() + static_cast<std::ptrdiff_t>(kept * set.bytes_of_one()),
                     set.pixels.end());
  set.labels.resize(kept);
  set.pixels.resize(kept * set.bytes_of_one());
  return rest;
}

/// Makes images of noise around a colour that depends on the class.
ImageSet generated_images(std::size_t count, std::uint64_t seed) {
  ImageSet set{.side = 32, .channels = 3, .pixels = {}, .labels = {}};
  for (std::size_t i = 0; i < count; ++i) {
    const auto label = sample::mix(seed, i) % set.classes;
    set.labels.push_back(static_cast<std::uint8_t>(label));
    for (std::size_t p = 0; p < set.bytes_of_one(); ++p) {
      const auto colour = sample::mix(label, p % set.channels) % 96;
      set.pixels.push_back(static_cast<std::uint8_t>(colour + sample::mix(seed, i, p) % 160));
    }
  }
  return set;
}

ImageData::ImageData(ImageSet training, ImageSet test, std::uint64_t seed, bool vary)
    : training_{std::move(training)}, test_{std::move(test)}, seed_{seed}, vary_{vary} {
  const auto channels = training_.channels;
  TIER_VERIFY(channels <= mean_.size(), "images must have at most four channels");
  const auto count = static_cast<double>(training_.pixels.size() / channels);
  for (std::size_t c = 0; c < channels; ++c) {
    double sum = 0;
    double squares = 0;
    for (std::size_t i = c; i < training_.pixels.size(); i += channels) {
      sum += training_.pixels[i];
      squares += double{1} * training_.pixels[i] * training_.pixels[i];
    }
    const double mean = sum / count;
    mean_[c] = static_cast<float>(mean);
    scale_[c] = static_cast<float>(1 / std::sqrt(std::max(squares / count - mean * mean, 1.0)));
  }
}

std::uint64_t ImageData::training_batches(const BatchShape& shape) const {
  return training_.count() / static_cast<std::size_t>(shape.batch);
}

std::uint64_t ImageData::test_batches(const BatchShape& shape) const {
  return test_.count() / static_cast<std::size_t>(shape.batch);
}

void ImageData::training_batch(const BatchShape& shape, std::uint64_t number, std::span<float> inputs,
                               std::span<float> labels) const {
  const auto batches = training_batches(shape);
  const auto epoch = number / batches;
  const sample::Permutation shuffled{training_.count(), sample::mix(seed_, epoch)};
  const auto first = number % batches * labels.size();
  const auto floats = inputs.size() / labels.size();
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto index = static_cast<std::size_t>(shuffled(first + i));
    labels[i] = training_.labels[index];
    const auto view = vary_ ? varied(index, sample::mix(seed_, epoch, std::uint64_t{index})) : View{index};
    draw(training_, view, static_cast<std::size_t>(shape.image), inputs.subspan(i * floats, floats));
  }
}

void ImageData::test_batch(const BatchShape& shape, std::uint64_t number, std::span<float> inputs,
                           std::span<float> labels) const {
  const auto floats = inputs.size() / labels.size();
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto index = static_cast<std::size_t>(number) * labels.size() + i;
    labels[i] = test_.labels[index];
    draw(test_, {index}, static_cast<std::size_t>(shape.image), inputs.subspan(i * floats, floats));
  }
}

ImageData::View ImageData::varied(std::size_t index, std::uint64_t key) const {
  const auto most = training_.side / 8;
  const auto shift = [&](std::uint64_t which) {
    return static_cast<int>(sample::mix(key, which) % (2 * most + 1)) - static_cast<int>(most);
  };
  return {index, shift(0), shift(1), training_.channels > 1 && sample::mix(key, std::uint64_t{2}) % 2 == 1};
}

// Pixels from outside the image get the mean, 0.
void ImageData::draw(const ImageSet& set, const View& view, std::size_t side, std::span<float> out) const {
  const auto* pixels = set.pixels.data() + view.index * set.bytes_of_one();
  const auto stored = static_cast<int>(set.side);
  const auto inside = [&](int i) { return i >= 0 && i < stored; };
  std::size_t at = 0;
  for (std::size_t row = 0; row < side; ++row) {
    const int y = static_cast<int>(row * set.side / side) - view.down;
    for (std::size_t column = 0; column < side; ++column) {
      int x = static_cast<int>(column * set.side / side) - view.right;
      if (view.mirrored) x = stored - 1 - x;
      const bool seen = inside(x) && inside(y);
      const auto place = seen ? set.offset(static_cast<std::size_t>(y), static_cast<std::size_t>(x)) : 0;
      for (std::size_t c = 0; c < set.channels; ++c, ++at)
        out[at] = seen ? (static_cast<float>(pixels[place + c]) - mean_[c]) * scale_[c] : 0;
    }
  }
}

}  // namespace training
