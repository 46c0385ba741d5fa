// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A click log: a stream of records from a file or a generator.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace dlrm {

/// One impression and whether it was clicked.
struct Record {
  float label = 0;                              ///< 1: clicked
  std::vector<float> dense;                     ///< already transformed; `LogShape::dense` values
  std::vector<std::vector<std::uint64_t>> ids;  ///< per categorical feature any number of hashed values
};

struct LogShape {
  std::size_t dense = 0;
  std::vector<std::string> features;  ///< the categorical features, with one embedding table each
};

/// Counts lines that could not be read and were skipped. The first few keep their message.
struct BadLines {
  static constexpr std::size_t kept = 10;
  std::uint64_t count = 0;
  std::vector<std::string> messages;
  std::uint64_t unused = 0;    ///< further lines, well-formed but without a record
  std::string first_unused{};  ///< the first of these, with the reason
};

/// A stream of records that can be read again from its start. Its memory does not grow with its length.
class Log {
 public:
  virtual ~Log() = default;
  [[nodiscard]] virtual const LogShape& shape() const = 0;
  /// Reads the next record into `record`, whose vectors keep their capacity.   \return  false at the end
  /// \throws  `ConfigError` if too many lines are bad, naming the last with its number and field
  virtual bool next(Record& record) = 0;
  virtual void rewind() = 0;
  /// Returns the bad lines since the last `rewind`.
  [[nodiscard]] virtual const BadLines& bad_lines() const = 0;
};

inline constexpr std::string_view log_formats = "criteo, avazu, movielens, bags";

/// Opens a log.
/// \param path    - is the standard input; in a folder, the file with the data set's usual name, or the files of all days
/// \param format  one of `log_formats`   \param seed  for formats that sample: the negatives of `bags`
/// \throws  `ConfigError` for an unknown format, an unreadable file, or a wrong header
std::unique_ptr<Log> open_log(const std::filesystem::path& path, std::string_view format, std::uint64_t seed);

struct LogContents {
  std::uint64_t records = 0;
  BadLines bad_lines;
};
/// Reads all of `log`, and rewinds it.
/// \throws  `ConfigError` if there are fewer records than `least`
LogContents read_through(Log& log, std::string_view name, std::uint64_t least);

}  // namespace dlrm
