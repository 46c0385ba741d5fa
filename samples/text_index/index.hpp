// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  An inverted index of standard containers. It knows nothing of tiers.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory_resource>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace pmr_index {

/// A document that holds a word, and where its positions begin among the word's positions.
struct Posting {
  std::uint32_t document;
  std::uint32_t first;
};

/// The postings of one word, by ascending document.
struct PostingList {
  explicit PostingList(std::pmr::memory_resource* resource) : postings{resource}, positions{resource} {}

  /// Returns the positions of the word in the document of `postings[i]`.
  [[nodiscard]] std::span<const std::uint32_t> positions_in(std::size_t i) const {
    const std::size_t end = i + 1 < postings.size() ? postings[i + 1].first : positions.size();
    return std::span{positions}.subspan(postings[i].first, end - postings[i].first);
  }

  std::pmr::vector<Posting> postings;
  std::pmr::vector<std::uint32_t> positions;
};

/// A word of a document that is being added.
struct Occurrence {
  std::uint32_t word;  ///< the id in the source of documents
  std::uint32_t document, position;
  friend auto operator<=>(const Occurrence&, const Occurrence&) = default;
};

class Index {
 public:
  /// \param lists       for the postings of words: nearly all of the index
  /// \param dictionary  for words and the places of their lists
  Index(std::pmr::memory_resource* lists, std::pmr::memory_resource* dictionary)
      : words_{dictionary}, lists_{dictionary}, lengths_{dictionary}, resource_{lists} {}

  /// Adds documents.
  /// \param occurrences  sorted; all words of some documents, which follow those added before
  /// \param lengths      of these documents, in words
  /// \param word_of      returns the word of an `Occurrence::word`
  /// \throws  `std::length_error` for a word in 2^32 or more places
  template <class WordOf>
  void add(std::span<const Occurrence> occurrences, std::span<const std::uint32_t> lengths, WordOf word_of);

  /// Returns null if no document has the word.
  [[nodiscard]] const PostingList* find(std::string_view word) const {
    const auto found = words_.find(word);
    return found == words_.end() ? nullptr : &lists_[found->second];
  }
  [[nodiscard]] std::span<const std::uint32_t> lengths() const noexcept { return lengths_; }
  /// Returns the mean number of words in a document.
  [[nodiscard]] double mean_length() const noexcept {
    return static_cast<double>(length_) / static_cast<double>(std::max<std::size_t>(1, lengths_.size()));
  }
  /// Visits each word with the number of documents that hold it.
  template <class Visit>
  void for_each_word(Visit visit) const {
    for (const auto& [word, list] : words_) visit(std::string_view{word}, lists_[list].postings.size());
  }

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  static void append(PostingList& list, std::span<const Occurrence> occurrences);

  std::pmr::unordered_map<std::pmr::string, std::size_t, Hash, std::equal_to<>> words_;
  std::pmr::deque<PostingList> lists_;
  std::pmr::vector<std::uint32_t> lengths_;
  std::pmr::memory_resource* resource_;
  std::uint64_t length_ = 0;  // of all documents
};

template <class WordOf>
void Index::add(std::span<const Occurrence> occurrences, std::span<const std::uint32_t> lengths,
                WordOf word_of) {
  lengths_.insert(lengths_.end(), lengths.begin(), lengths.end());
  length_ = std::accumulate(lengths.begin(), lengths.end(), length_);
  while (!occurrences.empty()) {
    std::size_t same = 1;
    while (same < occurrences.size() && occurrences[same].word == occurrences[0].word) ++same;
    const std::string_view word = word_of(occurrences[0].word);
    auto found = words_.find(word);
    if (found == words_.end()) {
      found = words_.emplace(word, lists_.size()).first;
      lists_.emplace_back(resource_);
    }
    append(lists_[found->second], occurrences.first(same));
    occurrences = occurrences.subspan(same);
  }
}

inline void Index::append(PostingList& list, std::span<const Occurrence> occurrences) {
  constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max();
  if (occurrences.size() > most - std::min(most, list.positions.size()))
    throw std::length_error{
        "a word is in more than 4294967295 places, which is the most; index fewer --documents"};
  for (const auto& [word, document, position] : occurrences) {
    if (list.postings.empty() || list.postings.back().document != document)
      list.postings.push_back({document, static_cast<std::uint32_t>(list.positions.size())});
    list.positions.push_back(position);
  }
}

}  // namespace pmr_index
