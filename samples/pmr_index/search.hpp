// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Queries, and the best documents for each.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "index.hpp"

namespace pmr_index {

/// Words that a document must have, all of them.
using Query = std::vector<std::string>;

/// A stream of queries of two or three words that are in 1 of 5 to 1 of 500 documents; how often a word is asked for
/// follows Zipf's law, whatever its frequency in documents. It depends on the text and the seed alone.
/// \throws  `tier::ConfigError` where there are not enough words for that
[[nodiscard]] std::vector<Query> make_queries(const Index& index, std::size_t count, const std::string& skew,
                                              std::uint64_t seed);

/// A document and how well it fits.
struct Hit {
  double score;
  std::uint32_t document;
  friend auto operator<=>(const Hit&, const Hit&) = default;
};

/// The ten best documents that have all the words, best first: BM25, and more the nearer two of the words are.
[[nodiscard]] std::vector<Hit> search(const Index& index, std::span<const PostingList* const> lists);

}  // namespace pmr_index
