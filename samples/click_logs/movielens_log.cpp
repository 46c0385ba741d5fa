// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "click_logs/movielens_log.hpp"

#include <fmt/format.h>

#include <boost/tokenizer.hpp>

#include "common/hashing.hpp"
#include "common/shown_text.hpp"

namespace dlrm {

using sample::hash_text;
using sample::mix;

namespace {

constexpr double first_rating = 789'652'009;  // 1995
constexpr double decade = 315'576'000;        // seconds

std::uint32_t parse_movie(const std::string& text) {
  std::uint32_t movie = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), movie);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw_bad_field(1, "movieId", fmt::format("\"{}\" is not a number", sample::shown(text)));
  }
  return movie;
}

std::vector<std::uint64_t> parse_genres(const std::string& text) {
  std::vector<std::uint64_t> genres;
  if (text == "(no genres listed)") return genres;
  const boost::tokenizer<boost::char_separator<char>> names{text, boost::char_separator<char>{"|"}};
  for (const auto& name : names) genres.push_back(hash_text(name));
  return genres;
}

}  // namespace

MovieLensLog::MovieLensLog(const std::filesystem::path& ratings, std::size_t sort_capacity)
    : shape_{.dense = 1, .features = {"user", "movie"}}, ratings_{sort_ratings(ratings, sort_capacity)} {
  if (!std::filesystem::is_regular_file(ratings)) return;  // the standard input has no neighbouring files
  for (const auto* name : {"movies.csv", "movies.csv.gz", "movies.csv.zst"}) {
    const auto movies = ratings.parent_path() / name;
    if (!std::filesystem::exists(movies)) continue;
    shape_.features.push_back("genres");
    read_genres(movies);
    return;
  }
}

TemporaryFile<Rating> MovieLensLog::sort_ratings(const std::filesystem::path& path, std::size_t capacity) {
  TextLines lines{path, "userId,movieId,rating,timestamp"};
  Fields fields{{"userId", "movieId", "rating", "timestamp"}};
  ExternalSort<Rating> sort{capacity};
  const auto parse = [&](std::string_view line) {
    fields.split(line, ',');
    const auto stars = fields.number<float>(2, "a rating from 0 to 5");
    if (!(stars >= 0 && stars <= 5)) fields.throw_not(2, "a rating from 0 to 5");
    sort.add({.time = fields.number<std::int64_t>(3, "a time in seconds"),
              .line = lines.line_number(),
              .user = fields.number<std::uint32_t>(0, "a number"),
              .movie = fields.number<std::uint32_t>(1, "a number"),
              .stars = stars});
    return true;
  };
  while (lines.next(parse)) {
  }
  note(lines.bad_lines());
  return std::move(sort).finish();
}

void MovieLensLog::read_genres(const std::filesystem::path& path) {
  using Quoted = boost::escaped_list_separator<char>;
  TextLines lines{path, "movieId,title,genres"};
  const auto parse = [&](std::string_view view) {
    const std::string line{view};
    // Titles hold commas and backslashes, so nothing is an escape. With NUL as one, the tokenizer would throw on a NUL.
    const boost::tokenizer<Quoted> tokens{line, Quoted{std::string{}, ",", "\""}};
    const std::vector<std::string> fields{tokens.begin(), tokens.end()};
    if (fields.size() != 3) {
      throw_bad_field(std::min<std::size_t>(fields.size() + 1, 4), "of movieId, title, genres",
                      fmt::format("the line has {} fields where 3 are expected", fields.size()));
    }
    genres_[parse_movie(fields[0])] = parse_genres(fields[2]);
    return true;
  };
  while (lines.next(parse)) {
  }
  note(lines.bad_lines());
}

void MovieLensLog::note(const BadLines& bad) {
  bad_.count += bad.count;
  bad_.messages.insert(bad_.messages.end(), bad.messages.begin(), bad.messages.end());
}

bool MovieLensLog::next(Record& record) {
  const auto rating = ratings_.next();
  if (!rating) return false;
  record.label = rating->stars >= 4 ? 1.0F : 0.0F;
  record.dense.assign(1, static_cast<float>((static_cast<double>(rating->time) - first_rating) / decade));
  record.ids.resize(shape_.features.size());
  record.ids[0].assign(1, mix(rating->user));
  record.ids[1].assign(1, mix(rating->movie));
  if (record.ids.size() > 2) {
    const auto genres = genres_.find(rating->movie);
    record.ids[2].clear();
    if (genres != genres_.end()) record.ids[2] = genres->second;
  }
  return true;
}

}  // namespace dlrm
