// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The common syntax of spec strings: fields between delimiters, with backslash escapes; `docs/specs.md`.
#include <tier/core/export.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace tier::detail {

/// Reads the fields of a spec from left to right.
class TIER_EXPORT SpecReader {
 public:
  explicit SpecReader(std::string_view text) : text_{text} {}

  [[nodiscard]] bool at_end() const noexcept { return position_ == text_.size(); }
  [[nodiscard]] std::size_t position() const noexcept { return position_; }
  [[nodiscard]] std::string_view text() const noexcept { return text_; }

  /// Reads the characters up to one of `special`, or to the end. A backslash escapes one of `special`, or itself.
  /// \throws  `ConfigError` if a backslash precedes any other character, or the field contains a NUL
  std::string field(std::string_view special);
  /// Skips `delimiter` if it comes next.   \return  true if it did
  bool skip(char delimiter) noexcept;

  [[noreturn]] void fail(std::string_view problem, std::string_view allowed) const {
    fail_at(position_, problem, allowed);
  }
  [[noreturn]] void fail_at(std::size_t position, std::string_view problem, std::string_view allowed) const;

 private:
  std::string_view text_;
  std::size_t position_ = 0;
};

/// Returns `field` escaped, so that `SpecReader::field(special)` reads it back.
[[nodiscard]] TIER_EXPORT std::string escaped(std::string_view field, std::string_view special);

}  // namespace tier::detail
