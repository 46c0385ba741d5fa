// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <tier/core/error.hpp>
#include <tier/core/suggestion.hpp>

#include <charconv>
#include <map>
#include <utility>

#include "click_logs/avazu_log.hpp"
#include "click_logs/bags_log.hpp"
#include "click_logs/criteo_log.hpp"
#include "click_logs/joined_log.hpp"
#include "click_logs/movielens_log.hpp"
#include "common/data_files.hpp"

namespace dlrm {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view day = "day_";  // the prefix in Criteo's terabyte; a number follows

/// Returns the usual names of the log's file in a folder; if there is a file per day, the name of the first.
std::vector<std::string_view> usual_names(std::string_view format) {
  if (format == "criteo") return {"train.txt", "train.tsv", "day_0"};
  if (format == "avazu") return {"train.csv", "train"};
  if (format == "movielens") return {"ratings.csv"};
  return {"train.txt"};
}

/// Returns the files of all days in order of time, packed or not.
std::vector<fs::path> days_in(const fs::path& folder) {
  std::map<std::uint64_t, fs::path> days;
  for (const auto& file : sample::files_named(folder, day, "")) {
    const auto name = file.filename().string();
    const auto digits = sample::unpacked_name(name).substr(day.size());
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error == std::errc{} && end == digits.data() + digits.size()) days.emplace(number, file);
  }
  std::vector<fs::path> files;
  for (auto& [number, file] : days) files.push_back(std::move(file));
  return files;
}

/// Returns the log's files: `path` itself; in a folder, a file of a usual name, packed or not, or all days.
std::vector<fs::path> log_at(const fs::path& path, std::string_view format) {
  if (!fs::is_directory(path)) return {path};
  const auto names = usual_names(format);
  for (const auto name : names) {
    if (auto days = name.starts_with(day) ? days_in(path) : std::vector<fs::path>{}; !days.empty())
      return days;
    for (const auto* packing : {"", ".gz", ".zst"})
      if (auto file = path / fmt::format("{}{}", name, packing); fs::is_regular_file(file)) return {file};
  }
  throw tier::ConfigError{fmt::format("log \"{}\" is a directory without {}, plain or packed (.gz, .zst)",
                                      path.string(), fmt::join(names, " or "))};
}

std::unique_ptr<Log> open_file(const fs::path& path, std::string_view format, std::uint64_t seed) {
  if (format == "criteo") return std::make_unique<CriteoLog>(path);
  if (format == "avazu") return std::make_unique<AvazuLog>(path);
  if (format == "movielens") return std::make_unique<MovieLensLog>(path);
  return std::make_unique<BagsLog>(path, seed);
}

}  // namespace

std::unique_ptr<Log> open_log(const std::filesystem::path& given, std::string_view format,
                              std::uint64_t seed) {
  if (format != "criteo" && format != "avazu" && format != "movielens" && format != "bags")
    throw tier::ConfigError{"unknown log format" + tier::detail::did_you_mean(format, log_formats), format, 0,
                            log_formats};
  std::vector<std::unique_ptr<Log>> parts;
  for (const auto& path : log_at(given, format)) parts.push_back(open_file(path, format, seed));
  if (parts.size() == 1) return std::move(parts.front());
  return std::make_unique<JoinedLog>(std::move(parts));
}

LogContents read_through(Log& log, std::string_view name, std::uint64_t least) {
  Record record;
  LogContents found;
  while (log.next(record)) ++found.records;
  found.bad_lines = log.bad_lines();  // rewinding resets them
  if (found.records < least) {
    const auto& bad = found.bad_lines;
    throw tier::ConfigError{fmt::format(
        "log \"{}\" is {}: {} records and {} bad lines; at least {} records are needed{}{}", name,
        found.records == 0 ? "empty" : "too short", found.records, bad.count, least,
        bad.messages.empty() ? "" : "; first: " + bad.messages.front(),
        bad.unused == 0
            ? ""
            : fmt::format("; {} lines hold no record, the first: {}", bad.unused, bad.first_unused))};
  }
  log.rewind();
  return found;
}

}  // namespace dlrm
