// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "text.hpp"

#include <fmt/format.h>
#include <tier/core/error.hpp>
#include <tier/core/input_file.hpp>

#include "common/access_skew.hpp"
#include "common/data_files.hpp"

namespace pmr_index {
namespace {

namespace fs = std::filesystem;
using sample::mix;

constexpr std::size_t words_of_document = 200;
constexpr std::size_t longest_sentence = 64;  // longer ones, such as lists, are cut

// Sizes of generated text.
constexpr std::size_t generated_words = 1'000'000;
constexpr std::size_t generated_vocabulary = 40'000;
constexpr const char* generated_skew = "1.0";

/// True for ASCII letters and digits, in any locale.
bool is_of_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::vector<fs::path> files_at(const fs::path& path) {
  return fs::is_directory(path) ? sample::files_named(path, "", ".txt") : std::vector{path};
}

/// Returns a pronounceable word for a number.
std::string spell(std::uint64_t number) {
  constexpr std::string_view consonants = "bdfgklmnprstvz", vowels = "aeiou";
  std::string word;
  for (number += consonants.size(); number > 0; number /= consonants.size() * vowels.size()) {
    word += consonants[number % consonants.size()];
    word += vowels[number / consonants.size() % vowels.size()];
  }
  return word;
}

}  // namespace

Text Text::read(const fs::path& path, std::uint64_t seed) {
  Text text{seed};
  for (const auto& file : files_at(path)) text.add_file(file);
  text.end_of_text();
  if (text.words_.empty())
    throw tier::ConfigError{
        fmt::format("--text {}: there are no words in it, or no files *.txt", path.string())};
  return text;
}

Text Text::generate(std::uint64_t seed) {
  Text text{seed};
  const sample::AccessSkew skew{generated_skew, generated_vocabulary, seed};
  for (std::uint64_t i = 0, left = 0; i < generated_words; ++i, --left) {
    if (left == 0) {
      text.end_sentence();
      left = 8 + mix(seed, i, std::uint64_t{1}) % 16;
    }
    text.add_word(spell(skew.row(i)));
  }
  text.end_of_text();
  return text;
}

void Text::add_file(const fs::path& path) {
  std::string word;
  for (const char c : tier::read_text_file(path.string())) {
    if (is_of_word(c)) {
      word += lower(c);
      continue;
    }
    if (!word.empty()) add_word(word);
    word.clear();
    if (c == '.' || c == '!' || c == '?' || c == ';') end_sentence();
  }
  if (!word.empty()) add_word(word);
  end_sentence();
}

void Text::add_word(std::string_view word) {
  const auto [entry, is_new] = ids_.try_emplace(std::string{word}, static_cast<WordId>(vocabulary_.size()));
  if (is_new) vocabulary_.emplace_back(word);
  words_.push_back(entry->second);
  if (words_.size() - sentences_.back() == longest_sentence) end_sentence();
}

void Text::end_sentence() {
  if (words_.size() == sentences_.back()) return;
  sentences_.push_back(words_.size());
  if (words_.size() - sentences_[documents_.back()] >= words_of_document)
    documents_.push_back(sentences_.size() - 1);
}

void Text::end_of_text() {
  end_sentence();
  if (documents_.back() + 1 < sentences_.size()) documents_.push_back(sentences_.size() - 1);
  ids_ = {};
}

std::span<const WordId> Text::sentence(std::size_t i) const {
  return std::span{words_}.subspan(sentences_[i], sentences_[i + 1] - sentences_[i]);
}

void Text::read_document(std::uint64_t i, std::vector<WordId>& words) const {
  words.clear();
  const auto add = [&](std::size_t s) {
    const auto some = sentence(s);
    words.insert(words.end(), some.begin(), some.end());
  };
  if (i + 1 < documents_.size()) {
    for (auto s = documents_[i]; s < documents_[i + 1]; ++s) add(s);
    return;
  }
  for (std::uint64_t n = 0; words.size() < words_of_document; ++n)
    add(mix(seed_, i, n) % (sentences_.size() - 1));
}

}  // namespace pmr_index
