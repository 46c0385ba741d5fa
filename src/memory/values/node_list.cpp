// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/values/node_list.hpp"

#include <tier/core/error.hpp>

#include <algorithm>
#include <charconv>
#include <optional>

namespace tier {
namespace {

class ListReader {
 public:
  ListReader(std::string_view text, NodeListProblem& problem) : text_{text}, problem_{problem} {}

  std::vector<unsigned> read() {
    std::vector<unsigned> nodes;
    do {
      const auto start = position_;
      const auto first = number();
      const auto last = first && skip('-') ? number() : first;
      if (!last) return {};
      if (*last < *first) return fail("a range that ends before it begins", start);
      for (auto node = *first; node <= *last; ++node) nodes.push_back(node);
    } while (skip(','));
    if (position_ != text_.size()) return fail("expected , or the end of the nodes", position_);
    std::ranges::sort(nodes);
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    return nodes;
  }

 private:
  std::vector<unsigned> fail(const char* what, std::size_t position) {
    problem_ = {what, position};
    return {};
  }
  bool skip(char delimiter) noexcept {
    const bool found = position_ < text_.size() && text_[position_] == delimiter;
    position_ += found;
    return found;
  }
  std::optional<unsigned> number() {
    unsigned value = 0;
    const auto* const begin = text_.data() + position_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (end == begin) return fail("expected a node", position_), std::nullopt;
    if (error != std::errc{} || value >= max_nodes)
      return fail("not a possible node number", position_), std::nullopt;
    position_ += static_cast<std::size_t>(end - begin);
    return value;
  }

  std::string_view text_;
  NodeListProblem& problem_;
  std::size_t position_ = 0;
};

}  // namespace

std::vector<unsigned> parse_node_list(std::string_view text, NodeListProblem& problem) {
  return ListReader{text, problem}.read();
}

std::vector<unsigned> parse_node_list(std::string_view text) {
  NodeListProblem problem;
  auto nodes = parse_node_list(text, problem);
  if (nodes.empty()) throw ConfigError{problem.what, text, problem.position, allowed_node_lists};
  return nodes;
}

}  // namespace tier
