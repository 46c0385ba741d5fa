// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Tests hints that do not help and kernels that never hit, in traces of a few lines.
#include <tier/trace/text.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "report/analysis.hpp"
#include "report/residency.hpp"
#include "report/times.hpp"

namespace tier::story_test {

using namespace tier::tool::report;

namespace {

trace::Trace read(const std::string& body) {
  std::istringstream in{"H tmtrace=1 recorded=1\nc tiers=dram:1MiB;file:/tmp:1GiB\n" + body};
  return trace::read_text(in);
}

const KernelRow& kernel(const Report& report, const std::string& name) {
  const auto found = std::ranges::find(report.kernels, name, &KernelRow::name);
  REQUIRE(found != report.kernels.end());
  return *found;
}

constexpr const char* use_x = "K read f 0 R 0 W - U -\nk 9 2000 100 0 dram\n";

}  // namespace

TEST_CASE("a fetch ahead that ends after its kernel was entered is late by the rest of it") {
  const std::string moved = "T 0 1000 p x\nm 1 0 file dram 1000 hint 1000 800\n";
  SUBCASE("the kernel waited for it") {
    const auto report = analyse(read(moved + "s 2 read 1500 300 transfer\n" + use_x));
    REQUIRE(report.hints.size() == 1);
    CHECK(report.hints[0].trouble == HintTrouble::Late);
    CHECK(report.hints[0].object == "x");
    CHECK(report.hints[0].count == 1);
    CHECK(report.hints[0].bytes == 1000);
    CHECK(report.hints[0].late == 300);
  }
  SUBCASE("the policy had begun it") {
    const auto plan = read("T 0 1000 p x\nm 1 0 file dram 1000 plan 1000 800\ns 2 read 1500 300 transfer\n" +
                           std::string{use_x});
    REQUIRE(analyse(plan).hints.size() == 1);
    CHECK(analyse(plan).hints[0].trouble == HintTrouble::Late);
  }
  SUBCASE("the kernel used it meanwhile where it was") {
    const auto report = analyse(read(
        "T 0 1000 p x\nK read f 0 R 0 W - U -\nk 1 1200 100 0 file\nm 2 0 file dram 1000 hint 1000 800\n"));
    REQUIRE(report.hints.size() == 1);
    CHECK(report.hints[0].trouble == HintTrouble::Late);
    CHECK(report.hints[0].late == 600);
  }
  SUBCASE("it was there") { CHECK(analyse(read(moved + use_x)).hints.empty()); }
  SUBCASE("the kernel waited, but for something else") {
    CHECK(analyse(read(moved + "s 2 read 1900 100 room\n" + use_x)).hints.empty());
  }
  SUBCASE("it went to a slower tier") {
    CHECK(analyse(read("T 0 1000 p x\nm 1 0 dram file 1000 hint 1000 800\ns 2 read 1500 300 transfer\n" +
                       std::string{use_x}))
              .hints.empty());
  }
}

TEST_CASE("what a hint had named and a kernel still misses is told") {
  const std::string missed = "m 2 0 file dram 1000 miss 1500 400\n";
  const auto report = analyse(read("T 0 1000 p x\nh 1 will_read 0 1000\n" + missed + use_x));
  REQUIRE(report.hints.size() == 1);
  CHECK(report.hints[0].trouble == HintTrouble::Missed);
  CHECK(analyse(read("T 0 1000 p x\n" + missed + use_x)).hints.empty());
  // The kernel in between has used up the hint.
  CHECK(analyse(read("T 0 1000 p x\nh 1 will_read 0 1000\nK read f 0 R 0 W - U -\nk 2 1100 100 0 file\n" +
                     missed + use_x))
            .hints.empty());
}

TEST_CASE("what is archived and missed within 16 kernels is told, and how many there were between") {
  const auto after = [](int others) {
    std::string text = "T 0 1000 p x\nT 1 1 p y\nZ 0\n";
    for (int i = 0; i < others; ++i) text += "K other f 0 R 1 W - U -\n";
    return analyse(read(text + "m 2 0 file dram 1000 miss 1500 400\n" + use_x));
  };
  REQUIRE(after(0).hints.size() == 1);
  CHECK(after(0).hints[0].trouble == HintTrouble::Archived);
  CHECK(after(0).hints[0].kernels_between == 0);
  REQUIRE(after(16).hints.size() == 1);
  CHECK(after(16).hints[0].kernels_between == 16);
  CHECK(after(17).hints.empty());
}

TEST_CASE("what is fetched ahead and leaves before its use was fetched in vain") {
  const std::string moved = "T 0 1000 p x\nm 1 0 file dram 1000 hint 1000 800\n";
  SUBCASE("moved out") {
    const auto report = analyse(read(moved + "m 2 0 dram file 1000 evict 1900 50\n"));
    REQUIRE(report.hints.size() == 1);
    CHECK(report.hints[0].trouble == HintTrouble::InVain);
  }
  SUBCASE("retired") { CHECK(analyse(read(moved + "X 0\n")).hints.size() == 1); }
  SUBCASE("moved within its tier") {
    CHECK(analyse(read(moved + "m 2 0 dram dram 1000 compact 1900 50\n")).hints.empty());
    CHECK(analyse(read(moved + "m 2 0 dram dram 1000 compact 1900 50\nX 0\n")).hints.size() == 1);
  }
  SUBCASE("used first") {
    CHECK(analyse(read(moved + use_x + "m 10 0 dram file 1000 evict 2900 50\n")).hints.empty());
  }
  SUBCASE("still there at the end") { CHECK(analyse(read(moved)).hints.empty()); }
}

TEST_CASE(
    "an operand hits if it is in the fastest tier and no miss has brought it there since its last use") {
  const auto report =
      analyse(read("T 0 1000 p x\nT 1 1000 p y\nT 2 1000 a z\n"
                   "K hit f 0 R 0 W 2 U -\nk 1 10 5 0 dram,file\n"
                   "K slow f 0 R 1 W - U 2\nk 2 20 5 0 file,dram+file\n"
                   "m 3 1 file dram 1000 miss 30 10\n"
                   "K missed f 0 R 1 W - U -\nk 4 40 5 1 dram\n"
                   "K again f 0 R 1 W - U -\nk 5 50 5 0 dram\n"
                   "K silent f 0 R 1 W - U -\n"));
  const auto hits = [&](const char* name) {
    return std::pair{kernel(report, name).reads, kernel(report, name).hits};
  };
  CHECK(hits("hit") == std::pair<std::uint64_t, std::uint64_t>{1, 1});  // written operands do not count
  CHECK(hits("slow") == std::pair<std::uint64_t, std::uint64_t>{2, 0});
  CHECK(hits("missed") == std::pair<std::uint64_t, std::uint64_t>{1, 0});
  CHECK(hits("again") == std::pair<std::uint64_t, std::uint64_t>{1, 1});
  CHECK(hits("silent") == std::pair<std::uint64_t, std::uint64_t>{0, 0});
  using Where = std::vector<std::pair<std::string, std::uint64_t>>;
  CHECK(kernel(report, "missed").elsewhere == Where{{"fetched on entry", 1}});
  CHECK(kernel(report, "slow").elsewhere == Where{{"in several tiers", 1}, {"used in file", 1}});
  CHECK(report.totals.threads == 2);
}

TEST_CASE("blocks of an object are where their lines say, and the rest of it where it was") {
  // Four blocks of 100, 100, 100 and 50 bytes.
  const auto t = read(
      "T 0 350 p x\na 1 0.0 dram 64 10\na 2 0.1 dram 64 10\na 3 0.2 file 64 10\na 4 0.3 file 64 10\n"
      "m 5 0.1 dram file 100 evict 20 10\nm 6 0.0 dram file 0 evict 40 1\n");
  const auto report = analyse(t, {.most_bins = 100});
  REQUIRE(report.occupancy.size() == 2);
  CHECK(report.occupancy[0].peak == 200);
  CHECK(report.occupancy[1].peak == 350);
  CHECK(report.migrations.size() == 1);
  CHECK(report.migrations[0].count == 2);
  CHECK(report.migrations[0].uncopied == 1);
  CHECK(report.migrations[0].bytes == 100);
}

TEST_CASE("a window's last block is what is left of it") {
  const auto report = analyse(read("T 0 800000 p x\na 1 0.1 dram 64 10\na 2 0.0 file 64 12\nm 3 0.0 file "
                                   "dram 0 miss 20 5\nm 4 0.1 dram file 0 evict 30 5\nh 5 will_read 0 90\n"),
                              {.most_bins = 100});
  CHECK(report.occupancy.at(1).highest.at(report.axis.bin_of(11)) == 0);  // the other block comes later
  CHECK(report.occupancy.at(0).highest.at(report.axis.bin_of(15)) == 800000 - 524288);
  CHECK(report.occupancy.at(0).highest.at(report.axis.bin_of(50)) == 524288);
}

TEST_CASE("a copy after which the object is still used where it was has moved nothing") {
  const std::string made = "T 0 1000 p x\na 1 0 dram 64 0\n",
                    written_behind = "m 2 0 dram file 1000 plan 10 10\n";
  const auto peaks = [&](const std::string& rest) {
    const auto report = analyse(read(made + written_behind + rest));
    return std::pair{report.occupancy.at(0).peak, report.occupancy.at(1).peak};
  };
  using Peaks = std::pair<std::uint64_t, std::uint64_t>;
  CHECK(peaks("h 9 will_read 0 100\n") == Peaks{1000, 1000});  // no later line: it has moved
  CHECK(peaks("K a f 0 R 0 W - U -\nk 3 50 50 0 dram\n") == Peaks{1000, 0});
  CHECK(peaks("K a f 0 R 0 W - U -\nk 3 50 50 0 file\n") == Peaks{1000, 1000});
  CHECK(peaks("m 3 0 dram file 0 evict 50 50\nh 9 will_read 0 200\n") == Peaks{1000, 1000});
  const auto left =
      analyse(read(made + written_behind + "m 3 0 dram file 0 evict 50 50\nh 9 will_read 0 200\n"),
              {.most_bins = 200});
  CHECK(left.occupancy.at(0).highest.at(left.axis.bin_of(99)) == 1000);  // until it is evicted
  CHECK(left.occupancy.at(0).highest.at(left.axis.bin_of(101)) == 0);
}

TEST_CASE("an operand without bytes is in no tier") {
  const auto report = analyse(read("T 0 0 p x\nT 1 5 p y\nK a f 0 R 0,1 W - U -\nk 3 50 50 0 ?,dram\n"));
  CHECK(report.tiers.size() == 2);
  CHECK(kernel(report, "a").reads == 1);
  CHECK(kernel(report, "a").hits == 1);
}

TEST_CASE("events without a time are between those before and those after") {
  const auto t = read(
      "T 0 1 p x\nK a f 0 R 0 W - U -\nk 1 100 50 0 dram\nX 0\nT 1 1 p y\nh 2 will_read 1 120\nK b f 0 R 1 W "
      "- U -\nk 3 300 10 0 dram\nI\n");
  const auto times = times_of(t, true);
  std::vector<Time> found;
  for (std::size_t i = 0; i < times.size(); ++i)
    if (t.events()[i].kind == trace::EventKind::Retire ||
        t.events()[i].kind == trace::EventKind::EndOfIteration)
      found.push_back(times[i]);
  CHECK(found ==
        std::vector<Time>{120, 310});  // the kernel before lasts until 150, but the hint is recorded at 120
}

TEST_CASE(
    "two tiers of one kind have numbers in lines, and a tier that is not configured is known all the same") {
  std::istringstream in{
      "H tmtrace=1\nc tiers=dram:1MiB;file:/a:1GiB;file:/b:2GiB\nT 0 10 p x\nm 1 0 file#2 other 10 plan 5 "
      "5\n"};
  const auto report = analyse(trace::read_text(in));
  REQUIRE(report.tiers.size() == 4);
  CHECK(report.tiers[1].name == "file");
  CHECK(report.tiers[2].name == "file#2");
  CHECK(report.tiers[2].capacity == 2_GiB);
  CHECK(report.tiers[3].name == "other");
  CHECK_FALSE(report.tiers[3].capacity);
}

}  // namespace tier::story_test
