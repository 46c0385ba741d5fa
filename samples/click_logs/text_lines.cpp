// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "click_logs/text_lines.hpp"

#include <fmt/format.h>

#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include <tier/core/error.hpp>
#include "common/shown_text.hpp"

namespace dlrm {
namespace {

/// Reports a bad field. Only `TextLines::next` catches it.
struct BadField : std::runtime_error {
  using std::runtime_error::runtime_error;
};

constexpr std::uint64_t tolerated_lines = 10;
constexpr std::uint64_t tolerated_one_in = 100;
constexpr std::size_t longest_line = std::size_t{16} << 20;

tier::InputFile open_log_file(const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path))
    throw tier::ConfigError{fmt::format("log \"{}\" is a directory, not a file", path.string())};
  if (path != "-" && ::access(path.c_str(), R_OK) != 0)
    throw tier::ConfigError{fmt::format("cannot open log \"{}\": {}", path.string(), std::strerror(errno))};
  return tier::InputFile{path.string(), tier::InputFile::Passes::Several};
}

}  // namespace

TextLines::TextLines(std::filesystem::path path, std::string header)
    : path_{std::move(path)}, header_{std::move(header)}, file_{open_log_file(path_)} {
  begin();
}

void TextLines::begin() {
  unread_ = {};
  number_ = 0;
  bad_ = {};
  if (!header_.empty()) check_header();
}

void TextLines::check_header() {
  if (!read_line()) throw tier::ConfigError{fmt::format("log \"{}\" is empty", path_.string())};
  if (line_ == header_) return;
  throw tier::ConfigError{fmt::format("log \"{}\": line 1 is \"{}\"; expected the header \"{}\"",
                                      path_.string(), sample::shown(line_), header_)};
}

void TextLines::rewind() {
  file_.rewind();
  begin();
}

bool TextLines::refill() {
  const auto n = file_.read(buffer_);
  unread_ = {buffer_.data(), n};
  return n > 0;
}

bool TextLines::read_line() {
  line_.clear();
  cut_off_ = true;
  while (cut_off_ && (!unread_.empty() || refill())) {
    const auto length = std::min(unread_.find('\n'), unread_.size());
    line_ += unread_.substr(0, length);
    cut_off_ = length == unread_.size();
    unread_.remove_prefix(cut_off_ ? length : length + 1);
    if (line_.size() > longest_line)
      throw tier::ConfigError{fmt::format("{} is longer than {} bytes: this is no log of this format",
                                          fmt::format("log \"{}\": line {}", path_.string(), number_ + 1),
                                          longest_line)};
  }
  if (cut_off_ && line_.empty()) return false;
  if (++number_ == 1)
    line_.erase(0, line_.size() - tier::without_byte_order_mark(line_, path_.string()).size());
  if (line_.ends_with('\r')) line_.pop_back();
  return true;
}

bool TextLines::next(tier::FunctionRef<bool(std::string_view)> parse) {
  while (read_line()) {
    try {
      if (parse(line_)) return true;
    } catch (const BadField& problem) {
      note_bad(problem.what());
    }
  }
  return false;
}

void TextLines::note_bad(const std::string& problem) {
  ++bad_.count;
  const auto message = fmt::format("{}, {}{}", place(), problem,
                                   cut_off_ ? " (the file ends within this line: it may be truncated)" : "");
  if (bad_.messages.size() < BadLines::kept) bad_.messages.push_back(message);
  if (bad_.count > tolerated_lines && bad_.count * tolerated_one_in > number_) {
    throw tier::ConfigError{
        fmt::format("{}; {} of {} lines were bad, which is too many", message, bad_.count, number_)};
  }
}

void TextLines::note_unused(std::string_view why) {
  if (bad_.unused++ == 0) bad_.first_unused = fmt::format("{}: {}", place(), why);
}

std::string TextLines::place() const { return fmt::format("log \"{}\": line {}", path_.string(), number_); }

void throw_bad_field(std::size_t number, std::string_view name, std::string_view problem) {
  throw BadField{fmt::format("field {} ({}): {}", number, name, problem)};
}

void Fields::split(std::string_view line, char separator) {
  fields_.clear();
  for (std::size_t start = 0;;) {
    const auto end = line.find(separator, start);
    fields_.push_back(line.substr(start, end - start));
    if (end == std::string_view::npos) break;
    start = end + 1;
  }
  if (fields_.size() < names_.size()) {
    throw_bad_field(fields_.size() + 1, names_[fields_.size()],
                    fmt::format("missing, the line has {} of {} fields", fields_.size(), names_.size()));
  }
  if (fields_.size() > names_.size()) {
    throw_bad_field(
        names_.size() + 1, "not known",
        fmt::format("the line has {} fields where {} are expected", fields_.size(), names_.size()));
  }
}

float Fields::label(std::size_t i) const {
  if (fields_[i] == "0") return 0;
  if (fields_[i] == "1") return 1;
  throw_not(i, "0 or 1");
}

void Fields::throw_not(std::size_t i, std::string_view what) const {
  throw_bad_field(i + 1, names_[i], fmt::format("\"{}\" is not {}", sample::shown(fields_[i]), what));
}

}  // namespace dlrm
