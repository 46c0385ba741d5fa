// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The subjects of table rows: objects of one name, scopes and kernels of one name.
#include <tier/trace/trace.hpp>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace tier::tool::report {

/// Returns a key that all objects of one name share. An object without a name has its own.
[[nodiscard]] inline std::uint64_t label_of_object(const trace::Trace& trace, trace::TensorIndex tensor) {
  const auto name = trace.tensor(tensor).name;
  return trace.name(name).empty() ? std::uint64_t{1} << 32U | tensor : name;
}

/// Returns the object's name, or else its id.
[[nodiscard]] inline std::string text_of_object(const trace::Trace& trace, trace::TensorIndex tensor) {
  const auto& object = trace.tensor(tensor);
  const auto name = trace.name(object.name);
  return name.empty() ? "object " + std::to_string(object.id) : std::string{name};
}

/// Names a scope. Scopes without a name appear as kernels named `scope` and as stalls of `-`.
[[nodiscard]] inline std::string text_of_scope(std::string_view name) {
  return name == "-" || name == "scope" || name.empty() ? "(scopes without a name)" : std::string{name};
}

/// Rows by a key, in order of their first use.
template <class Key, class Row>
class Rows {
 public:
  /// \param make  makes a missing row
  template <class Make>
  Row& at(const Key& key, Make make) {
    const auto [place, is_new] = places_.try_emplace(key, rows_.size());
    if (is_new) rows_.push_back(make());
    return rows_[place->second];
  }
  [[nodiscard]] std::vector<Row>& all() noexcept { return rows_; }

 private:
  std::unordered_map<Key, std::size_t> places_;
  std::vector<Row> rows_;
};

/// Returns `a + b`, or the largest number.
[[nodiscard]] inline std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b) noexcept {
  return a + b < a ? ~std::uint64_t{0} : a + b;
}

}  // namespace tier::tool::report
