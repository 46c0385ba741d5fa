// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Question: with a tenth of the DLRM's tables in memory and the rest in a file, what limits the speed of learning? And how
// would the operating system's paging do with the same memory?
#include "harness/disk_rates.hpp"
#include "harness/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "dlrm/allowance.hpp"
#include "dlrm_model/plain_memory.hpp"
#include "dlrm_model/tiered_memory.hpp"
#include "large_task.hpp"

namespace tier::bench {
namespace {

using namespace tier::literals;

// Deep enough for the disk to reach its full rate.
constexpr unsigned depth = 64;
constexpr Bytes block{4096};
constexpr std::size_t most_to_fill = 30;

std::string folder() {
  const char* const named = std::getenv("TIER_BENCH_DIR");
  return named != nullptr ? named : ".";
}

struct Moved {
  Bytes read, written;
};
Moved moved(const dlrm::TieredMemory& memory) {
  const auto bytes = memory.traffic().bytes_moved;
  const auto of = [&](const char* tiers) { return bytes.contains(tiers) ? Bytes{bytes.at(tiers)} : Bytes{}; };
  return {of("file>dram"), of("dram>file")};
}

/// Compares learning with its bound: the longer of the time on plain memory, alternating, and the mean time that the disk
/// takes for the blocks of one turn.
Row against_bound() {
  LargeTask task{32};
  const auto tables = bytes_of_tables(task.model);
  dlrm::TieredMemory tiered_memory{{.fast = {tables.count / 10},
                                    .slow = tiers::file(folder(), tables / 4 * 5),
                                    .threads = static_cast<unsigned>(omp_get_max_threads())},
                                   task.model};
  dlrm::PlainMemory plain_memory;
  dlrm::Dlrm tiered{tiered_memory, task.model};
  dlrm::Dlrm plain{plain_memory, task.model};
  const auto ours = [&] { learn(tiered, task.batches(Side::Ours)); };
  const auto theirs = [&] { learn(plain, task.batches(Side::Baseline)); };
  const auto learn_both = [&] {
    task.read(Side::Ours);
    ours();
    task.read(Side::Baseline);
    theirs();
  };
  // Runs until all slots are in use, so that each fetched row evicts another.
  auto before = moved(tiered_memory);
  for (std::size_t i = 0; i < most_to_fill; ++i) {
    const auto last = std::exchange(before, (learn_both(), moved(tiered_memory)));
    if (6 * (before.written - last.written).count >= (before.read - last.read).count) break;
  }
  before = moved(tiered_memory);
  std::size_t turns = 0;
  const Pair pair = time_pair(ours, theirs, 9, [&](Side side) {
    turns += side == Side::Ours;
    task.read(side);
  });
  const auto after = moved(tiered_memory);
  const Bytes read = after.read - before.read, written = after.written - before.written;
  const auto rates = measure_disk(folder(), mix_of(read, written, block, depth));
  const double moving = seconds_for(rates, read, written) / static_cast<double>(turns);
  const double learning = pair.ours.median(), computing = pair.baseline.median();
  const double bound = std::max(computing, moving);
  const double samples = static_cast<double>(batches_in_sample * task.model.batch);
  fmt::print(
      stderr,
      "learning {:.2f} s; on plain memory {:.2f} s; {} read and {} written in {} turns, each of which the "
      "disk, {:.0f} MB/s and {:.0f} MB/s at once, does in {:.2f} s\n",
      learning, computing, to_human(read), to_human(written), turns, rates.read * 1e-6, rates.write * 1e-6,
      moving);
  return checked_row(
      {.id = "dlrm.10pct.file",
       .what = "training with 4 GB of tables, a tenth fast, the rest in a file; ratio of times",
       .value = samples / learning,
       .unit = "samples/s",
       .baseline = moving > computing ? "the disk's rate for the blocks" : "plain memory",
       .baseline_value = samples / bound,
       .ratio = learning / bound,
       .reach = "<= 1.2",
       .reached = learning <= 1.2 * bound},
      pair);
}

/// Compares learning under a memory limit with the operating system's paging under the same limit.
std::vector<Row> against_paging() {
  const auto options = dlrm::parse_options(
      {"--limited", "--table-bytes", "4GB", "--samples", "200000", "--fast", "10%", "--slow",
       "file:" + folder() + ":5GB", "--paging-seconds", "60", "--reserve", "48MB"},
      std::cout);
  const auto log = make_log(*options);
  const std::atomic<bool> stop{false};
  const dlrm::Allowance allowance{make_experiment(*options, *log), stop, TIER_DLRM};
  const auto ours = allowance.run({"tiered", options->fast});
  std::vector<Row> rows;
  for (const auto& variant : allowance.os_paging(options->fast).variants) {
    const double ratio = ours.samples_per_s / variant.samples_per_s;
    const double mark = variant.name == "os_paging_random" ? 3 : 1.5;
    rows.push_back({.id = "dlrm.10pct.file",
                    .what = "training with 4 GB of tables in a file, " +
                            to_human(allowance.limit(options->fast)) + " of memory for the whole program",
                    .value = ours.samples_per_s,
                    .unit = "samples/s",
                    .baseline = variant.name,
                    .baseline_value = variant.samples_per_s,
                    .ratio = ratio,
                    .reach = fmt::format(">= {}", mark),
                    .reached = ratio >= mark});
  }
  return rows;
}

std::vector<Row> dlrm_in_a_file() {
  auto rows = against_paging();
  rows.push_back(against_bound());
  return rows;
}

const bool registered = add_rows("dlrm.10pct.file", dlrm_in_a_file);

}  // namespace
}  // namespace tier::bench
