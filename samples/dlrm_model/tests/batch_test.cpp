// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include "click_logs/generated_log.hpp"
#include "dlrm_model/batch.hpp"

namespace batch_test {

using namespace dlrm;

namespace {

GeneratedLog small_log(std::uint64_t records) {
  return GeneratedLog{{.records = records, .rows = {7, 50}, .pooling = 4, .skew = "uniform", .seed = 5}};
}

}  // namespace

TEST_CASE("a batch reader goes through its stretch once an epoch, and pads the last batch") {
  auto log = small_log(20);
  BatchReader reader{log, {.first = 3, .last = 14}, 4, {7, 50}, 2};
  std::vector<std::size_t> used;
  std::vector<float> labels;
  while (const auto batch = reader.next()) {
    CHECK(batch->number == used.size());
    CHECK(batch->labels.size() == 4);
    for (const auto& lookup : batch->lookups) {
      CHECK(lookup.samples() == 4);
      CHECK(lookup.ids.size() == 4 * batch->used);
    }
    used.push_back(batch->used);
    labels.insert(labels.end(), batch->labels.begin(),
                  batch->labels.begin() + static_cast<std::ptrdiff_t>(batch->used));
  }
  CHECK(used == std::vector<std::size_t>{4, 4, 3, 4, 4, 3});
  log.rewind();
  Record record;
  for (std::size_t i = 0; log.next(record); ++i) {
    if (i < 3 || i >= 14) continue;
    CHECK(labels[i - 3] == record.label);
    CHECK(labels[i - 3 + 11] == record.label);
  }
}

TEST_CASE("a stretch without records gives no batch") {
  auto log = small_log(20);
  CHECK(!BatchReader{log, {.first = 5, .last = 5}, 4, {7, 50}}.next());
  CHECK(!BatchReader{log, {.first = 25, .last = 30}, 4, {7, 50}, 3}.next());
}

TEST_CASE("ids are reduced to the rows of their table") {
  GeneratedLog log{{.records = 30, .rows = {7, 50}, .pooling = 4, .skew = "uniform", .seed = 5}};
  BatchReader reader{log, {.first = 0, .last = 30}, 30, {5, 11}};
  const auto batch = reader.next();
  REQUIRE(batch);
  log.rewind();
  Record record;
  for (std::size_t sample = 0; log.next(record); ++sample) {
    for (const std::size_t table : {0U, 1U}) {
      const auto bag = batch->lookups[table].bag(sample);
      REQUIRE(bag.size() == 4);
      for (std::size_t i = 0; i < bag.size(); ++i)
        CHECK(bag[i] == record.ids[table][i] % (table == 0 ? 5 : 11));
    }
  }
}

}  // namespace batch_test
