// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/trace/names.hpp>

#include <algorithm>
#include <functional>
#include <limits>
#include <stdexcept>

#include "trace/characters.hpp"

namespace tier::trace {

std::string tier_in_lines(std::string_view name) {
  auto text = as_token(name);
  std::ranges::replace_if(
      text, [](char c) { return c == ',' || c == '+'; }, '.');
  return text;
}

NameIndex NamePool::add(std::string_view text) {
  if (text.empty()) return 0;
  const auto hash_of = [](std::string_view t) -> std::uint64_t { return std::hash<std::string_view>{}(t); };
  const auto found = places_.find(hash_of(text), [&](NameIndex name) { return (*this)[name] == text; });
  if (found != detail::PlaceTable::none) return found;
  if (text.size() > std::numeric_limits<std::uint32_t>::max() - characters_.size())
    throw std::length_error{"names of more than 4 GiB"};
  characters_.append(text);
  ends_.push_back(static_cast<std::uint32_t>(characters_.size()));
  const auto name = static_cast<NameIndex>(ends_.size() - 1);
  places_.add(name, [&](NameIndex place) { return hash_of((*this)[place]); });
  return name;
}

}  // namespace tier::trace
