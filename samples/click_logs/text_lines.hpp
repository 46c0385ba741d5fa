// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Reads a text file line by line, counts bad lines, and splits lines into fields.
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
#include "click_logs/log.hpp"

namespace dlrm {

/// Reads the lines of a file, which may be packed, readable only once, have a byte order mark, or end lines as on Windows.
/// A line that cannot be parsed is counted and skipped; too many of them end the reading.
class TextLines {
 public:
  /// \param header  the exact first line; empty if the file has none
  /// \throws  `ConfigError` naming the file if it cannot be read or begins with another header
  TextLines(std::filesystem::path path, std::string header = {});

  /// Feeds lines to `parse` until it returns true.   \return  false at the end of the file
  /// \throws  `ConfigError` if more than 10 lines and more than 1 % of those read were bad
  bool next(tier::FunctionRef<bool(std::string_view)> parse);
  void rewind();
  /// Counts the line that `parse` is reading as well-formed but without a record.
  void note_unused(std::string_view why);
  [[nodiscard]] const BadLines& bad_lines() const { return bad_; }
  /// Returns the number of the last line read, from 1.
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
  std::string_view unread_;  // part of the buffer
  std::string line_;
  std::uint64_t number_ = 0;
  bool cut_off_ = false;  // the last line has no end, so the file may be truncated
  BadLines bad_;
};

/// Throws an error for a bad line, which `TextLines` catches. `number` counts fields from 1.
[[noreturn]] void throw_bad_field(std::size_t number, std::string_view name, std::string_view problem);

/// The fields of one line, by index and name; their number is checked.
class Fields {
 public:
  explicit Fields(std::vector<std::string> names) : names_{std::move(names)} {}
  [[nodiscard]] std::size_t count() const { return names_.size(); }

  /// Splits a line, to which the fields then refer.   \throws  if the number of fields differs from that of names
  void split(std::string_view line, char separator);
  [[nodiscard]] std::string_view operator[](std::size_t i) const { return fields_[i]; }

  /// Parses the field as a number. `what` names the expected type, as in "an integer".
  template <class T>
  [[nodiscard]] T number(std::size_t i, std::string_view what) const {
    T value{};
    const auto text = fields_[i];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) throw_not(i, what);
    return value;
  }
  /// Parses the field as 0 or 1.
  [[nodiscard]] float label(std::size_t i) const;
  [[noreturn]] void throw_not(std::size_t i, std::string_view what) const;

 private:
  std::vector<std::string> names_;
  std::vector<std::string_view> fields_;
};

}  // namespace dlrm
