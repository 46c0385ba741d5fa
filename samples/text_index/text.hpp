// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The text to index, as documents of words.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace pmr_index {

using WordId = std::uint32_t;

/// Holds text in plain memory, and gives any number of documents of about 200 words: first the text itself, in order; then
/// sentences of it, drawn at random. The words stay the same; only their combinations change.
/// \threadsafety  Immutable.
class Text {
 public:
  /// Reads a file, - for the standard input, or all files `*.txt` of a folder, packed or not, each name once. Words are
  /// runs of ASCII letters and digits, in lower case.
  /// \throws  `tier::TierError` if a file cannot be read; `tier::ConfigError` if there are no words
  static Text read(const std::filesystem::path& path, std::uint64_t seed);
  /// Draws a million words from a vocabulary by Zipf's law, in sentences of 8 to 23.
  static Text generate(std::uint64_t seed);

  [[nodiscard]] std::size_t vocabulary_size() const noexcept { return vocabulary_.size(); }
  [[nodiscard]] std::string_view word(WordId id) const { return vocabulary_[id]; }
  [[nodiscard]] std::size_t word_count() const noexcept { return words_.size(); }

  /// Replaces `words` by those of document `i`.
  void read_document(std::uint64_t i, std::vector<WordId>& words) const;

 private:
  explicit Text(std::uint64_t seed) : seed_{seed} {}
  void add_file(const std::filesystem::path& path);
  void add_word(std::string_view word);
  void end_sentence();
  void end_of_text();
  [[nodiscard]] std::span<const WordId> sentence(std::size_t i) const;

  std::uint64_t seed_;
  std::vector<std::string> vocabulary_;
  std::unordered_map<std::string, WordId> ids_;
  std::vector<WordId> words_;
  std::vector<std::size_t> sentences_{0};  // where each begins, then the end
  std::vector<std::size_t> documents_{0};  // of the text itself: the first sentence of each, then the end
};

}  // namespace pmr_index
