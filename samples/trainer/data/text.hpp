// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Text by characters.
#include <array>
#include <string>
#include <vector>

#include "trainer/data/data.hpp"

namespace training {

/// Text for predicting the successor of each character. The last tenth is held out.
class TextData final : public Data {
 public:
  TextData(const std::string& text, std::uint64_t seed);

  [[nodiscard]] std::int64_t classes() const override { return classes_; }
  [[nodiscard]] std::uint64_t training_batches(const BatchShape& shape) const override;
  [[nodiscard]] std::uint64_t test_batches(const BatchShape& shape) const override;
  void training_batch(const BatchShape& shape, std::uint64_t number, std::span<float> inputs,
                      std::span<float> labels) const override;
  void test_batch(const BatchShape& shape, std::uint64_t number, std::span<float> inputs,
                  std::span<float> labels) const override;

 private:
  /// Takes a batch whose sequence `i` begins at `start(i)`.
  void take(const BatchShape& shape, std::span<float> inputs, std::span<float> labels, auto start) const;

  std::vector<std::uint8_t> ids_;  // by rank among the occurring characters
  std::int64_t classes_ = 0;
  std::size_t held_out_from_ = 0;
  std::uint64_t seed_;
};

[[nodiscard]] std::string generated_text(std::size_t count, std::uint64_t seed);

}  // namespace training
