// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trainer/data/text.hpp"

#include <algorithm>

#include "common/hashing.hpp"

namespace training {

TextData::TextData(const std::string& text, std::uint64_t seed) : seed_{seed} {
  std::array<int, 256> id{};
  id.fill(-1);
  for (const auto character : text) id[static_cast<std::uint8_t>(character)] = 0;
  for (auto& each : id)
    if (each == 0) each = static_cast<int>(classes_++);
  ids_.reserve(text.size());
  for (const auto character : text)
    ids_.push_back(static_cast<std::uint8_t>(id[static_cast<std::uint8_t>(character)]));
  held_out_from_ = ids_.size() - ids_.size() / 10;
}

std::uint64_t TextData::training_batches(const BatchShape& shape) const {
  return (held_out_from_ - 1) / static_cast<std::size_t>(shape.batch * shape.steps);
}

std::uint64_t TextData::test_batches(const BatchShape& shape) const {
  return (ids_.size() - held_out_from_ - 1) / static_cast<std::size_t>(shape.batch * shape.steps);
}

void TextData::take(const BatchShape& shape, std::span<float> inputs, std::span<float> labels,
                    auto start) const {
  const auto batch = static_cast<std::size_t>(shape.batch);
  const auto steps = labels.size() / batch;
  for (std::size_t i = 0; i < batch; ++i) {
    const std::size_t from = start(i);
    for (std::size_t t = 0; t < steps; ++t) {
      inputs[t * batch + i] = ids_[from + t];
      labels[t * batch + i] = ids_[from + t + 1];
    }
  }
}

void TextData::training_batch(const BatchShape& shape, std::uint64_t number, std::span<float> inputs,
                              std::span<float> labels) const {
  const auto places = held_out_from_ - static_cast<std::size_t>(shape.steps);
  take(shape, inputs, labels, [&](std::size_t i) {
    return static_cast<std::size_t>(sample::mix(seed_, number, std::uint64_t{i}) % places);
  });
}

void TextData::test_batch(const BatchShape& shape, std::uint64_t number, std::span<float> inputs,
                          std::span<float> labels) const {
  const auto batch = static_cast<std::size_t>(shape.batch);
  take(shape, inputs, labels, [&](std::size_t i) {
    return held_out_from_ +
           (static_cast<std::size_t>(number) * batch + i) * static_cast<std::size_t>(shape.steps);
  });
}

/// Generates words of a small vocabulary, each followed by one of two others.
std::string generated_text(std::size_t count, std::uint64_t seed) {
  constexpr std::uint64_t words = 64;
  std::string text;
  std::uint64_t word = 0;
  for (std::uint64_t i = 0; text.size() < count; ++i) {
    for (std::uint64_t letter = 0; letter < 2 + word % 5; ++letter)
      text += static_cast<char>('a' + sample::mix(word, letter) % 26);
    text += ' ';
    word = sample::mix(word, sample::mix(seed, i) % 2) % words;
  }
  return text;
}

}  // namespace training
