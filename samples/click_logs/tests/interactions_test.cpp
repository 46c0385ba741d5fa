// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compares row policies with known figures for a log: bags of 82,629 items, a twentieth of which fits.
#include <doctest/doctest.h>
#include <tier/memory/tiers.hpp>
#include <tier/runtime/row_policies.hpp>
#include <tier/runtime/runtime.hpp>
#include <tier/table/row_table.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "common/tests/data_folder.hpp"

namespace interactions_test {

using namespace tier;
using namespace tier::literals;

namespace {

constexpr RowId rows = 91'599, slots = 4131;
constexpr std::size_t dim = 16, bags_in_batch = 256;

/// Returns the items of each batch of bags, in the file's order.
std::vector<std::vector<RowId>> batches_of(const std::filesystem::path& file) {
  std::ifstream whole{file};
  REQUIRE_MESSAGE(whole, "TIER_DATA has no " << file);
  std::vector<std::vector<RowId>> batches;
  std::size_t bags = 0;
  for (std::string line; std::getline(whole, line); ++bags) {
    if (bags % bags_in_batch == 0) batches.emplace_back();
    std::istringstream numbers{line};
    numbers.ignore(std::numeric_limits<std::streamsize>::max(), ' ');  // the user
    for (RowId item = 0; numbers >> item;) batches.back().push_back(item);
  }
  return batches;
}

/// Gathers all batches, each announced or prefetched a number of batches ahead.
class Replay {
 public:
  explicit Replay(const std::vector<std::vector<RowId>>& batches) : batches_{batches} {}

  std::size_t announced_ahead = 0, prefetched_ahead = 0;

  [[nodiscard]] TableStatistics with(std::unique_ptr<RowPolicy> policy) const {
    const Runtime runtime{{.tiers = {tiers::dram(16_MiB), tiers::emulated("cxl", 16_MiB)}}};
    TableOptions options;
    options.rows = rows;
    options.dim = dim;
    options.slots = slots;
    options.policy = std::move(policy);
    RowTable<float> table{std::make_shared<TableContext>(runtime.manager(), 1), std::move(options)};
    std::vector<BatchId> announced;
    std::vector<float> out;
    std::size_t prefetched = 0;
    for (std::size_t i = 0; i < batches_.size(); ++i) {
      const auto end = [&](std::size_t ahead) { return std::min(batches_.size(), i + ahead + 1); };
      if (announced_ahead > 0)
        while (announced.size() < end(announced_ahead))
          announced.push_back(table.announce(batches_[announced.size()]));
      for (; prefetched_ahead > 0 && prefetched < end(prefetched_ahead); ++prefetched)
        table.prefetch(announced[prefetched]);
      table.settle();
      out.resize(batches_[i].size() * dim);
      table.gather(batches_[i], out);
    }
    return table.statistics();
  }

 private:
  const std::vector<std::vector<RowId>>& batches_;
};

}  // namespace

TEST_CASE("on the bags of a bookseller, policies have the hit rates that are known of them" *
          doctest::test_suite("data")) {
  const auto data = sample::data_folder();
  if (!data) return;
  const auto batches = batches_of(*data / "interactions/amazon_book_bags.txt");
  std::vector<RowId> all;
  for (const auto& batch : batches) all.insert(all.end(), batch.begin(), batch.end());
  REQUIRE(all.size() == 603'378);

  const auto share = [&](const Replay& replay, const std::string& name, std::unique_ptr<RowPolicy> policy) {
    const auto statistics = replay.with(std::move(policy));
    MESSAGE(name << ", announced " << replay.announced_ahead << " and prefetched " << replay.prefetched_ahead
                 << " batches ahead: fast share " << statistics.fast_share());
    CHECK(statistics.asked == all.size());
    return statistics.fast_share();
  };
  Replay replay{batches};
  CHECK(std::abs(share(replay, "lru", make_row_policy("lru")) - 0.223) < 0.001);
  const auto optimum = share(replay, "belady", make_belady_rows(all));
  CHECK(std::abs(optimum - 0.521) < 0.001);

  for (const auto ahead : {8, 32, 128}) {
    replay.announced_ahead = ahead;
    for (const auto prefetched : {0, 1}) {
      replay.prefetched_ahead = prefetched;
      const auto reached = share(replay, "hint_aware", make_row_policy("hint_aware"));
      CHECK(reached <= optimum);
      // The progress of background work at the end of a batch varies from run to run.
      CHECK(reached >= (ahead < 32 ? 0.48 : 0.5) - (prefetched == 0 ? 0 : 0.03));
    }
  }
}

}  // namespace interactions_test
