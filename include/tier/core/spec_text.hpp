// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What the spec strings have in common: fields between delimiters, with backslashes; `docs/specs.md`.
#include <tier/core/export.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace tier::detail {

/// Takes a spec apart from left to right.
class TIER_EXPORT SpecReader {
 public:
  explicit SpecReader(std::string_view text) : text_{text} {}

  [[nodiscard]] bool at_end() const noexcept { return position_ == text_.size(); }
  [[nodiscard]] std::size_t position() const noexcept { return position_; }
  [[nodiscard]] std::string_view text() const noexcept { return text_; }

  /// The characters up to one of `special`, or to the end. A backslash makes an ordinary character of one of
  /// `special` and of itself.
  /// \throws  `ConfigError` where a backslash stands before anything else, or a NUL in the field
  std::string field(std::string_view special);
  /// Passes by `delimiter` if it comes next.
  bool skip(char delimiter) noexcept;

  [[noreturn]] void fail(std::string_view problem, std::string_view allowed) const {
    fail_at(position_, problem, allowed);
  }
  [[noreturn]] void fail_at(std::size_t position, std::string_view problem, std::string_view allowed) const;

 private:
  std::string_view text_;
  std::size_t position_ = 0;
};

/// The text whose `field(special)` is `field`.
[[nodiscard]] TIER_EXPORT std::string escaped(std::string_view field, std::string_view special);

}  // namespace tier::detail
