// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>

#include <tier/core/error.hpp>
#include <tier/core/suggestion.hpp>
#include "logs/avazu_log.hpp"
#include "logs/bags_log.hpp"
#include "logs/criteo_log.hpp"
#include "logs/movielens_log.hpp"

namespace dlrm {

std::unique_ptr<Log> open_log(const std::filesystem::path& path, std::string_view format,
                              std::uint64_t seed) {
  if (format == "criteo") return std::make_unique<CriteoLog>(path);
  if (format == "avazu") return std::make_unique<AvazuLog>(path);
  if (format == "movielens") return std::make_unique<MovieLensLog>(path);
  if (format == "bags") return std::make_unique<BagsLog>(path, seed);
  throw tier::ConfigError{"unknown log format" + tier::detail::did_you_mean(format, log_formats), format, 0,
                          log_formats};
}

std::uint64_t count_records(Log& log, std::string_view name, std::uint64_t least) {
  Record record;
  std::uint64_t count = 0;
  while (log.next(record)) ++count;
  if (count < least) {
    const auto& bad = log.bad_lines();
    throw tier::ConfigError{
        fmt::format("log \"{}\" is {}: {} records and {} bad lines; at least {} records are needed{}", name,
                    count == 0 ? "empty" : "too short", count, bad.count, least,
                    bad.messages.empty() ? "" : "; first: " + bad.messages.front())};
  }
  log.rewind();
  return count;
}

}  // namespace dlrm
