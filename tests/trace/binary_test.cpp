// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  The binary form: the same traces as in text, and the errors of damaged files.
#include <doctest/doctest.h>
#include <tier/trace/binary.hpp>
#include <tier/trace/files.hpp>
#include <tier/trace/summary.hpp>

#include <fstream>
#include <random>
#include <string>
#include <tuple>

#include "binaries.hpp"
#include "random_trace.hpp"
#include "support/message_of.hpp"
#include "support/packed.hpp"
#include "support/seed.hpp"
#include "support/temporary_directory.hpp"
#include "texts.hpp"

namespace tier::binary_test {

using namespace tier::trace;
using tier::test::as_binary;
using tier::test::block_of;
using tier::test::read;
using tier::test::read_bytes;
using tier::test::written;

namespace {

const Trace& example() {
  static const Trace trace = read(
      "H tmtrace=1 net=x\nT 0 64 p w\nT 5 8 a y\nc k=v v\nK relu_f f 1.5 R 0@8 W 5 U -\nk 1 2 3 4 dram,dram\n"
      "Z 5\nX 5\nI\n");
  return trace;
}
std::string message_of(const std::string& bytes, const ReadLimits& limits = {}) {
  return test::message_of<TraceError>([&] { std::ignore = read_bytes(bytes, limits); });
}
/// Returns a file whose only block has this payload.
std::string with_payload(const std::string& payload, char content = 2) {
  return test::header_of(content) + block_of(payload);
}

}  // namespace

TEST_CASE("random traces are the same in binary form, and smaller than their text") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  std::size_t text = 0, binary = 0;
  for (int i = 0; i < 200; ++i) {
    const auto trace = test::RandomTrace{random}.make(random() % 200);
    const auto bytes = as_binary(trace);
    const auto again = read_bytes(bytes);
    CHECK(again == trace);
    CHECK(as_binary(again) == bytes);
    CHECK(read(written(again)) == trace);
    text += written(trace).size();
    binary += bytes.size();
  }
  CHECK(binary < text);
}

TEST_CASE("files are read by their first bytes, packed or not, and written by their names") {
  const test::TemporaryDirectory directory;
  for (const auto* name : {"a", "a.tt", "a.tt.gz", "a.gz", "a.tt.zst"}) {
    CAPTURE(name);
    if (packing_of(name) == Packing::Zstd && !test::has_zstd) continue;
    const auto path = directory.path() + "/" + name;
    write_file(example(), path);
    CHECK(read_file(path) == example());
    write_file(example(), directory.path() + "/other", form_of(name), packing_of(name));
    std::ifstream one{path}, other{directory.path() + "/other"};
    CHECK(std::string{std::istreambuf_iterator{one}, {}} == std::string{std::istreambuf_iterator{other}, {}});
  }
  CHECK(form_of("x.tt") == Form::Binary);
  CHECK(form_of("x.tt.gz") == Form::Binary);
  CHECK(form_of("x.trace.zst") == Form::Text);
  CHECK(form_of("tt") == Form::Text);
}

TEST_CASE("a trace that is cut off anywhere is refused") {
  const auto bytes = as_binary(example());
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    CAPTURE(n);
    CHECK_THROWS_AS(std::ignore = read_bytes(bytes.substr(0, n)), TraceError);
  }
  CHECK(message_of(bytes.substr(0, 10)) == "t: at byte 0: the file is cut off within its header");
  CHECK(message_of(bytes.substr(0, bytes.size() - 1)) == "t: at byte 16: the file is cut off within a block");
  CHECK(message_of(test::header_of(2)) == "t: at byte 16: the file is cut off: it has no end");
}

TEST_CASE("each byte that is changed is noticed, or does not matter") {
  const auto bytes = as_binary(example());
  for (std::size_t at = 0; at < bytes.size(); ++at)
    for (const unsigned bit : {0U, 3U, 7U}) {
      CAPTURE(at);
      auto changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ (1U << bit));
      CHECK_THROWS_AS(std::ignore = read_bytes(changed), TraceError);
    }
}

TEST_CASE("what is wrong in a binary trace is told with its byte") {
  CHECK(message_of("text") == "t: at byte 0: expected a trace in binary form");
  auto other = test::header_of(2);
  other[8] = 9;
  CHECK(message_of(other) == "t: at byte 0: unknown version 9 of the binary form; known is version 1");
  CHECK(message_of(test::header_of(7)) == "t: at byte 0: content that is not known: 7");
  auto damaged = with_payload(std::string(4, '\x12')) + block_of("x");
  damaged[16 + 8] = '\x13';
  CHECK(message_of(damaged) == "t: at byte 16: the CRC-32 of a block is wrong: the block was changed");

  const std::string name{"\x01\x01x", 3}, blank{"\x01\x03x y", 5}, end{"\x03\0\0", 3};
  const std::string tensor{"\x10\x05\x08p\x01", 5}, kernel =
                                                        std::string{
                                                            "\x11\x01"
                                                            "f",
                                                            3} +
                                                        std::string(8, '\0');
  const auto of = [](const std::string& payload) { return message_of(with_payload(payload)); };
  CHECK(read_bytes(with_payload(name + tensor + kernel + std::string{"\x01\xd2\0", 3} +
                                std::string{"\x03\x01\x01", 3}))
            .kernels()
            .size() == 1);
  CHECK(of(end + end) == "t: at byte 27: a record after the end");
  CHECK(of("\x7f") == "t: at byte 25: a record of an unknown kind: 127");
  CHECK(of("\x01") == "t: at byte 25: a block ends within a record");
  CHECK(of(std::string{"\x01\x05x", 3}) == "t: at byte 26: a block ends within a record");
  CHECK(of(name + name).ends_with(": a name stands there twice, or is empty"));
  CHECK(of(std::string{"\x01\0", 2}).ends_with(": a name stands there twice, or is empty"));
  CHECK(
      of(std::string{"\x03\x01\0", 3}).ends_with(": the end says that there are 1 tensors, but there are 0"));
  CHECK(
      of(std::string{"\x03\0\x02", 3}).ends_with(": the end says that there are 2 kernels, but there are 0"));
  CHECK(of(name + std::string{"\x02\x02\x01", 3}).ends_with(": expected a number of at most 1, not 2"));
  CHECK(of(blank + std::string{"\x02\x01\x01", 3}).ends_with(": a header that could not be written as text"));
  CHECK(of(name + std::string{"\x02\x01\x01\x02\x01\x01", 6}).ends_with(": the header has x twice"));
  CHECK(of(name + tensor + std::string{"\x02\x01\x01", 3})
            .ends_with(": the header must come before all events"));
  CHECK(of(name + tensor + tensor).ends_with(": tensor 5 is declared a second time"));
  CHECK(of(name + std::string{"\x10\x05\x08z\x01", 5})
            .ends_with(": unknown kind, known are p, g, a, t, s and i"));
  CHECK(of(std::string{"\x01\x01-\x10\x05\x08p\x01", 8})
            .ends_with(": a name that could not be written as text"));
  CHECK(of(name + std::string{"\x11\x01x", 3}).ends_with(": unknown phase, known are f, b and u"));
  CHECK(of(name +
           std::string{"\x11\x01"
                       "f",
                       3} +
           std::string(8, '\xff'))
            .ends_with(": flops must be a number of 0 or more"));
  CHECK(of(name + tensor + kernel + std::string{"\x02\xd5\0\xd2\0", 5})
            .ends_with(": operands must come in the order R, W, U, O"));
  CHECK(of(name + tensor + kernel + std::string{"\x01\xd2\x07", 3})
            .ends_with(": tensor number 7 is not declared before"));
  CHECK(of(blank + std::string{"\x11\x01"
                               "f",
                               3})
            .ends_with(": a word that could not be written as text"));
  CHECK(of(name + tensor + kernel + std::string{"\x01\xd7\0", 3}).find("is a parameter") !=
        std::string::npos);
  CHECK(of(std::string{"\x15\x02\x01", 3}).ends_with(": a time before the start, or after 292 years"));
  CHECK(of(std::string{"\x1b\0\0", 3}).ends_with(": a setting that could not be written as text"));
  CHECK(
      of(name + tensor + std::string{"\x16\x02\x02\0\0\x01\x01\x01\x09\0", 10}).ends_with(": unknown cause"));
  CHECK(of(name + tensor + std::string{"\x1c\x02\x02\0\0\x01\x03", 7})
            .ends_with(": an alignment must be a power of two"));
  CHECK(of(name + std::string{"\x1a\x02\x02\x01\x02\0\x01\x07", 8}).ends_with(": 1 rows are listed, not 2"));
  CHECK(of("\x03" + std::string(10, '\xff')).ends_with(": a number of more than 64 bits"));
}

TEST_CASE("a binary trace may not be larger than the reader's limits, whatever it declares") {
  const auto bytes = as_binary(example());
  CHECK(message_of(bytes, {.line = 20_B}).ends_with(": a block of more than 20, the reader's limit"));
  CHECK(message_of(bytes, {.text = 20_B}).ends_with(": a file of more than 20, the reader's limit"));
  CHECK(message_of(bytes, {.memory = 20_B})
            .ends_with(": a trace that takes more than 20 of memory, the reader's limit"));
  auto large = test::header_of(2) + std::string{"\xff\xff\xff\0....", 8};
  CHECK(message_of(large) ==
        "t: at byte 16: the file is cut off within a block");  // and nothing was reserved
}

}  // namespace tier::binary_test
