// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Traces that would take all memory if their numbers were believed.
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <tier/trace/text.hpp>

#include <algorithm>
#include <istream>
#include <streambuf>
#include <string>
#include <string_view>
#include <tuple>

#include "support/message_of.hpp"
#include "support/packed.hpp"
#include "support/sanitized.hpp"
#include "texts.hpp"

namespace tier::hostile_test {

using namespace tier::trace;
using tier::test::read;

namespace {

/// A stream with a beginning, and then the same text again and again.
class Endless final : public std::streambuf {
 public:
  Endless(const std::string& begin, std::string_view again) : chunk_{begin} { repeat(again); }

  [[nodiscard]] Bytes taken() const { return {taken_ + static_cast<std::size_t>(gptr() - eback())}; }

 private:
  void repeat(std::string_view again) {
    while (chunk_.size() < 64 << 10) chunk_ += again;
    again_ = again;
    setg(chunk_.data(), chunk_.data(), chunk_.data() + chunk_.size());
  }
  int_type underflow() override {
    taken_ += static_cast<std::size_t>(egptr() - eback());
    chunk_.clear();
    repeat(again_);
    return traits_type::to_int_type(chunk_.front());
  }

  std::string chunk_;
  std::string again_;
  std::size_t taken_ = 0;
};

struct Refusal {
  std::string message;
  Bytes taken;
};
Refusal refusal_of(Endless&& endless, const ReadLimits& limits) {
  std::istream in{&endless};
  auto message = test::message_of<TraceError>([&] { std::ignore = read_text(in, "t", limits); });
  return {message.substr(0, message.find(", in")), endless.taken()};
}

Bytes peak_memory() {
  ::rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * 1_KiB;
}

const std::string header = "H tmtrace=1\n";

}  // namespace

TEST_CASE("a line without end is refused where the reader's limit is") {
  const ReadLimits limits{.line = 1_MiB};
  for (const auto* again : {"x", "\xff", "1,", " "}) {
    CAPTURE(again);
    const auto [message, taken] = refusal_of(Endless{header + "K f f 0 R ", again}, limits);
    CHECK(message == "t:2: a line of more than 1MiB, the reader's limit");
    CHECK(taken <= 4_MiB);
  }
  CHECK(refusal_of(Endless{"", "\xff"}, limits).message ==
        "t:1: a line of more than 1MiB, the reader's limit");
}

TEST_CASE("a line may be as long as the limit, and no byte longer") {
  const auto line = "T 1 1 p " + std::string(100, 'n');
  CHECK(read(header + line + "\n", {.line = {line.size()}}).tensors().size() == 1);
  CHECK_THROWS_AS(std::ignore = read(header + line + "\n", {.line = {line.size() - 1}}), TraceError);
}

TEST_CASE("a text without end is refused where the reader's limit is, though nothing of it is kept") {
  const auto [message, taken] = refusal_of(Endless{header, "ignored\n"}, {.text = 3_MiB});
  CHECK(message.ends_with(": a text of more than 3MiB, the reader's limit"));
  CHECK(taken <= 4_MiB);
}

TEST_CASE("a trace that grows beyond the reader's limit of memory is refused, whatever it is made of") {
  const auto begun = header + "T 1 8 p w\n";
  for (const auto* again : {"K f f 0 R 1 W - U -\n", "I\n", "Z 1,1,1\n", "h 1 x 1 1\n",
                            "m 1 1 a b 1 hint 1 1\n", "g 1 t 2 3 4,5\n", "c a=b\n", "s 1 s 1 1 c\n",
                            "f 1 1 1\n", "a 1 1 t 8 1\n", "K f f 0 R 1,1,1,1,1,1,1,1,1,1,1,1 W - U -\n"}) {
    CAPTURE(again);
    const auto [message, taken] = refusal_of(Endless{begun, again}, {.memory = 2_MiB});
    CHECK(message.ends_with(": a trace that takes more than 2MiB of memory, the reader's limit"));
    CHECK(taken <= 4_MiB);
  }
}

TEST_CASE("many names and tensors count, too") {
  std::string text = header;
  for (int i = 0; i < 20'000; ++i) text += "T " + std::to_string(i) + " 1 a " + std::to_string(i) + "\n";
  CHECK(read(text).tensors().size() == 20'000);
  CHECK_THROWS_AS(std::ignore = read(text, {.memory = 1_MiB}), TraceError);
}

TEST_CASE("what a trace declares takes no memory") {
  const auto before = peak_memory();
  std::string text = header;
  for (int i = 0; i < 1000; ++i) text += "T " + std::to_string(i) + " 9000000000000000 t x\n";
  text += "g 1 table 18446744073709551615 0\n";
  CHECK(read(text).tensors().size() == 1000);
  if (!test::sanitized) CHECK(peak_memory() - before < 64_MiB);
}

TEST_CASE("a small file that unpacks to a large text is refused where the reader's limit is") {
  const std::string one_line(128 << 20, 'z');
  std::string lines = header;
  for (int i = 0; i < 1 << 20; ++i) lines += "ignored\n";
  const auto before = peak_memory();
  for (const auto how : {Packing::Gzip, Packing::Zstd}) {
    if (how == Packing::Zstd && !test::has_zstd) continue;
    const auto bomb = test::packed(how, one_line);
    CHECK(bomb.size() < 1 << 20);
    CHECK(test::message_of<TraceError>([&] { std::ignore = read(bomb); }) ==
          "t:1: a line of more than 16MiB, the reader's limit");
    const auto many = test::packed(how, lines);
    CHECK(test::message_of<TraceError>([&] {
            std::ignore = read(many, {.text = 4_MiB});
          }).find(": a text of more than 4MiB, the reader's limit") != std::string::npos);
  }
  if (!test::sanitized) CHECK(peak_memory() - before < 96_MiB);  // a sanitizer keeps freed memory
}

}  // namespace tier::hostile_test
