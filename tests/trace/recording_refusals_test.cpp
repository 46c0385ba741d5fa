// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Errors in a recording are reported with the byte of the record.
#include <doctest/doctest.h>
#include <tier/manager/observer.hpp>
#include <tier/policy/policy.hpp>

#include <initializer_list>
#include <string>
#include <tuple>

#include "support/message_of.hpp"
#include "trace/binaries.hpp"
#include "trace/record.hpp"

namespace tier::recording_refusals_test {

using namespace tier::trace;
using tier::test::block_of;
using tier::test::header_of;
using tier::test::read_bytes;

namespace {

struct Details {
  unsigned x = 0, y = 0, z = 0;
};

/// Returns a record without a name, a ns after the one before.
std::string event(RecordKind kind, std::initializer_list<std::uint64_t> words, Details details = {},
                  std::uint64_t ns_later = 1) {
  std::string bytes(1, static_cast<char>(static_cast<unsigned>(kind) | has_details_bit | has_words_bit));
  append_signed(bytes, 1);
  append_signed(bytes, ns_later);
  for (const auto detail : {details.x, details.y, details.z}) bytes += static_cast<char>(detail);
  append_number(bytes, words.size());
  for (const auto word : words) append_number(bytes, word);
  return bytes;
}
std::string text(RecordKind kind, std::string_view first, std::string_view second = {}) {
  std::string bytes(1, static_cast<char>(kind));
  append_text(bytes, first);
  if (kind == RecordKind::Setting) append_text(bytes, second);
  return bytes;
}

constexpr unsigned made = static_cast<unsigned>(ObjectChange::Made),
                   destroyed = static_cast<unsigned>(ObjectChange::Destroyed);
const std::string tier_0 = text(RecordKind::Tier, "dram");
const std::string object = event(RecordKind::Object, {7, 64, 64, 1}, {made});  // id, size, alignment, block
const std::string end = event(RecordKind::End, {0});

std::string message_of(const std::string& records, const ReadLimits& limits = {}) {
  return test::message_of<TraceError>([&] {
    std::ignore = read_bytes(header_of(static_cast<char>(Content::Recording)) + block_of(records), limits);
  });
}
/// Checks the message about `wrong` after correct records.
void check(const std::string& right, const std::string& wrong, const std::string& message,
           const ReadLimits& limits = {}) {
  CAPTURE(message);
  const auto at = binary_header_size + block_header_size + right.size();
  CHECK(message_of(right + wrong, limits) == "t: at byte " + std::to_string(at) + ": " + message);
  CHECK(message_of(right) == "nothing thrown");
}

}  // namespace

TEST_CASE("a record that is malformed is refused, whatever its kind") {
  const std::string right = tier_0 + object;
  const auto malformed = [&](const std::string& wrong) { check(right, wrong, "a record that is malformed"); };
  malformed(event(RecordKind::Object, {7, 64, 64}, {made}));
  malformed(event(RecordKind::Object, {0, 64, 64, 1}, {made}));
  malformed(event(RecordKind::Object, {7, 1ULL << 63, 64, 1}, {made}));
  malformed(event(RecordKind::Object, {7, 64, 64, 1}, {destroyed + 1}));
  malformed(event(RecordKind::Placement, {1}, {1}));
  malformed(event(RecordKind::Placement, {1, 2}));
  malformed(event(RecordKind::Hint, {7, 1}, {static_cast<unsigned>(tier::Hint::Prefetch) + 1}));
  malformed(event(RecordKind::Migration, {1, 64}, {0, 1}));
  malformed(event(RecordKind::Migration, {1, 64}, {0, 0, 0x3f}));
  malformed(event(RecordKind::Migration, {1, 1ULL << 63}));
  malformed(event(RecordKind::Stall, {1}));
  malformed(event(RecordKind::Fault, {}));
  malformed(event(RecordKind::Step, {1}));
  malformed(event(RecordKind::Rows, {2, 8, 64, 0}));
  malformed(event(RecordKind::Rows, {1, 8, 64, 8}));
  malformed(event(RecordKind::Rows, {0, (1ULL << 32) + 1, 64}));
  malformed(event(RecordKind::Scope, {7}));
  malformed(event(RecordKind::Lost, {1}));
  malformed(event(RecordKind::End, {}));
}

TEST_CASE("what no recorder writes is refused") {
  check(tier_0, std::string(1, '\x0f') + std::string(2, '\2'), "a record of an unknown kind");
  check(tier_0 + object + end, object, "a record after the end");
  check(tier_0 + object, tier_0, "a tier too many");
  std::string most;
  for (std::size_t i = 0; i < max_tiers; ++i) most += tier_0;
  check(most, tier_0, "a tier too many");
  check(tier_0, event(RecordKind::Step, {}, {}, 1ULL << 63), "a time before the start, or after 292 years");
  check(tier_0 + object, event(RecordKind::Step, {}, {}, ~std::uint64_t{7}),
        "a time before the start, or after 292 years");
  check(tier_0 + object + event(RecordKind::Object, {7, 64, 64, 1}, {destroyed}), object,
        "an object that is made after its end");
  check(tier_0 + event(RecordKind::Object, {7, 64, 24, 1}, {made}), event(RecordKind::Placement, {1}),
        "an alignment must be a power of two up to 2097152");
  CHECK(message_of(tier_0 + text(RecordKind::Setting, "k", "a line\nmore")) ==
        "t: at byte 0: a setting that could not be written as text");
}

TEST_CASE("what is done to objects that nobody has made is refused, unless events were lost") {
  const std::string right = tier_0 + object;
  const auto unknown = [&](const std::string& wrong, const std::string& message) {
    check(right, wrong, message);
    CHECK(message_of(right + event(RecordKind::Lost, {1, 0}) + wrong) == "nothing thrown");
  };
  unknown(event(RecordKind::Hint, {8, 0}), "a hint for an object that nobody has made");
  unknown(event(RecordKind::Hint, {0, 9}), "a hint for an object that nobody has made");
  unknown(event(RecordKind::Migration, {9, 64}), "a migration of a block that nobody has made");
  unknown(event(RecordKind::Migration, {9, 64}, {0, 0, of_rows}), "rows of a table that nobody has made");
  unknown(event(RecordKind::Fault, {9}), "an access to a block that nobody has made");
  unknown(event(RecordKind::Scope, {8, 0}), "a scope on an object that is not there");
}

TEST_CASE("a recording may take no more memory than the reader's limit, however small it is") {
  std::string steps;
  for (int i = 0; i < 100; ++i) steps += event(RecordKind::Step, {});
  const ReadLimits limits{.memory = 1_KiB};
  const auto message = message_of(tier_0 + steps, limits);
  CAPTURE(message);
  CHECK(message.ends_with("a recording that takes more than 1KiB of memory, the reader's limit"));
}

}  // namespace tier::recording_refusals_test
