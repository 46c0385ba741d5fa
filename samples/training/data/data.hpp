// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Where batches come from.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "networks/networks.hpp"

namespace training {

struct BatchShape {
  std::int64_t batch = 0;
  std::int64_t image = 0;  ///< pixels in height and width of images; enlarged by repeating them
  std::int64_t steps = 0;  ///< of text
};

/// Any batch of either part can be made alone: it depends on its number and the seed only.
/// \threadsafety  Immutable
class Data {
 public:
  virtual ~Data() = default;

  [[nodiscard]] virtual std::int64_t channels() const { return 0; }  ///< of images
  [[nodiscard]] virtual std::int64_t image() const { return 0; }     ///< pixels, as they are stored
  [[nodiscard]] virtual std::int64_t classes() const = 0;

  /// Whole batches of an epoch, and of what is held out.
  [[nodiscard]] virtual std::uint64_t training_batches(const BatchShape& shape) const = 0;
  [[nodiscard]] virtual std::uint64_t test_batches(const BatchShape& shape) const = 0;
  /// \param number          from the first epoch on
  /// \param inputs, labels  of a batch; sequences have as many steps as these have room for, at most the shape's
  virtual void training_batch(const BatchShape& shape, std::uint64_t number, std::span<float> inputs,
                              std::span<float> labels) const = 0;
  virtual void test_batch(const BatchShape& shape, std::uint64_t number, std::span<float> inputs,
                          std::span<float> labels) const = 0;
};

/// The data set in a folder, told by its files, each as it is or packed (.gz, .zst): `data_batch_*.bin` and
/// `test_batch.bin` of CIFAR-10, or `train.bin` and `test.bin`; of MNIST `train-images-idx3-ubyte`,
/// `train-labels-idx1-ubyte` and those of `t10k-`, or one such pair, of which the last tenth is held out; or text (`*.txt`,
/// of which the last tenth is held out), also one such file, or - for the standard input.
/// \throws  `tier::ConfigError` if there is none, or not of this kind; `tier::TierError` if it cannot be read
[[nodiscard]] std::unique_ptr<Data> open_data(const std::filesystem::path& path, InputKind kind,
                                              std::uint64_t seed);
/// Made up, and learnable: classes differ in their colours; text repeats itself.
[[nodiscard]] std::unique_ptr<Data> generated_data(InputKind kind, std::uint64_t seed);

}  // namespace training
