// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Reading a text file line by line, with bad lines counted, and the fields of a line.
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tier/core/function_ref.hpp>
#include <tier/core/input_file.hpp>
#include "logs/log.hpp"

namespace dlrm {

/// Lines of a file, which may be packed, be read only once, have a byte order mark and lines that end as on Windows. A line
/// that cannot be parsed is counted and skipped; too many of them end the reading.
class TextLines {
 public:
  /// \param header  the first line, exactly; empty if the file has none.
  /// \throws  `ConfigError` naming the file if it cannot be read or begins with another header.
  TextLines(std::filesystem::path path, std::string header = {});

  /// Feeds lines to `parse` until it returns true.   \return  false at the end of the file.
  /// \throws  `ConfigError` once over 10 lines and over 1 % of those read were bad.
  bool next(tier::FunctionRef<bool(std::string_view)> parse);
  void rewind();
  /// Says of the line that `parse` has now that it is well-formed, but holds no record.
  void note_unused(std::string_view why);
  [[nodiscard]] const BadLines& bad_lines() const { return bad_; }
  /// Of the line that was read last, from 1.
  [[nodiscard]] std::uint64_t line_number() const { return number_; }

 private:
  void begin();
  void check_header();
  bool read_line();
  bool refill();
  void note_bad(const std::string& problem);
  [[nodiscard]] std::string place() const;

  std::filesystem::path path_;
  std::string header_;
  tier::InputFile file_;
  std::vector<char> buffer_ = std::vector<char>(std::size_t{1} << 16);
  std::string_view unread_;  // of the buffer
  std::string line_;
  std::uint64_t number_ = 0;
  bool cut_off_ = false;  // the last line has no end: the file may have been truncated
  BadLines bad_;
};

/// Stands for a bad line; `TextLines` catches it. `number` counts fields from 1.
[[noreturn]] void throw_bad_field(std::size_t number, std::string_view name, std::string_view problem);

/// The fields of one line, by name, checked for their number.
class Fields {
 public:
  explicit Fields(std::vector<std::string> names) : names_{std::move(names)} {}
  [[nodiscard]] std::size_t count() const { return names_.size(); }

  /// The fields refer to `line`.   \throws  for a line with more or fewer fields than there are names.
  void split(std::string_view line, char separator);
  [[nodiscard]] std::string_view operator[](std::size_t i) const { return fields_[i]; }

  /// The field as a number; `what` says which is expected, as in "an integer".
  template <class T>
  [[nodiscard]] T number(std::size_t i, std::string_view what) const {
    T value{};
    const auto text = fields_[i];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) throw_not(i, what);
    return value;
  }
  /// The field as 0 or 1.
  [[nodiscard]] float label(std::size_t i) const;
  [[noreturn]] void throw_not(std::size_t i, std::string_view what) const;

 private:
  std::vector<std::string> names_;
  std::vector<std::string_view> fields_;
};

}  // namespace dlrm
