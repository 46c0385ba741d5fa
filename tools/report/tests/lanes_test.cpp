// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/lanes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "support/seed.hpp"

namespace tier::lanes_test {

using namespace tier::tool::report;

namespace {

bool disjoint(const Slice& a, const Slice& b) { return a.end <= b.start || b.end <= a.start; }
bool within(const Slice& a, const Slice& b) { return a.start >= b.start && a.end <= b.end; }

}  // namespace

TEST_CASE("slices of one lane do not overlap, and there are no more lanes than slices at one time") {
  const auto seed = tier::test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  for (int round = 0; round < 100; ++round) {
    std::vector<Slice> slices(random() % 40);
    for (auto& s : slices) {
      s.start = static_cast<Time>(random() % 100);
      s.end = s.start + 1 + static_cast<Time>(random() % 30);
    }
    const auto plain = lanes_of(slices, Nesting::No), nested = lanes_of(slices, Nesting::Yes);
    std::size_t most_at_once = 0, lanes = 0;
    for (std::size_t i = 0; i < slices.size(); ++i) {
      lanes = std::max(lanes, plain[i] + 1);
      most_at_once = std::max<std::size_t>(
          most_at_once, static_cast<std::size_t>(std::ranges::count_if(slices, [&](const Slice& s) {
            return s.start <= slices[i].start && slices[i].start < s.end;
          })));
      for (std::size_t j = 0; j < i; ++j) {
        if (plain[i] == plain[j]) CHECK(disjoint(slices[i], slices[j]));
        if (nested[i] == nested[j])
          CHECK((disjoint(slices[i], slices[j]) || within(slices[i], slices[j]) ||
                 within(slices[j], slices[i])));
      }
    }
    CHECK(lanes == most_at_once);
  }
}

TEST_CASE("what lies within another shares its lane where nesting is allowed") {
  const std::vector<Slice> slices{{0, 10}, {2, 5}, {5, 10}, {8, 12}};
  CHECK(lanes_of(slices, Nesting::Yes) == std::vector<std::size_t>{0, 0, 0, 1});
}

}  // namespace tier::lanes_test
