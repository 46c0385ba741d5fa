// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The source of batches.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "networks/networks.hpp"

namespace training {

struct BatchShape {
  std::int64_t batch = 0;
  std::int64_t image = 0;  ///< pixels in height and width; images are enlarged by repeating pixels
  std::int64_t steps = 0;  ///< of text
};

/// Gives batches, each of which can be made alone: it depends only on its number and the seed.
/// \threadsafety  Immutable
class Data {
 public:
  virtual ~Data() = default;

  [[nodiscard]] virtual std::int64_t channels() const { return 0; }  ///< of images
  [[nodiscard]] virtual std::int64_t image() const { return 0; }     ///< pixels, as stored
  [[nodiscard]] virtual std::int64_t classes() const = 0;

  /// Returns the whole batches of an epoch, and of the held-out part.
  [[nodiscard]] virtual std::uint64_t training_batches(const BatchShape& shape) const = 0;
  [[nodiscard]] virtual std::uint64_t test_batches(const BatchShape& shape) const = 0;
  /// \param number          counts through all epochs
  /// \param inputs, labels  of a batch; sequences have as many steps as fit these, at most the shape's
  virtual void training_batch(const BatchShape& shape, std::uint64_t number, std::span<float> inputs,
                              std::span<float> labels) const = 0;
  virtual void test_batch(const BatchShape& shape, std::uint64_t number, std::span<float> inputs,
                          std::span<float> labels) const = 0;
};

/// Opens the data set in a folder, recognised by its files, each plain or packed (.gz, .zst): of CIFAR-10
/// `data_batch_*.bin` and `test_batch.bin`, or `train.bin` and `test.bin`; of MNIST `train-images-idx3-ubyte`,
/// `train-labels-idx1-ubyte` and those of `t10k-`, or one such pair; or text, `*.txt`, one such file, or - for the standard
/// input. The last tenth of text, or of a single pair, is held out.
/// \throws  `tier::ConfigError` if there is none, or not of this kind; `tier::TierError` if it cannot be read
[[nodiscard]] std::unique_ptr<Data> open_data(const std::filesystem::path& path, InputKind kind,
                                              std::uint64_t seed);
/// Generates data from which networks can learn: classes differ in colour, and text repeats itself.
[[nodiscard]] std::unique_ptr<Data> generated_data(InputKind kind, std::uint64_t seed);

}  // namespace training
