// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Tests the answers at the top of the page, for traces of a few lines.
#include "report/answers.hpp"

#include <tier/trace/text.hpp>

#include <doctest/doctest.h>

#include <sstream>

namespace tier::answers_test {

using namespace tier::tool::report;

namespace {

constexpr const char* tiers = "c tiers=dram:1MiB;file:/tmp:1GiB\n";

/// Returns the questions and sentences for a trace, one per line.
std::string answers(const std::string& body) {
  std::istringstream in{"H tmtrace=1 recorded=1\n" + body};
  std::string text;
  for (const auto& [question, sentences] : answers_of(analyse(trace::read_text(in)))) {
    text += question + "\n";
    for (const auto& sentence : sentences) text += sentence + "\n";
  }
  return text;
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// An object of 1000 bytes in the file, and one kernel that reads it from time 10,000 on.
const std::string in_file = std::string{tiers} + "T 0 1000 p x\na 1 0 file 64 0\n";
const std::string used = "K read f 0 R 0 W - U -\nk 9 10000 1000 0 dram\n";

}  // namespace

TEST_CASE("nodes are tiers by their numbers, and an operand without a place is nowhere") {
  std::istringstream in{
      "H tmtrace=1 recorded=1\nc tiers=numa:0:1GiB;numa:2:4GiB\nT 1 64 p x\na 1 1 numa:0 64 0\n"
      "K k f 0 R 1 W - U -\nk 2 0 5 1 numa:0\nK k f 0 R 1 W - U -\nk 3 10 5 1 ,numa:0\n"};
  const auto report = analyse(trace::read_text(in));
  REQUIRE(report.tiers.size() == 2);
  CHECK(report.tiers[0].capacity == Bytes{1U << 30});
  REQUIRE(report.kernels.size() == 1);
  CHECK(report.kernels[0].hits > 0);
}

TEST_CASE("several nodes are one tier") {
  std::istringstream in{
      "H tmtrace=1 recorded=1\nc tiers=numa:0,2:1GiB;numa:3:4GiB\nT 1 64 p x\na 1 1 numa:0.2 64 0\n"
      "K k f 0 R 1 W - U -\nk 2 0 5 1 numa:0.2\n"};
  const auto report = analyse(trace::read_text(in));
  REQUIRE(report.tiers.size() == 2);
  CHECK(report.tiers[0].capacity == Bytes{1U << 30});
  REQUIRE(report.kernels.size() == 1);
  CHECK(report.kernels[0].hits == 1);
}

TEST_CASE("archives are hints; that an object lives again is none") {
  std::istringstream in{
      std::string{"H tmtrace=1 recorded=1\n"} + tiers +
      "T 1 64 p x\nT 2 64 p x\na 1 1 file 64 0\nK k f 0 R 1 W - U -\nk 2 0 5 1 file\nZ 1\nX 1\n"
      "h 3 revive 2,1 6\nm 4 2 file dram 64 miss 7 1\nK k f 0 R 2 W - U -\nk 5 8 5 1 dram\n"};
  const auto report = analyse(trace::read_text(in));
  CHECK(report.totals.hints == 1);
  CHECK(report.hints.empty());
}

TEST_CASE("nothing is answered where a trace has no times, or does not say which tier is the fastest") {
  CHECK(answers("T 0 10 p x\nK a f 0 R 0 W - U -\n").empty());
  CHECK(answers("T 0 10 p x\nK a f 0 R 0 W - U -\nk 1 10 10 0 dram\n").empty());
}

TEST_CASE("where all has room and nobody waits, there is little to change") {
  const auto text = answers(std::string{tiers} +
                            "T 0 524288 p x\na 1 0 dram 64 0\nK a f 0 R 0 W - U -\nk 2 10 90 0 dram\n");
  CHECK(text ==
        "How much fast memory did it use?\n"
        "At most 512.00 KiB of 1.00 MiB (50 %) of dram, the fastest tier.\n"
        "Of the operands that kernels read, 100 % were in dram when they were needed.\n"
        "Where did it wait?\n"
        "Nowhere: no thread waited for memory.\n"
        "What might be changed?\n"
        "Little: nothing was waited for. Fast memory was never full, so that less of it would do.\n");
}

TEST_CASE("fast memory is called nearly full for as long as it was") {
  const auto text = answers(std::string{tiers} +
                            "T 0 1048576 p x\na 1 0 dram 64 0\nK a f 0 R 0 W - U -\nk 2 0 500 0 dram\nX 0\n"
                            "T 1 1000 p y\na 3 1 dram 64 500\nK a f 0 R 1 W - U -\nk 4 500 500 0 dram\n");
  CHECK(contains(text, "At most 1.00 MiB of 1.00 MiB (100 %) of dram"));
  CHECK(contains(text, "nearly full (95 % and more) in 50 % of the time."));
  CHECK(contains(text, "Little: nothing was waited for.\n"));
  CHECK(contains(answers(in_file + "K a f 0 R 0 W - U -\nk 2 0 9 0 file\n"),
                 "None that this trace tells of: nothing was in dram, the fastest tier.\n"
                 "In file there were at most 1000 B of 1.00 GiB (0.0 %).\n"));
}

TEST_CASE("where threads waited most is named, with its share of all waiting") {
  const auto text = answers(in_file + used + "s 10 a 11000 300 transfer\ns 11 b 12000 100 room\n");
  CHECK(contains(text, "Most of it in a (75 %), b (25 %).\n"));
  CHECK(contains(text, "For 400 ns, which is 3.3 % of the time of 1 thread.\n"));
}

TEST_CASE("advice is what the waiting was for") {
  const std::string waited = "s 8 read 9000 1000 transfer\n";
  SUBCASE("a hint that came too late") {
    CHECK(contains(
        answers(in_file + "m 2 0 file dram 1000 hint 8800 1200\n" + waited + used),
        "Hints that come earlier: 1 fetch ahead was still under way when a kernel wanted the object, "
        "late by 1 µs in all; most for x.\n"));
  }
  SUBCASE("nothing said ahead") {
    CHECK(contains(answers(in_file + "m 2 0 file dram 1000 miss 9000 1000\n" + waited + used),
                   "Hints for what has none: 1000 B, 100 % of what moved, came only when somebody waited"));
  }
  SUBCASE("archived too early") {
    CHECK(contains(answers(in_file + "Z 0\nm 2 0 file dram 1000 miss 9000 1000\n" + waited + used),
                   "Archive later: what was archived was missed soon after, 1 time; most often x.\n"));
  }
  SUBCASE("fetched in vain") {
    CHECK(
        contains(answers(in_file + "m 2 0 file dram 1000 hint 100 200\nm 3 0 dram file 1000 evict 400 200\n" +
                         waited + "K read f 0 R 0 W - U -\nk 9 10000 1000 0 file\n"),
                 "Fewer or later hints: 1000 B were fetched ahead and left again unused; most of x.\n"));
  }
  SUBCASE("for room") {
    CHECK(contains(answers(in_file + "s 8 read 9000 1000 room\n" + used),
                   "Say earlier what may go (archive, retire): 100 % of the waiting was for room.\n"));
  }
  SUBCASE("going back and forth in memory that is full") {
    std::string text =
        std::string{tiers} + "T 0 1048576 p x\nT 1 1000 p y\na 1 0 dram 64 0\na 1 1 file 64 0\n";
    for (int i = 0; i < 4; ++i) {
      const auto time = std::to_string(1000 * i);
      text += "m 2 1 file dram 1000 miss " + time + " 100\nm 2 1 dram file 1000 evict " + time + " 100\n";
    }
    CHECK(contains(answers(text + waited + "K read f 0 R 0 W - U -\nk 9 10000 1000 0 dram\n"),
                   "More fast memory: dram was nearly full, and y moved 8 times its size.\n"));
  }
  SUBCASE("nothing, where kernels use slow memory") {
    CHECK(contains(
        answers(in_file + "K a f 0 R 0 W - U -\nk 2 0 9 0 file\n"),
        "What might be changed?\nMore fast memory, or a policy that fetches: 100 % of the operands that "
        "kernels read were not in dram, and kernels are slower for it.\n"));
  }
  SUBCASE("nothing that is known") {
    CHECK(contains(answers(in_file + waited + used), "Nothing stands out: see below what waited longest"));
  }
}

}  // namespace tier::answers_test
