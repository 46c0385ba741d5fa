// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  MovieLens' ratings, in order of time, as clicks: a rating of 4 or more is a click.
#include <compare>
#include <unordered_map>

#include "click_logs/external_sort.hpp"
#include "click_logs/text_lines.hpp"

namespace dlrm {

/// One line of ratings.csv. Ratings are ordered by time, then by line.
struct Rating {
  std::int64_t time;
  std::uint64_t line;
  std::uint32_t user, movie;
  float stars;
  auto operator<=>(const Rating&) const = default;
};

/// Reads user, movie and the movie's genres (from movies.csv, if it lies beside the ratings). The ratings are sorted once,
/// on disk; the genres of all movies stay in memory.
class MovieLensLog final : public Log {
 public:
  static constexpr std::size_t default_sort_capacity = std::size_t{1} << 20;

  explicit MovieLensLog(const std::filesystem::path& ratings,
                        std::size_t sort_capacity = default_sort_capacity);
  [[nodiscard]] const LogShape& shape() const override { return shape_; }
  bool next(Record& record) override;
  void rewind() override { ratings_.rewind(); }
  [[nodiscard]] const BadLines& bad_lines() const override { return bad_; }

 private:
  TemporaryFile<Rating> sort_ratings(const std::filesystem::path& path, std::size_t capacity);
  void read_genres(const std::filesystem::path& path);
  void note(const BadLines& bad);

  LogShape shape_;
  BadLines bad_;  // of both files
  TemporaryFile<Rating> ratings_;
  std::unordered_map<std::uint32_t, std::vector<std::uint64_t>> genres_;  // hashed, by movie
};

}  // namespace dlrm
