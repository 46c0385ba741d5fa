// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A pool of the texts of a trace, each kept once.
#include <tier/core/assert.hpp>
#include <tier/core/export.hpp>
#include <tier/trace/detail/place_table.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tier::trace {

/// Returns a tier's name with dots for the separators of operands' tiers in a line, as `numa:0.2` for `numa:0,2`.
[[nodiscard]] TIER_EXPORT std::string tier_in_lines(std::string_view name);

/// The place of a text in its pool.
using NameIndex = std::uint32_t;

/// Lets the events of a trace share names: keeps different texts in one piece of memory. The first, 0, is the empty one.
/// \threadsafety  Const functions may run concurrently on a pool that no thread changes.
class TIER_EXPORT NamePool {
 public:
  /// Returns the place of `text`, and adds it if it is not there.
  /// \throws  `std::length_error` when all texts together would exceed 4 GiB
  NameIndex add(std::string_view text);

  /// \pre  `name < count()`.   \return  valid until the next `add`
  [[nodiscard]] std::string_view operator[](NameIndex name) const noexcept {
    TIER_ASSERT(name < ends_.size(), "a name must be one of this pool");
    const auto begin = name == 0 ? 0 : ends_[name - 1];
    return {characters_.data() + begin, ends_[name] - begin};
  }
  [[nodiscard]] std::size_t count() const noexcept { return ends_.size(); }
  /// Returns the bytes of memory it takes.
  [[nodiscard]] std::size_t size_bytes() const noexcept {
    return characters_.size() + ends_.size() * sizeof(std::uint32_t) + places_.size_bytes();
  }

  /// True if both have the same texts in the same order.
  friend bool operator==(const NamePool& a, const NamePool& b) {
    return a.ends_ == b.ends_ && a.characters_ == b.characters_;
  }

 private:
  std::string characters_;
  std::vector<std::uint32_t> ends_{0};  // end of each text in characters_
  detail::PlaceTable places_;           // places of all texts but the empty one
};

}  // namespace tier::trace
