// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/suggestion.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

namespace tier::detail {
namespace {

constexpr std::size_t longest_word = 64;  // a longer text is no misspelt word, and the search is quadratic

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Returns how many letters must be inserted, removed, replaced or swapped with a neighbour (optimal string alignment),
/// ignoring case.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same ? 0 : 1)});
      const bool swapped =
          i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(above);
    above.swap(row);
  }
  return above[b.size()];
}

/// Removes the first word from the list and returns it.
std::string_view next_word(std::string_view& list) {
  const auto comma = std::min(list.find(','), list.size());
  auto word = list.substr(0, comma);
  list.remove_prefix(std::min(comma + 1, list.size()));
  word.remove_prefix(std::min(word.find_first_not_of(' '), word.size()));
  return word.substr(0, word.find_first_of(" :"));
}

}  // namespace

std::string_view most_similar(std::string_view word, std::string_view known) {
  if (word.empty() || word.size() > longest_word) return {};
  std::string_view best;
  auto nearest = std::numeric_limits<std::size_t>::max();
  while (!known.empty()) {
    const auto candidate = next_word(known);
    const auto longer = std::max(word.size(), candidate.size());
    const auto bound = std::min(std::max<std::size_t>(1, word.size() / 3), longer - 1);
    if (candidate.size() > longest_word) continue;
    const auto letters = distance(word, candidate);
    if (letters > bound || letters >= nearest) continue;
    nearest = letters;
    best = candidate;
  }
  return best;
}

std::string did_you_mean(std::string_view word, std::string_view known) {
  const auto best = most_similar(word, known);
  return best.empty() ? std::string{} : " (did you mean \"" + std::string{best} + "\"?)";
}

}  // namespace tier::detail
