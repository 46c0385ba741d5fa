// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <tier/trace/summary.hpp>
#include <tier/trace/text.hpp>

#include <random>
#include <string>
#include <tuple>

#include "random_trace.hpp"
#include "support/seed.hpp"
#include "texts.hpp"

namespace tier::round_trip_test {

using namespace tier::trace;
using tier::test::read;
using tier::test::written;

namespace {

/// A text with a line of each kind, in the form in which traces are written.
const std::string canonical =
    "H tmtrace=1 net=resnet200_b2048 batch=2048 dtype=f32 empty=\n"
    "T 0 64 p conv1.w\n"
    "T 18446744073709551615 4096 a a name with blanks\n"
    "T 7 9223372036854771647 t -\n"
    "c tiers=dram:8GiB; file:/mnt:1TiB\n"
    "c empty=\n"
    "a 0 0 dram 64 5\n"
    "a 0 18446744073709551615.4294967294 file:/mnt 2097152 6\n"
    "K conv3_f f 5.54906e+10 R 0 W 18446744073709551615 U -\n"
    "k 1 0 250 4711 0,1\n"
    "m 2 18446744073709551615.3 dram file:/mnt 2048 evict 300 20\n"
    "m 3 0 file:/mnt dram 64 miss 320 1\n"
    "Z 0,18446744073709551615\n"
    "s 4 conv1 320 15 -\n"
    "h 5 will_read 0,7 400\n"
    "f 6 7.0 500\n"
    "f 7 0 501\n"
    "g 8 embedding 3 600 1,2,18446744073709551615\n"
    "g 9 embedding 1000000 700\n"
    "u 10 embedding 2 710 7,7\n"
    "K add b 0 R - W 7 U 18446744073709551615@100 O 0\n"
    "X 7,18446744073709551615\n"
    "I\n"
    "K input f 1.5 R 0@8,0@0 W - U -\n";

}  // namespace

TEST_CASE("canonical text that is read and written is the same text, byte by byte") {
  const auto trace = read(canonical);
  CHECK(written(trace) == canonical);
  CHECK(trace.header("net") == "resnet200_b2048");
  CHECK(trace.kernels().size() == 3);
  CHECK(trace.tensor(1).id == ~0ULL);
}

TEST_CASE("a trace that ends with its counts and checksum is read again, and equal to one without") {
  const auto closed = written(read(canonical), Ending::Checked);
  CHECK(closed.starts_with(canonical));
  CHECK(closed.substr(canonical.size()).starts_with("E 3 3 "));
  CHECK(read(closed) == read(canonical));
  CHECK(written(read(closed), Ending::Checked) == closed);
}

TEST_CASE(
    "blanks, an @ of the whole, an O of nothing and unknown lines in lower case are read and not kept") {
  const auto plain = read("H tmtrace=1 net=x\nT 1 64 p a b\nT 2 8 a y\nK relu_f f 0 R 1 W 2 U -\n");
  const auto odd = read(
      "H  net=x\ttmtrace=1 \n"
      "  T\t1 0064  p   a b \t\n"
      "note that nobody knows\n"
      "T 2 8 a y\n"
      "q\n"
      "K relu_f f 0.0 R 1@64 W 2@8 U - O -\n");
  CHECK(odd == plain);
}

TEST_CASE("traces are equal only if all that is in them is") {
  const auto trace = read(canonical);
  for (std::size_t line = 1; line < 23; ++line) {
    // Changes each character of a line once; changes that leave no trace are skipped.
    auto begin = std::size_t{0};
    for (std::size_t i = 0; i < line; ++i) begin = canonical.find('\n', begin) + 1;
    for (auto at = begin; canonical[at] != '\n'; ++at) {
      auto changed = canonical;
      changed[at] = changed[at] == '1' ? '2' : '1';
      CAPTURE(changed.substr(begin, changed.find('\n', begin) - begin));
      try {
        const auto other = read(changed);
        CHECK((other == trace) == (written(other) == canonical));
      } catch (const TraceError&) {
        continue;
      }
    }
  }
}

TEST_CASE("random traces are the same after writing and reading, and so is their text") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  for (int i = 0; i < 200; ++i) {
    const auto trace = test::RandomTrace{random}.make(random() % 200);
    const auto text = written(trace, Ending::Checked);
    CAPTURE(text);
    const auto again = read(text);
    CHECK(again == trace);
    CHECK(written(again, Ending::Checked) == text);
    CHECK(summarise(again).peak == summarise(trace).peak);
  }
}

TEST_CASE("text is not written that would be read as something else") {
  const auto refuses = [](auto&& add) {
    Trace trace;
    trace.declare(1, 1_B, TensorKind::Parameter, "x");
    add(trace);
    CHECK_THROWS_AS(std::ignore = written(trace), TraceError);
  };
  refuses([](Trace& t) { t.add_header("a b", "c"); });
  refuses([](Trace& t) { t.add_header("", "c"); });
  refuses([](Trace& t) { t.add_header("a=b", "c"); });
  refuses([](Trace& t) { t.add_header("tmtrace", "1"); });
  refuses([](Trace& t) { t.add_header("a", "c d"); });
  for (const auto* text : {"a\nb", " a", "a ", "-", "\xff", "a\rb"})
    refuses([&](Trace& t) { t.declare(2, 1_B, TensorKind::Input, text); });
  for (const auto* text : {"a b", "a\n", "-", "a\tb"})
    refuses([&](Trace& t) { t.add_kernel(text, Phase::Forward, 0, {}); });
  refuses([](Trace& t) { t.add_setting("a=b", "c"); });
  refuses([](Trace& t) { t.add_setting("a", "c "); });
  refuses([](Trace& t) { t.add_setting("a", "c\n2"); });
}

TEST_CASE("a stream that takes no more is told as an error") {
  std::ostringstream full;
  full.setstate(std::ios::badbit);
  CHECK_THROWS_AS(write_text(read(canonical), full), TierError);
}

}  // namespace tier::round_trip_test
