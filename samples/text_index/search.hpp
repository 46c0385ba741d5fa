// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Queries and their best documents.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "index.hpp"

namespace pmr_index {

/// Words that a document must all have.
using Query = std::vector<std::string>;

/// Makes queries of two or three words that are in 1 of 5 to 1 of 500 documents. How often a word is asked for follows
/// Zipf's law, whatever its frequency in documents. The queries depend only on the text and the seed.
/// \throws  `tier::ConfigError` if there are too few words
[[nodiscard]] std::vector<Query> make_queries(const Index& index, std::size_t count, const std::string& skew,
                                              std::uint64_t seed);

/// A document and its score.
struct Hit {
  double score;
  std::uint32_t document;
  friend auto operator<=>(const Hit&, const Hit&) = default;
};

/// Returns the ten best documents that have all words, best first, by BM25 plus a bonus for words near each other.
[[nodiscard]] std::vector<Hit> search(const Index& index, std::span<const PostingList* const> lists);

}  // namespace pmr_index
