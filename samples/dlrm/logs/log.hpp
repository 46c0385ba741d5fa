// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A click log: a stream of records, whatever file or generator it comes from.
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
  float label = 0;           ///< 1: clicked
  std::vector<float> dense;  ///< already transformed; as many as `LogShape::dense`
  std::vector<std::vector<std::uint64_t>>
      ids;  ///< of each categorical feature: hashed values, any number of them
};

struct LogShape {
  std::size_t dense = 0;
  std::vector<std::string> features;  ///< the categorical ones: one embedding table each
};

/// Lines that could not be read. They are skipped; the first few keep their message.
struct BadLines {
  static constexpr std::size_t kept = 10;
  std::uint64_t count = 0;
  std::vector<std::string> messages;
  std::uint64_t unused = 0;    ///< well-formed lines beside these that hold no record
  std::string first_unused{};  ///< the first of them, and why
};

/// A stream of records that can be read again from its start. What it holds in memory does not grow with its length.
class Log {
 public:
  virtual ~Log() = default;
  [[nodiscard]] virtual const LogShape& shape() const = 0;
  /// Reads the next record into `record`, whose vectors keep their room.   \return  false at the end.
  /// \throws  `ConfigError` when too many lines are bad, naming the last with its number and field.
  virtual bool next(Record& record) = 0;
  virtual void rewind() = 0;
  /// Of the pass since the last `rewind`.
  [[nodiscard]] virtual const BadLines& bad_lines() const = 0;
};

inline constexpr std::string_view log_formats = "criteo, avazu, movielens, bags";

/// \param path    - is the standard input; in a folder the file counts that has the data set's usual name, or all of its days
/// \param format  one of `log_formats`   \param seed  for what a format samples itself: the negatives of `bags`
/// \throws  `ConfigError` for an unknown format, a file that cannot be read and one with a wrong header.
std::unique_ptr<Log> open_log(const std::filesystem::path& path, std::string_view format, std::uint64_t seed);

struct LogContents {
  std::uint64_t records = 0;
  BadLines bad_lines;
};
/// Reads all of `log`, which is then at its start again.
/// \throws  `ConfigError` if there are fewer records than `least`
LogContents read_through(Log& log, std::string_view name, std::uint64_t least);

}  // namespace dlrm
