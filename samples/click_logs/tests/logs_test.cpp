// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <tier/core/error.hpp>

#include <zlib.h>
#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <thread>

#include "click_logs/bags_log.hpp"
#include "click_logs/log.hpp"
#include "click_logs/movielens_log.hpp"
#include "common/hashing.hpp"
#include "support/fuzz.hpp"
#include "temporary_folder.hpp"

namespace logs_test {

using namespace dlrm;
using sample::hash_text;
using sample::mix;

namespace {

/// Returns a line of Criteo's log with one field replaced.
std::string criteo_line(std::size_t field = 0, const std::string& value = "1") {
  std::string line;
  for (std::size_t i = 0; i < 40; ++i) {
    const std::string usual = i == 0   ? "0"
                              : i < 14 ? fmt::format("{}", i)
                                       : fmt::format("{:08x}", i * 0x1234567);
    line += (i == 0 ? "" : "\t") + (i == field ? value : usual);
  }
  return line + "\n";
}

const std::string avazu_header =
    "id,click,hour,C1,banner_pos,site_id,site_domain,site_category,app_id,app_domain,app_category,device_id,"
    "device_ip,"
    "device_model,device_type,device_conn_type,C14,C15,C16,C17,C18,C19,C20,C21\n";
const std::string avazu_line =
    "10000169349117863715,1,14102106,1005,0,1fbe01fe,f3845767,28905ebd,ecad2386,7801e8d9,07d7df22,a99f214a,"
    "96809ac8,"
    "711ee120,1,0,15704,320,50,1722,0,35,100084,79\n";

std::vector<Record> read_all(Log& log) {
  std::vector<Record> records;
  for (Record record; log.next(record);) records.push_back(record);
  return records;
}

std::string message_of(auto&& call) {
  try {
    call();
  } catch (const tier::ConfigError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a Criteo line gives 13 logarithms and 26 hashed categories, missing ones included") {
  const TemporaryFolder folder;
  const auto path = folder.write("log", criteo_line() + criteo_line(1, "-2") + criteo_line(14, ""));
  const auto log = open_log(path, "criteo", 1);
  CHECK(log->shape().dense == 13);
  CHECK(log->shape().features.size() == 26);
  const auto records = read_all(*log);
  REQUIRE(records.size() == 3);
  CHECK(records[0].label == 1);
  CHECK(records[1].label == 0);
  CHECK(records[0].dense[2] == doctest::Approx(std::log(4.0)));
  CHECK(records[1].dense[0] == 0);
  CHECK(records[2].ids[0] == std::vector{hash_text("")});
  CHECK(records[0].ids[1] == records[2].ids[1]);
  CHECK(records[0].ids[0] != records[2].ids[0]);
}

TEST_CASE("a bad line is counted and skipped, with its number and field in the message") {
  const TemporaryFolder folder;
  const auto first_message = [&](const std::string& bad, std::string_view format, const std::string& header,
                                 const std::string& good) {
    const auto log = open_log(folder.write("log", header + good + bad + good), format, 1);
    CHECK(read_all(*log).size() == (format == "bags" ? 4 : 2));
    CHECK(log->bad_lines().count == 1);
    return log->bad_lines().messages.at(0);
  };
  const auto criteo = [&](std::size_t field, const std::string& value) {
    return first_message(criteo_line(field, value), "criteo", "", criteo_line());
  };
  CHECK(contains(criteo(3, "x1"), "line 2, field 4 (I3): \"x1\" is not an integer"));
  CHECK(contains(criteo(0, "2"), "line 2, field 1 (label): \"2\" is not 0 or 1"));
  CHECK(contains(criteo(39, "68fd1e6g"), "line 2, field 40 (C26): \"68fd1e6g\" is not a hexadecimal hash"));
  CHECK(contains(criteo(39, "1\t2"),
                 "line 2, field 41 (not known): the line has 41 fields where 40 are expected"));
  CHECK(contains(first_message("0\t1\t2\n", "criteo", "", criteo_line()),
                 "line 2, field 4 (I3): missing, the line has 3 of 40 fields"));
  CHECK(contains(first_message("1,1,14102125" + avazu_line.substr(avazu_line.find(",1005")), "avazu",
                               avazu_header, avazu_line),
                 "line 3, field 3 (hour): \"14102125\" is not a time as YYMMDDHH"));
  CHECK(contains(first_message("7 8 nine\n", "bags", "", "1 2 3\n"),
                 "line 2, field 3 (item): \"nine\" is not a number"));
  CHECK(
      contains(first_message("1,2,6.5,9\n", "movielens", "userId,movieId,rating,timestamp\n", "1,2,3.5,4\n"),
               "line 3, field 3 (rating): \"6.5\" is not a rating from 0 to 5"));
}

TEST_CASE("a line that the end of the file cuts off is reported as such, and the rest is read") {
  const TemporaryFolder folder;
  const auto path = folder.write("log", criteo_line() + criteo_line() + criteo_line().substr(0, 60));
  const auto log = open_log(path, "criteo", 1);
  CHECK(read_all(*log).size() == 2);
  REQUIRE(log->bad_lines().count == 1);
  CHECK(contains(log->bad_lines().messages[0], "line 3, field"));
  CHECK(contains(log->bad_lines().messages[0], "the file ends within this line: it may be truncated"));
}

TEST_CASE("a last line without its end is as good as any") {
  const TemporaryFolder folder;
  const auto whole = criteo_line();
  const auto log = open_log(folder.write("log", whole + whole.substr(0, whole.size() - 1)), "criteo", 1);
  CHECK(read_all(*log).size() == 2);
  CHECK(log->bad_lines().count == 0);
}

TEST_CASE("ten bad lines are tolerated, more only below one in a hundred") {
  const TemporaryFolder folder;
  const auto read = [&](std::size_t good, std::size_t bad) {
    std::string text;
    for (std::size_t i = 0; i < good; ++i) text += criteo_line();
    for (std::size_t i = 0; i < bad; ++i) text += "bad\n";
    const auto log = open_log(folder.write("log", text), "criteo", 1);
    return read_all(*log).size();
  };
  CHECK(read(1, 10) == 1);
  CHECK(read(1200, 11) == 1200);
  const auto message = message_of([&] { read(1, 11); });
  CHECK(contains(message, "line 12, field 1 (label)") == false);
  CHECK(contains(message, "line 12, field 2 (I1): missing"));
  CHECK(contains(message, "11 of 12 lines were bad, which is too many"));
}

TEST_CASE(
    "whatever the format, lines that were skipped are told after the log was read through and is at its "
    "start") {
  const TemporaryFolder folder;
  const auto skipped = [&](std::string_view format, const std::string& header, const std::string& good) {
    std::string text = header + "\x01 bad\n";
    for (int i = 0; i < 12; ++i) text += good;
    const auto log = open_log(folder.write("ratings.csv", text), format, 1);
    const auto found = read_through(*log, "log", 10);
    CHECK(found.records == (format == "bags" ? 24 : 12));
    CHECK(found.bad_lines.count == 1);
    return found.bad_lines.messages.at(0);
  };
  CHECK(contains(skipped("criteo", "", criteo_line()),
                 "line 1, field 2 (I1): missing, the line has 1 of 40 fields"));
  CHECK(contains(skipped("avazu", avazu_header, avazu_line), "line 2, field 2 (click): missing"));
  CHECK(contains(skipped("movielens", "userId,movieId,rating,timestamp\n", "1,2,3.5,4\n"),
                 "line 2, field 2 (movieId): missing"));
  CHECK(contains(skipped("bags", "", "1 2 3\n"), "line 1, field 1 (user): \"\\x01\" is not a number"));
}

TEST_CASE("bags that hold no record are counted, with the first of them") {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 10; ++i) text += "1 2 3\n";
  const auto log = open_log(folder.write("log", text + "4\n5 6\n"), "bags", 1);
  const auto found = read_through(*log, "log", 10);
  CHECK(found.bad_lines.count == 0);
  CHECK(found.bad_lines.unused == 2);
  CHECK(contains(found.bad_lines.first_unused, "line 11: fewer than two items in the bag"));
}

TEST_CASE("a log with a byte order mark, lines of Windows, or packed is read as the log that it is") {
  const TemporaryFolder folder;
  const std::pair<std::string, std::string> logs[] = {
      {"criteo", criteo_line() + criteo_line(3, "")},
      {"avazu", avazu_header + avazu_line + avazu_line},
      {"movielens", "userId,movieId,rating,timestamp\n1,2,3.5,4\n7,1,4.0,300\n"},
      {"bags", "0 5 6 7\n1 3 9\n"}};
  for (const auto& [format, text] : logs) {
    CAPTURE(format);
    std::string of_windows = "\xef\xbb\xbf";
    for (const char c : text) of_windows += c == '\n' ? std::string{"\r\n"} : std::string{c};
    const auto packed = folder.path() / "log.gz";
    const auto file = ::gzopen(packed.c_str(), "wb");
    ::gzwrite(file, of_windows.data(), static_cast<unsigned>(of_windows.size()));
    ::gzclose(file);
    const auto expected = read_all(*open_log(folder.write("log", text), format, 1));
    for (const auto& path : {folder.write("windows", of_windows), packed}) {
      const auto log = open_log(path, format, 1);
      const auto found = read_all(*log);
      CHECK(log->bad_lines().count == 0);
      REQUIRE(found.size() == expected.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        CHECK(found[i].ids == expected[i].ids);
        CHECK(found[i].dense == expected[i].dense);
      }
    }
  }
}

TEST_CASE("a data set's folder as it is distributed is read by its usual file") {
  const TemporaryFolder folder;
  folder.write("train.txt", criteo_line());
  folder.write("train", avazu_header + avazu_line);
  folder.write("ratings.csv", "userId,movieId,rating,timestamp\n1,2,3.5,4\n");
  folder.write("movies.csv", "movieId,title,genres\n2,Two,Drama\n");
  for (const auto* format : {"criteo", "avazu", "movielens"}) {
    CAPTURE(format);
    CHECK(read_all(*open_log(folder.path(), format, 1)).size() == 1);
  }
  CHECK(open_log(folder.path(), "movielens", 1)->shape().features.size() == 3);
  const TemporaryFolder empty;
  CHECK(contains(message_of([&] { open_log(empty.path(), "criteo", 1); }),
                 "is a directory without train.txt or train.tsv or day_0, plain or packed (.gz, .zst)"));
}

TEST_CASE("of a data set that has a file for each day all are read, in the order of the days") {
  const TemporaryFolder folder;
  const auto labelled = [](int day) { return criteo_line(1, fmt::format("{}", day)); };
  folder.write("day_10", labelled(10));
  folder.write("day_2", "bad\n" + labelled(2));
  folder.write("day_0", labelled(0) + labelled(0));
  folder.write("day_x", labelled(77));
  folder.write("day_2.md5", "no log\n");
  const auto packed = [&](const char* name, const std::string& text) {
    const auto file = ::gzopen((folder.path() / name).c_str(), "wb");
    ::gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    ::gzclose(file);
  };
  packed("day_9.gz", labelled(9) + "bad too\n");
  packed("day_0.gz", labelled(0) + labelled(0));  // this day exists unpacked, too
  const auto log = open_log(folder.path(), "criteo", 1);
  CHECK(log->shape().features.size() == 26);
  for (int pass = 0; pass < 2; ++pass) {
    std::vector<int> days;
    for (Record record; log->next(record);)
      days.push_back(static_cast<int>(std::lround(std::expm1(record.dense[0]))));
    CHECK(days == std::vector{0, 0, 2, 9, 10});
    CHECK(log->bad_lines().count == 2);
    REQUIRE(log->bad_lines().messages.size() == 2);
    CHECK(contains(log->bad_lines().messages[0], "day_2\": line 1, field 2"));
    CHECK(contains(log->bad_lines().messages[1], "day_9.gz\": line 2, field 2"));
    log->rewind();
    CHECK(log->bad_lines().count == 0);
  }
  CHECK(read_through(*log, "days", 5).bad_lines.count == 2);
}

TEST_CASE("a log that can be read only once is read as often as is needed") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  std::string text;
  for (int i = 0; i < 2000; ++i) text += criteo_line();
  const std::jthread writer{[&] { std::ofstream{path} << text; }};
  const auto log = open_log(path, "criteo", 1);
  CHECK(read_through(*log, "pipe", 10).records == 2000);
  CHECK(read_all(*log).size() == 2000);
}

TEST_CASE("a file without lines is refused before it fills memory") {
  const TemporaryFolder folder;
  const auto path = folder.write("log", std::string(17U << 20, '7'));
  const auto message = message_of([&] { read_through(*open_log(path, "criteo", 1), "log", 10); });
  CHECK(contains(message, "line 1 is longer than 16777216 bytes: this is no log of this format"));
}

TEST_CASE("a log that cannot be used is refused by name") {
  const TemporaryFolder folder;
  const auto open = [&](const std::filesystem::path& path, std::string_view format) {
    return message_of([&] { read_through(*open_log(path, format, 1), path.string(), 10); });
  };
  CHECK(contains(open(folder.path() / "none", "criteo"), "none\": No such file or directory"));
  CHECK(contains(open(folder.path(), "criteo"), "is a directory"));
  CHECK(contains(open(folder.write("empty", ""), "criteo"), "empty\" is empty: 0 records and 0 bad lines"));
  CHECK(contains(open(folder.write("empty", ""), "avazu"), "empty\" is empty"));
  CHECK(contains(open(folder.write("empty", ""), "bags"), "empty\" is empty"));
  CHECK(contains(open(folder.write("short", criteo_line()), "criteo"), "short\" is too short: 1 records"));
  CHECK(contains(open(folder.write("rows", avazu_line), "avazu"), "line 1 is \"10000169349117863715,1,"));
  CHECK(contains(open(folder.write("rows", avazu_line), "movielens"),
                 "expected the header \"userId,movieId,rating"));
  CHECK(contains(open(folder.write("rows", avazu_line), "parquet"),
                 "unknown log format at position 0 of \"parquet\"; allowed: criteo, avazu, movielens, bags"));
}

TEST_CASE("an Avazu line gives its hour and 22 categories") {
  const TemporaryFolder folder;
  const auto log = open_log(folder.write("log", avazu_header + avazu_line), "avazu", 1);
  const auto records = read_all(*log);
  REQUIRE(records.size() == 1);
  CHECK(records[0].label == 1);
  CHECK(records[0].dense == std::vector{0.25F});
  REQUIRE(records[0].ids.size() == 22);
  CHECK(log->shape().features[2] == "banner_pos");
  CHECK(records[0].ids[0] == std::vector{hash_text("14102106")});
  CHECK(records[0].ids[21] == std::vector{hash_text("79")});
}

TEST_CASE("ratings come in order of time with their movies' genres, a click being 4 stars or more") {
  const TemporaryFolder folder;
  folder.write(
      "movies.csv",
      "movieId,title,genres\n1,Toy Story (1995),Children|Comedy\n"
      "2,\"American President, The (1995)\",Drama\n3,\"A \"\"quoted\"\" one\\\",(no genres listed)\n");
  const auto path = folder.write(
      "ratings.csv", "userId,movieId,rating,timestamp\n7,1,4.0,300\n7,2,3.5,100\n8,3,5,200\n8,9,1,200\n");
  const auto log = open_log(path, "movielens", 1);
  CHECK(log->bad_lines().count == 0);
  const auto records = read_all(*log);
  REQUIRE(records.size() == 4);
  CHECK(records[0].label == 0);
  CHECK(records[0].ids[1] == std::vector{mix(2)});
  CHECK(records[0].ids[2] == std::vector{hash_text("Drama")});
  CHECK(records[1].label == 1);
  CHECK(records[1].ids[2].empty());
  CHECK(records[2].ids[1] == std::vector{mix(9)});  // this movie is missing from movies.csv
  CHECK(records[2].ids[2].empty());
  CHECK(records[3].ids[2] == std::vector{hash_text("Children"), hash_text("Comedy")});
}

TEST_CASE("a NUL in a movie's title is a character as any") {
  const TemporaryFolder folder;
  folder.write("movies.csv",
               std::string{"movieId,title,genres\n1,Toy\0Story,Comedy\n2,\"a\0\",Drama\n3,c\n", 57});
  const auto log = open_log(
      folder.write("ratings.csv", "userId,movieId,rating,timestamp\n7,1,4.0,1\n7,2,3.5,2\n"), "movielens", 1);
  REQUIRE(log->bad_lines().count == 1);
  CHECK(contains(log->bad_lines().messages[0], "movies.csv\": line 4, field 3 (of movieId, title, genres)"));
  const auto records = read_all(*log);
  REQUIRE(records.size() == 2);
  CHECK(records[0].ids[2] == std::vector{hash_text("Comedy")});
  CHECK(records[1].ids[2] == std::vector{hash_text("Drama")});
}

TEST_CASE("damaged names of movies are read as far as they are whole" * doctest::test_suite("fuzz")) {
  const TemporaryFolder folder;
  const auto ratings =
      folder.write("ratings.csv", "userId,movieId,rating,timestamp\n1,2,3.5,4\n7,1,4.0,300\n");
  const std::string movies =
      "movieId,title,genres\n1,Toy Story (1995),Children|Comedy\n2,\"American President, The (1995)\",Drama\n"
      "3,\"A \"\"quoted\"\" one\\\",(no genres listed)\n";
  tier::test::fuzz({movies}, [&](const std::string& text) {
    folder.write("movies.csv", text);
    try {
      const auto log = open_log(ratings, "movielens", 1);
      CHECK(read_all(*log).size() == 2);
    } catch (const tier::ConfigError& error) {
      CHECK(contains(error.what(), "movies.csv"));
    }
  });
}

TEST_CASE("an external sort orders any number of values, whatever fits in memory") {
  for (const std::size_t count : {0U, 1U, 9U, 10U, 11U, 1000U}) {
    CAPTURE(count);
    ExternalSort<int> sort{10};  // 100 files of 10 for the last count, more than one merge takes
    std::vector<int> values(count);
    std::mt19937 random{static_cast<unsigned>(count)};
    for (auto& value : values) sort.add(value = static_cast<int>(random() % 500));
    auto sorted = std::move(sort).finish();
    std::sort(values.begin(), values.end());
    for (const int value : values) CHECK(sorted.next() == value);
    CHECK(!sorted.next());
    sorted.rewind();
    CHECK(sorted.next() == (count == 0 ? std::nullopt : std::optional{values.front()}));
  }
}

TEST_CASE("a bag is asked about an item of its own and about another one") {
  const TemporaryFolder folder;
  std::string text = "0 5 6 7\n1 3\n2\n";
  for (int user = 3; user < 50; ++user) text += fmt::format("{} {} {}\n", user, user, user + 50);
  BagsLog log{folder.write("log", text), 1};
  const auto records = read_all(log);
  REQUIRE(records.size() == 2 * 48);  // bags of zero or one item make no record
  const std::set<std::uint64_t> first_bag{mix(5), mix(6), mix(7)};
  CHECK(records[0].label == 1);
  CHECK(records[1].label == 0);
  CHECK(records[0].ids[0].size() == 2);
  CHECK(records[0].ids[0] == records[1].ids[0]);
  CHECK(first_bag.contains(records[0].ids[1][0]));
  CHECK(std::count(records[0].ids[0].begin(), records[0].ids[0].end(), records[0].ids[1][0]) == 0);
  CHECK(!first_bag.contains(records[1].ids[1][0]));

  log.rewind();
  const auto again = read_all(log);
  REQUIRE(again.size() == records.size());
  for (std::size_t i = 0; i < again.size(); ++i) CHECK(again[i].ids == records[i].ids);
}

TEST_CASE("damaged logs are read as far as they are whole, and every other line is counted" *
          doctest::test_suite("fuzz")) {
  const TemporaryFolder folder;
  const std::string ratings = "userId,movieId,rating,timestamp\n1,2,3.5,4\n7,1,4.0,300\n8,3,5,200\n";
  const std::vector<std::pair<std::string, std::string>> logs{
      {"criteo", criteo_line() + criteo_line(3, "") + criteo_line(20, "")},
      {"avazu", avazu_header + avazu_line + avazu_line},
      {"movielens", ratings},
      {"bags", "0 5 6 7\n1 3 9\n2 8 8 10\n"}};
  std::vector<std::string> examples;
  for (const auto& log : logs) examples.push_back(log.second);
  std::uint64_t which = 0;
  tier::test::fuzz(examples, [&](const std::string& text) {
    const auto path = folder.write("log", text);
    try {
      const auto log = open_log(path, logs[which++ % logs.size()].first, 1);
      const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
      const auto records = read_all(*log);
      CHECK(records.size() + log->bad_lines().count <= 2 * lines);  // a bag makes two records
      for (const auto& record : records) CHECK(record.ids.size() == log->shape().features.size());
      log->rewind();
      CHECK(read_all(*log).size() == records.size());
    } catch (const tier::ConfigError& error) {
      CHECK(std::string_view{error.what()} != "");
    }
  });
}

}  // namespace logs_test
