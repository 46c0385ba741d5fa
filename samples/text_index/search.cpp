// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "search.hpp"

#include <fmt/format.h>
#include <tier/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>
#include <utility>

#include "common/access_skew.hpp"

namespace pmr_index {
namespace {

constexpr std::size_t most_hits = 10;
constexpr std::size_t most_words = 3;

// The usual constants of BM25.
constexpr double k1 = 1.2;
constexpr double b = 0.75;

/// A list and the position of reading.
struct Cursor {
  const PostingList* list;
  std::size_t at = 0;
  double weight = 0;

  /// Goes on to the first document not before `document`, in doubling steps.   \return  true if it is `document`
  bool seek(std::uint32_t document) {
    const std::span<const Posting> rest = std::span{list->postings}.subspan(at);
    std::size_t step = 1;
    while (step < rest.size() && rest[step].document < document) step *= 2;
    const auto part = rest.subspan(step / 2, std::min(step + 1, rest.size()) - step / 2);
    const auto found = std::ranges::lower_bound(part, document, {}, &Posting::document);
    at += step / 2 + static_cast<std::size_t>(found - part.begin());
    return at < list->postings.size() && list->postings[at].document == document;
  }
  [[nodiscard]] bool at_end() const { return at >= list->postings.size(); }
  [[nodiscard]] std::span<const std::uint32_t> positions() const { return list->positions_in(at); }
};

std::uint32_t nearest(std::span<const std::uint32_t> a, std::span<const std::uint32_t> c) {
  std::uint32_t least = UINT32_MAX;
  for (std::size_t i = 0, j = 0; i < a.size() && j < c.size();) {
    least = std::min(least, a[i] < c[j] ? c[j] - a[i] : a[i] - c[j]);
    a[i] < c[j] ? ++i : ++j;
  }
  return least;
}

/// \param length  of the document, relative to the mean
double score(std::span<const Cursor> cursors, double length) {
  double sum = 0;
  for (const auto& cursor : cursors) {
    const auto count = static_cast<double>(cursor.positions().size());
    sum += cursor.weight * count * (k1 + 1) / (count + k1 * (1 - b + b * length));
  }
  return sum + 1.0 / (1.0 + nearest(cursors[0].positions(), cursors[1].positions()));
}

void keep_best(std::vector<Hit>& hits, const Hit& hit) {
  if (hits.size() == most_hits && !(hit > hits.front())) return;
  if (hits.size() == most_hits) {
    std::pop_heap(hits.begin(), hits.end(), std::greater{});
    hits.pop_back();
  }
  hits.push_back(hit);
  std::push_heap(hits.begin(), hits.end(), std::greater{});
}

/// Orders the rarest word first, so that the others are looked up only in its documents.
std::vector<Cursor> open(const Index& index, std::span<const PostingList* const> lists) {
  std::vector<Cursor> cursors;
  const auto documents = static_cast<double>(index.lengths().size());
  for (const auto* list : lists) {
    const auto count = static_cast<double>(list->postings.size());
    cursors.push_back({list, 0, std::log(1 + (documents - count + 0.5) / (count + 0.5))});
  }
  std::ranges::stable_sort(cursors, {}, [](const Cursor& c) { return c.list->postings.size(); });
  return cursors;
}

struct Candidate {
  std::size_t documents;
  std::string word;
};

std::vector<std::string> words_to_ask_for(const Index& index) {
  const auto documents = index.lengths().size();
  std::vector<Candidate> candidates;
  index.for_each_word([&](std::string_view word, std::size_t count) {
    if (count >= documents / 500 && count <= documents / 5) candidates.push_back({count, std::string{word}});
  });
  std::ranges::sort(candidates, [](const Candidate& a, const Candidate& c) {
    return std::tie(c.documents, a.word) < std::tie(a.documents, c.word);
  });
  std::vector<std::string> words;
  for (auto& candidate : candidates) words.push_back(std::move(candidate.word));
  return words;
}

}  // namespace

std::vector<Query> make_queries(const Index& index, std::size_t count, const std::string& skew,
                                std::uint64_t seed) {
  const auto words = words_to_ask_for(index);
  if (words.size() < 2 * most_words)
    throw tier::ConfigError{
        fmt::format("only {} words of the text can be asked for: it is too small", words.size())};
  const sample::AccessSkew popular{skew, words.size(), seed};
  std::vector<Query> queries(count);
  std::uint64_t drawn = 0;
  for (auto& query : queries) {
    const auto size = 2 + sample::mix(seed, drawn) % (most_words - 1);
    while (query.size() < size) {
      const auto& word = words[popular.row(drawn++)];
      if (std::ranges::find(query, word) == query.end()) query.push_back(word);
    }
  }
  return queries;
}

std::vector<Hit> search(const Index& index, std::span<const PostingList* const> lists) {
  std::vector<Hit> hits;
  auto cursors = open(index, lists);
  const auto lengths = index.lengths();
  const auto mean = index.mean_length();
  auto& rarest = cursors.front();
  for (; !rarest.at_end(); ++rarest.at) {
    const auto document = rarest.list->postings[rarest.at].document;
    bool in_all = true, more = true;
    for (auto& cursor : std::span{cursors}.subspan(1)) {
      in_all = in_all && cursor.seek(document);
      more = more && !cursor.at_end();
    }
    if (!more) break;
    if (!in_all) continue;
    keep_best(hits, {score(cursors, lengths[document] / mean), document});
  }
  std::sort(hits.begin(), hits.end(), std::greater{});
  return hits;
}

}  // namespace pmr_index
