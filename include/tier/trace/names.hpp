// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The texts of a trace, each once.
#include <tier/core/assert.hpp>
#include <tier/core/export.hpp>
#include <tier/trace/detail/place_table.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tier::trace {

/// How lines name a tier: without what stands there between the tiers of operands, as `numa:0.2` for `numa:0,2`.
[[nodiscard]] TIER_EXPORT std::string tier_in_lines(std::string_view name);

/// The place of a text in its pool.
using NameIndex = std::uint32_t;

/// Different texts in one piece of memory. The first, 0, is the empty one.
/// \threadsafety  Const functions are safe at once, on a pool that nobody changes.
class TIER_EXPORT NamePool {
 public:
  /// The place of `text`, which is added unless it is there.
  /// \throws  `std::length_error` when all texts together would exceed 4 GiB
  NameIndex add(std::string_view text);

  /// \pre  `name < count()`.   \return  valid until the next `add`
  [[nodiscard]] std::string_view operator[](NameIndex name) const noexcept {
    TIER_ASSERT(name < ends_.size(), "a name is of its own pool");
    const auto begin = name == 0 ? 0 : ends_[name - 1];
    return {characters_.data() + begin, ends_[name] - begin};
  }
  [[nodiscard]] std::size_t count() const noexcept { return ends_.size(); }
  /// Memory that it takes.
  [[nodiscard]] std::size_t size_bytes() const noexcept {
    return characters_.size() + ends_.size() * sizeof(std::uint32_t) + places_.size_bytes();
  }

  /// The same texts in the same order.
  friend bool operator==(const NamePool& a, const NamePool& b) {
    return a.ends_ == b.ends_ && a.characters_ == b.characters_;
  }

 private:
  std::string characters_;
  std::vector<std::uint32_t> ends_{0};  // of each text in characters_
  detail::PlaceTable places_;           // of all texts but the empty one
};

}  // namespace tier::trace
