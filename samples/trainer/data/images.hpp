// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Small images in memory, which are shuffled, shifted and enlarged on their way into batches.
#include <array>
#include <vector>

#include "trainer/data/data.hpp"

namespace training {

/// Images with their labels; pixels are channels-last.
struct ImageSet {
  std::size_t side = 0;
  std::size_t channels = 0;
  std::size_t classes = 10;
  std::vector<std::uint8_t> pixels;
  std::vector<std::uint8_t> labels;

  [[nodiscard]] std::size_t count() const { return labels.size(); }
  [[nodiscard]] std::size_t bytes_of_one() const { return side * side * channels; }
  /// Returns the offset of a pixel's first channel within its image.
  [[nodiscard]] std::size_t offset(std::size_t row, std::size_t column) const {
    return (row * side + column) * channels;
  }
};

class ImageData final : public Data {
 public:
  /// \param vary  shift training images, and mirror those with colours
  ImageData(ImageSet training, ImageSet test, std::uint64_t seed, bool vary);

  [[nodiscard]] std::int64_t channels() const override {
    return static_cast<std::int64_t>(training_.channels);
  }
  [[nodiscard]] std::int64_t image() const override { return static_cast<std::int64_t>(training_.side); }
  [[nodiscard]] std::int64_t classes() const override { return static_cast<std::int64_t>(training_.classes); }
  [[nodiscard]] std::uint64_t training_batches(const BatchShape& shape) const override;
  [[nodiscard]] std::uint64_t test_batches(const BatchShape& shape) const override;
  void training_batch(const BatchShape& shape, std::uint64_t number, std::span<float> inputs,
                      std::span<float> labels) const override;
  void test_batch(const BatchShape& shape, std::uint64_t number, std::span<float> inputs,
                  std::span<float> labels) const override;

 private:
  /// The view of an image in a batch.
  struct View {
    std::size_t index = 0;
    int right = 0, down = 0;  ///< shift in pixels
    bool mirrored = false;
  };
  void draw(const ImageSet& set, const View& view, std::size_t side, std::span<float> out) const;
  [[nodiscard]] View varied(std::size_t index, std::uint64_t key) const;

  ImageSet training_, test_;
  std::uint64_t seed_;
  bool vary_;
  std::array<float, 4> mean_{}, scale_{};  // of each channel
};

/// Reads the images of all files together, each plain or packed.
/// \throws  `tier::TierError` if a file cannot be read, `tier::ConfigError` naming a file that has another format
[[nodiscard]] ImageSet read_cifar10(std::span<const std::filesystem::path> files);
/// \param images, labels  IDX files, plain or packed   \throws  as `read_cifar10`
[[nodiscard]] ImageSet read_mnist(const std::filesystem::path& images, const std::filesystem::path& labels);
/// Moves the last `count` images into a set of their own.
[[nodiscard]] ImageSet split_off(ImageSet& set, std::size_t count);
[[nodiscard]] ImageSet generated_images(std::size_t count, std::uint64_t seed);

}  // namespace training
