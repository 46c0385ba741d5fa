// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  All rules of the format, with the message and the number of the line.
#include <doctest/doctest.h>
#include <tier/trace/summary.hpp>
#include <tier/trace/text.hpp>

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "support/message_of.hpp"
#include "texts.hpp"

namespace tier::rules_test {

using namespace tier::trace;
using tier::test::read;

namespace {

/// Lines 1 to 6: a parameter, an activation that exists, a gradient that exists, a temporary that does not.
const std::string begun =
    "H tmtrace=1 net=n\n"
    "T 1 64 p w\n"
    "T 2 128 a x\n"
    "T 3 32 g dw\n"
    "T 4 16 t tmp\n"
    "K fc_f f 0 R 1 W 2,3 U -\n";

std::string message_of(const std::string& text) {
  return test::message_of<TraceError>([&] { std::ignore = read(text); });
}

struct Refused {
  std::string_view lines;    ///< after the lines of `begun`
  std::string_view message;  ///< without file and line, which is the last one
};

void check_refused(const std::vector<Refused>& all) {
  for (const auto& [lines, message] : all) {
    const auto text = begun + std::string{lines} + "\n";
    CAPTURE(text);
    const auto number = std::ranges::count(text, '\n');
    CHECK(message_of(text).starts_with("t:" + std::to_string(number) + ": " + std::string{message}));
  }
}

void check_read(const std::vector<std::string_view>& all) {
  for (const auto lines : all) {
    CAPTURE(lines);
    CHECK(message_of(begun + std::string{lines} + "\n") == "nothing thrown");
  }
}

}  // namespace

TEST_CASE("a message has file, line, what is wrong and the line itself, shortened and printable") {
  CHECK(message_of(begun + "X 9\n") ==
        "t:7: tensor 9 is not declared: no line T before this line declares it, in \"X 9\"");
  CHECK(message_of(begun + "T 5 1 z a\tb \xc3\xb6 " + std::string(100, 'n') + "\n") ==
        "t:7: unknown kind, known are p, g, a, t, s and i, in \"T 5 1 z a\\x09b \\xc3\\xb6 " +
            std::string(65, 'n') + "...\"");
  try {
    std::ignore = read(begun + "X 9\n");
    FAIL("read");
  } catch (const ConfigError& error) {  // as for any malformed file
    CHECK(dynamic_cast<const TraceError&>(error).line() == 7);
  }
}

TEST_CASE("the first line is the header, of a version that is known") {
  const std::vector<std::pair<std::string, std::string>> all{
      {"", "t:1: an empty file: expected H, the header, as the first line"},
      {"T 1 1 p w\n", "t:1: expected H, the header, as the first line, in \"T 1 1 p w\""},
      {"\nH tmtrace=1\n", "t:1: expected a line type"},
      {"\xef\xbb\xbf\xef\xbb\xbfH tmtrace=1\n", "t:1: expected H, the header, as the first line"},
      {"H\n", "t:1: the header lacks tmtrace=1"},
      {"H net=a\n", "t:1: the header lacks tmtrace=1"},
      {"H tmtrace=2\n", "t:1: unknown format tmtrace=2; known is tmtrace=1"},
      {"H tmtrace=1 net\n", "t:1: expected key=value, not \"net\""},
      {"H tmtrace=1 =x\n", "t:1: expected key=value, not \"=x\""},
      {"H tmtrace=1 a=b a=c\n", "t:1: the header has a twice"},
      {"H tmtrace=1 tmtrace=1\n", "t:1: the header has tmtrace twice"}};
  for (const auto& one : all) {
    CAPTURE(one.first);
    CHECK(message_of(one.first).starts_with(one.second));
  }
  CHECK(read("H a=b=c tmtrace=1 unknown=\n").header("a") == "b=c");
  check_refused({{"H tmtrace=1", "H, the header, can only be the first line"}});
}

TEST_CASE("unknown lines are errors unless they are in lower case") {
  check_refused({{"Q 1", "unknown type of line; only unknown types in lower case are skipped"},
                 {"KK conv", "unknown type of line"},
                 {"k2K conv", "unknown type of line"},
                 {"# note", "unknown type of line"},
                 {"1", "unknown type of line"},
                 {"", "expected a line type"},
                 {"  ", "expected a line type"}});
  check_read({"q", "q 1 2 3", "note: anything at all ☃"});
}

TEST_CASE("text is UTF-8 without control characters, in lines that nobody knows, too") {
  check_refused({{"c a=\xff", "text that is not UTF-8"},
                 {"q \xc0\xaf", "text that is not UTF-8"},      // overlong
                 {"q \xed\xa0\x80", "text that is not UTF-8"},  // a surrogate
                 {"q \xf4\x90\x80\x80", "text that is not UTF-8"},
                 {"q \xe2\x98", "text that is not UTF-8"},
                 {"c a=\rb", "a control character"},
                 {"I\r ", "a control character"},
                 {std::string_view{"q \0", 3}, "a NUL"}});
  check_read({"T 9 1 i \xf0\x9f\x92\xbe \xe2\x98\x83 \xc3\xb6"});
}

TEST_CASE("a line T has an id that is new, a size below 8 EiB, a kind and a name") {
  check_refused(
      {{"T", "expected an id"},
       {"T -5 1 a x", "expected an id, a decimal number, not \"-5\""},
       {"T +5 1 a x", "expected an id, a decimal number"},
       {"T 0x5 1 a x", "expected an id, a decimal number"},
       {"T 18446744073709551616 1 a x", "expected an id of at most 18446744073709551615, not \"184"},
       {"T 1 1 a x", "tensor 1 is declared a second time"},
       {"T 5", "expected a size in bytes"},
       {"T 5 1.5 a x", "expected a size in bytes, a decimal number"},
       {"T 5 9223372036854775808 a x", "expected a size in bytes of at most 9223372036854775807"},
       {"T 5 18446744073709551616 a x", "expected a size in bytes of at most 9223372036854775807"},
       {"T 5 1", "expected a kind"},
       {"T 5 1 z x", "unknown kind, known are p, g, a, t, s and i"},
       {"T 5 1 pp x", "expected a kind, not \"pp\""},
       {"T 5 1 a", "expected a name"},
       {"T 5 9223372036854775800 p x", "more than 8 EiB alive at once"},
       {"T 5 9223372036854775800 t x\nK f f 0 R - W 5 U -", "more than 8 EiB alive at once"}});
  check_read({"T 0 0 s x", "T 18446744073709551615 9223372036854775583 i -"});
}

TEST_CASE("a line K has an op, a phase, flops, and operands in their order") {
  check_refused({{"K", "expected the name of an op"},
                 {"K f", "expected a phase"},
                 {"K f x 0 R - W - U -", "unknown phase, known are f, b and u"},
                 {"K f f", "expected flops"},
                 {"K f f -1 R - W - U -", "expected flops, a number of 0 or more, not \"-1\""},
                 {"K f f -0 R - W - U -", "expected flops"},
                 {"K f f nan R - W - U -", "expected flops"},
                 {"K f f inf R - W - U -", "expected flops"},
                 {"K f f 1e999 R - W - U -", "expected flops"},
                 {"K f f 1x R - W - U -", "expected flops"},
                 {"K f f 0", "expected R and what is read"},
                 {"K f f 0 W 2", "expected R and what is read, not \"W\""},
                 {"K f f 0 R", "expected R and what is read"},
                 {"K f f 0 R 1", "expected W and what is created"},
                 {"K f f 0 R 1 U 2 W -", "expected W and what is created, not \"U\""},
                 {"K f f 0 R 1 W -", "expected U and what is updated"},
                 {"K f f 0 R 1 W - U - X 1", "expected O and what is overwritten, or nothing, not \"X\""},
                 {"K f f 0 R 1 W - U - O", "expected O and what is overwritten"},
                 {"K f f 0 R 1 W - U - O 2 3", "the line goes on after its last field: \"3\""},
                 {"K f f 0 R 1,,2 W - U -", "expected an id, a decimal number"},
                 {"K f f 0 R 1, W - U -", "expected an id, a decimal number"},
                 {"K f f 0 R ,1 W - U -", "expected an id, a decimal number"},
                 {"K f f 0 R -,1 W - U -", "expected an id, a decimal number, not \"-\""},
                 {"K f f 0 R 1@ W - U -", "expected bytes that are touched"},
                 {"K f f 0 R 1@-1 W - U -", "expected bytes that are touched"},
                 {"K f f 0 R 9 W - U -", "tensor 9 is not declared"}});
  check_read({"K f u 0 R - W - U -", "K f b 5.54906e+10 R 1,2@5 W 4 U 3@0 O -", "K f f 1 R 1 W - U - O 2,3"});
}

TEST_CASE("an operand touches no more than its tensor has, and a whole write all of it") {
  check_refused(
      {{"K f f 0 R 1@65 W - U -", "tensor 1 has 64 bytes, not 65"},
       {"K f f 0 R 1@18446744073709551615 W - U -", "tensor 1 has 64 bytes, not 18446744073709551615"},
       {"K f f 0 R - W - U 2@129", "tensor 2 has 128 bytes, not 129"},
       {"K f f 0 R - W 4@15 U -", "W writes the whole of tensor 4, 16 bytes, not 15"},
       {"K f f 0 R - W - U - O 2@127", "O writes the whole of tensor 2, 128 bytes, not 127"}});
  check_read({"K f f 0 R 1@64,2@0 W 4@16 U 3@31", "K f f 0 R - W - U - O 2@128"});
}

TEST_CASE("a parameter exists from the start, every other tensor from the one kernel that creates it") {
  check_refused({{"K f f 0 R - W 1 U -", "tensor 1 is a parameter and exists from the start"},
                 {"K f f 0 R - W 2 U -", "tensor 2 is created a second time"},
                 {"K f f 0 R - W 4,4 U -", "tensor 4 is created a second time"},
                 {"K f f 0 R 4 W - U -", "tensor 4 is used before a kernel creates it"},
                 {"K f f 0 R 4 W 4 U -", "tensor 4 is used before a kernel creates it"},
                 {"K f f 0 R - W - U 4", "tensor 4 is used before a kernel creates it"},
                 {"K f f 0 R - W - U - O 4", "tensor 4 is used before a kernel creates it"},
                 {"Z 4", "tensor 4 is used before a kernel creates it"},
                 {"X 4", "tensor 4 is used before a kernel creates it"}});
  check_read({"T 5 1 p late\nK f f 0 R 5 W - U -", "Z 1\nX 1"});
}

TEST_CASE("nothing is used after its X") {
  check_refused({{"X 2\nK f f 0 R 2 W - U -", "tensor 2 is used after its X"},
                 {"X 2\nK f f 0 R - W 2 U -", "tensor 2 is used after its X"},
                 {"X 2\nK f f 0 R - W - U 2", "tensor 2 is used after its X"},
                 {"X 2\nK f f 0 R - W - U - O 2", "tensor 2 is used after its X"},
                 {"X 2\nZ 2", "tensor 2 is used after its X"},
                 {"X 2\nX 2", "tensor 2 is used after its X"},
                 {"X 2,2", "tensor 2 is used after its X"},
                 {"X 1\nI\nK f f 0 R 1 W - U -", "tensor 1 is used after its X"},
                 {"X 3\nI\nK f f 0 R - W 3 U -", "tensor 3 is used after its X"}});
}

TEST_CASE("a tensor has one role in a kernel") {
  check_refused({{"K f f 0 R 1 W - U 1", "tensor 1 stands under both R and U of one kernel"},
                 {"K f f 0 R 2 W - U - O 2", "tensor 2 stands under both R and O of one kernel"},
                 {"K f f 0 R - W 4 U 4", "tensor 4 stands under both W and U of one kernel"},
                 {"K f f 0 R - W - U - O 2,2", "tensor 2 stands under both O and O of one kernel"}});
  check_read({"K f f 0 R 2@1,2@2 W - U 3@1,3@2"});  // slices
}

TEST_CASE("parameters and gradients survive an iteration, nothing else does") {
  check_refused({{"I\nK f f 0 R 2 W - U -", "tensor 2 is used after the end of its iteration"},
                 {"I\nK f f 0 R - W 2 U -", "tensor 2 is used after the end of its iteration"},
                 {"I\nX 2", "tensor 2 is used after the end of its iteration"},
                 {"I 1", "the line goes on after its last field: \"1\""},
                 {"I\nK f f 0 R - W 3 U -\nK f f 0 R - W 3 U -", "tensor 3 is created a second time"}});
  check_read({"I\nK f f 0 R 1,3 W 4 U -", "I\nK f f 0 R - W - U - O 3",
              "I\nK f f 0 R - W 3 U -\nI\nK f f 0 R - W 3 U -",  // for a survivor W counts as O
              "I\nI\nX 3"});
}

TEST_CASE("lines Z and X have one list of ids") {
  check_refused({{"Z", "expected the ids of what is archived"},
                 {"X", "expected the ids of what is retired"},
                 {"Z 1 2", "the line goes on after its last field: \"2\""},
                 {"X 2@5", "expected an id, a decimal number, not \"2@5\""},
                 {"Z 9", "tensor 9 is not declared"}});
  check_read({"Z 1,2", "X -", "X 2,3"});
}

TEST_CASE("what a recording adds is checked, too") {
  check_refused(
      {{"k", "expected a sequence number"},
       {"k 1", "expected the start"},
       {"k 1 2", "expected a duration"},
       {"k 1 2 3", "expected a thread"},
       {"k 1 2 3 4", "expected a placement"},
       {"k 1 2 3 4 0 5", "the line goes on after its last field"},
       {"k 1 9223372036854775808 3 4 0", "expected the start of at most 9223372036854775807"},
       {"k 1 2 3 4 0\nk 2 2 3 4 0", "a measurement must follow a kernel, and be its only one"},
       {"m", "expected a sequence number"},
       {"m 1", "expected an id"},
       {"m 1 2", "expected the tier it came from"},
       {"m 1 2 a", "expected the tier it went to"},
       {"m 1 2 a b", "expected a size in bytes"},
       {"m 1 2 a b 1", "expected a cause"},
       {"m 1 2 a b 1 hint", "expected the start"},
       {"m 1 9 a b 1 hint 1 1", "tensor 9 is not declared"},
       {"m 1 2. a b 1 hint 1 1", "expected the number of a block"},
       {"m 1 2.4294967295 a b 1 hint 1 1", "expected the number of a block of at most 4294967294"},
       {"m 1 2 a b 1 why 1 1", "unknown cause, known are hint, miss, forced, evict, compact and plan"},
       {"m 1 2 a b 1 hint 1", "expected a duration"},
       {"m 1 2 a b 1 hint 1 1 1", "the line goes on after its last field"},
       {"s", "expected a sequence number"},
       {"s 1", "expected a scope"},
       {"s 1 conv", "expected the start"},
       {"s 1 conv 2", "expected a duration"},
       {"s 1 conv 2 3", "expected a cause"},
       {"s 1 conv 2 3 a b", "the line goes on after its last field"},
       {"h", "expected a sequence number"},
       {"h 1", "expected a hint"},
       {"h 1 will_read", "expected the ids it is about"},
       {"h 1 will_read 9 5", "tensor 9 is not declared"},
       {"h 1 will_read 2", "expected the start"},
       {"h 1 will_read 2 5 6", "the line goes on after its last field"},
       {"f", "expected a sequence number"},
       {"f 1", "expected an id"},
       {"f 1 2.x 5", "expected the number of a block"},
       {"f 1 2", "expected the start"},
       {"f 1 2 5 6", "the line goes on after its last field"},
       {"a", "expected a sequence number"},
       {"a 1", "expected an id"},
       {"a 1 9 t 8 1", "tensor 9 is not declared"},
       {"a 1 2", "expected a tier"},
       {"a 1 2 t", "expected an alignment"},
       {"a 1 2 t 4194304 1", "expected an alignment of at most 2097152"},
       {"a 1 2 t 3 1", "an alignment must be a power of two"},
       {"a 1 2 t 8", "expected the start"},
       {"a 1 2 t 8 1 1", "the line goes on after its last field"},
       {"g", "expected a sequence number"},
       {"g 1", "expected a table"},
       {"g 1 table", "expected the number of rows"},
       {"g 1 table 2", "expected the start"},
       {"g 1 table 1 5 1 1", "the line goes on after its last field"},
       {"g 1 table 2 5 1,2,3", "3 rows are listed, not 2"},
       {"g 1 table 1 5 x", "expected a row, a decimal number"},
       {"u", "expected a sequence number"},
       {"u 1", "expected a table"},
       {"u 1 table", "expected the number of rows"},
       {"u 1 table 2", "expected the start"},
       {"u 1 table 1 5 x", "expected a row, a decimal number"},
       {"u 1 table 2 5 1,2,3", "3 rows are listed, not 2"},
       {"c", "expected key=value"},
       {"c policy", "expected key=value, not \"policy\""}});
  const std::string header = "H tmtrace=1\n";
  CHECK(message_of(header + "k 1 2 3 4 0\n")
            .starts_with("t:2: a measurement must follow a kernel, and be its only one"));
  check_read({"k 1 2 3 4 0", "m 1 4.0 a b 1 plan 1 1", "X 2\nm 1 2 a b 128 evict 1 1\nh 1 archive 2 9"});
}

TEST_CASE("the end has the right counts and checksum, and nothing comes after it") {
  const auto whole = test::written(read(begun), Ending::Checked);
  const auto end = whole.substr(begun.size());
  const auto sum = end.substr(6, 8);
  REQUIRE(end == "E 4 1 " + sum + "\n");
  check_refused({{"E", "expected the number of tensors"},
                 {"E 4 1", "expected the CRC-32"},
                 {"E 5 1 " + sum, "E says that there are 5 tensors, but there are 4"},
                 {"E 4 2 " + sum, "E says that there are 2 kernels, but there are 1"},
                 {"E 4 1 00000000", "the CRC-32 of the bytes before E is wrong: the bytes were changed"},
                 {"E 4 1 " + sum + " 1", "the line goes on after its last field"},
                 {"E 4 1 " + sum + "\nI", "a line after E, the end"},
                 {"E 4 1 " + sum + "\n", "a line after E, the end"}});
  const auto decimal = std::to_string(std::stoul(sum, nullptr, 16));
  std::string upper = sum;
  std::ranges::transform(upper, upper.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  for (const auto& form : {sum, upper, decimal})
    CHECK(message_of(begun + "E 4 1 " + form + "\n") == "nothing thrown");
  CHECK(message_of(begun + "q\nE 4 1 " + sum + "\n").starts_with("t:8: the CRC-32"));  // all bytes count
}

TEST_CASE("a text that is cut off within a line is refused, one that ends with a line is not") {
  for (std::size_t n = 0; n < begun.size(); ++n) {
    const auto text = begun.substr(0, n);
    CAPTURE(text);
    const auto message = message_of(text);
    if (n == 0 || text.back() == '\n')
      CHECK((n == 0 || message == "nothing thrown"));
    else
      CHECK(message == "t:" + std::to_string(1 + std::ranges::count(text, '\n')) +
                           ": the file is cut off: its last line has no line break");
  }
}

TEST_CASE("a summary counts, and has the peak with late parameters in it from the start") {
  const auto of = [](const std::string& lines) { return summarise(read(begun + lines)); };
  const auto all = of("X 2\nK f f 0 R - W 4 U -\nI\nT 5 1000 p late\nK f f 0 R 5 W - U -\nk 1 2 3 4 0\n");
  CHECK(all.tensors == 5);
  CHECK(all.kernels == 3);
  CHECK(all.iterations == 2);
  CHECK(all.events == 6);
  CHECK(all.peak == Bytes{1000 + 64 + 128 + 32});
  CHECK(all.peaks == std::vector{Bytes{64 + 128 + 32}, Bytes{1000 + 64 + 32}});
  CHECK(of("").iterations == 1);
  CHECK(of("I\n").iterations == 1);
  CHECK(of("I\nc a=b\n").iterations == 1);
  CHECK(of("I\nI\nZ 1\n").iterations == 3);
  CHECK(of("I\nI\nX 1\n").iterations == 2);
  CHECK(of("T 5 100 a y\nK f f 0 R - W 5 U -\n").peak == Bytes{64 + 128 + 32 + 100});
  CHECK(of("T 5 100 a y\nX 2\nK f f 0 R - W 5 U -\n").peak == Bytes{64 + 128 + 32});
  // The gradient is alive, the activation no longer is.
  CHECK(of("T 5 150 a y\nI\nK f f 0 R - W 5 U -\n").peak == Bytes{64 + 32 + 150});
}

TEST_CASE("a recording's peak is of what was alive at once, also of objects that it calls parameters") {
  const std::string one = " 1000 p a\nK w f 0 R - W - U ";
  const auto all = summarise(read("H tmtrace=1 recorded=1\nT 1" + one + "1\nX 1\nT 2" + one + "2\nX 2\nT 3" +
                                  one + "3\nT 4" + one + "4\nX 3,4\n"));
  CHECK(all.peak == Bytes{2000});
  CHECK(all.peaks == std::vector{Bytes{2000}});
}

TEST_CASE("a summary of a trace that a program has made names the line where a rule is broken") {
  Trace trace;
  const auto x = trace.declare(8, 64_B, TensorKind::Activation, "x");
  const std::vector<trace::Operand> reads{{.touched = 64_B, .tensor = x, .role = Role::Reads}};
  trace.add_kernel("relu_f", Phase::Forward, 0, reads);
  CHECK(test::message_of<TraceError>([&] { std::ignore = summarise(trace, "mine"); }) ==
        "mine:3: tensor 8 is used before a kernel creates it");
}

}  // namespace tier::rules_test
