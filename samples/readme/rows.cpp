// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/runtime/row_policies.hpp>
#include <tier/runtime/runtime.hpp>
#include <tier/table/row_table.hpp>

#include <cstdint>
#include <cstdio>
#include <vector>
using namespace tier::literals;
using tier::tiers::dram, tier::tiers::file;

int main() {
  tier::Runtime runtime{{.tiers = {dram(64_MiB), file("/var/tmp", 1_GiB)}}};
  tier::TableOptions options;
  options.rows = 1'000'000;  // of 64 floats and the sum of squares that row-wise Adagrad keeps: 260 MB
  options.dim = 64;
  options.state_columns = 1;
  options.budget = 26_MiB;  // a tenth of them in fast memory
  options.policy = tier::make_row_policy("hint_aware");
  tier::RowTable<float> table{runtime.manager(), std::move(options)};

  std::vector<std::vector<tier::RowId>> batches(20);
  for (std::uint32_t i = 0; i < 20'000; ++i) batches[i / 1000].push_back(i * 2654435761U % 1'000'000);
  table.prefetch(batches[0]);
  std::vector<float> rows(1000 * 64), gradients(rows.size(), 1.0F);
  for (std::size_t i = 0; i < batches.size(); ++i) {
    if (i + 1 < batches.size()) table.prefetch(batches[i + 1]);  // comes while this one is learned from
    auto batch = table.batch(batches[i]);                        // its rows stay until its end
    batch.gather(rows);
    batch.update(gradients, tier::RowWiseAdagrad{});
  }
  std::printf("%ju rows learned, in %.0f MB of fast memory instead of 260\n",
              std::uintmax_t{table.statistics().updated},
              static_cast<double>(table.fast_bytes().count) * 1e-6);
}
