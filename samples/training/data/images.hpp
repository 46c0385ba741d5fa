// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Small images in memory, shuffled, shifted and enlarged on their way into batches.
#include <array>
#include <vector>

#include "data/data.hpp"

namespace training {

/// Pixels channels-last.
struct ImageSet {
  std::size_t side = 0;
  std::size_t channels = 0;
  std::size_t classes = 10;
  std::vector<std::uint8_t> pixels;
  std::vector<std::uint8_t> labels;

  [[nodiscard]] std::size_t count() const { return labels.size(); }
  [[nodiscard]] std::size_t bytes_of_one() const { return side * side * channels; }
  /// Of a pixel's first channel, from the beginning of its image.
  [[nodiscard]] std::size_t offset(std::size_t row, std::size_t column) const {
    return (row * side + column) * channels;
  }
};

class ImageData final : public Data {
 public:
  /// \param vary  whether images of training are shifted, and mirrored if they have colours
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
  /// How an image is seen.
  struct View {
    std::size_t index = 0;
    int right = 0, down = 0;  ///< pixels that it is shifted by
    bool mirrored = false;
  };
  void draw(const ImageSet& set, const View& view, std::size_t side, std::span<float> out) const;
  [[nodiscard]] View varied(std::size_t index, std::uint64_t key) const;

  ImageSet training_, test_;
  std::uint64_t seed_;
  bool vary_;
  std::array<float, 4> mean_{}, scale_{};  // of each channel
};

/// The images of all files together, each as it is or packed.
/// \throws  `tier::TierError` for what cannot be read, `tier::ConfigError` naming the file for what is none
[[nodiscard]] ImageSet read_cifar10(std::span<const std::filesystem::path> files);
/// \param images, labels  IDX files, as they are or packed   \throws  as `read_cifar10`
[[nodiscard]] ImageSet read_mnist(const std::filesystem::path& images, const std::filesystem::path& labels);
/// The last `count` images as a set of their own.
[[nodiscard]] ImageSet split_off(ImageSet& set, std::size_t count);
[[nodiscard]] ImageSet generated_images(std::size_t count, std::uint64_t seed);

}  // namespace training
