// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Question: what does it cost to move memory whose addresses stay, beyond the copy of its bytes?
#include <tier/core/error.hpp>
#include <tier/pmr/container_scopes.hpp>
#include <tier/pmr/migrating_resource.hpp>
#include <tier/runtime/runtime.hpp>
#include <tier/scope/hints.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <memory_resource>
#include <numeric>
#include <thread>
#include <vector>

#include "harness/engine_copies.hpp"
#include "harness/node_pages.hpp"
#include "harness/rows.hpp"
#include "random.hpp"

namespace tier::bench {
namespace {

using namespace literals;

using Words = std::pmr::vector<std::uint64_t>;

/// A thread that reads here and there, all the time, and finds what was written.
class Reader {
 public:
  /// \param wrong  set if it finds anything else
  Reader(const std::uint64_t* words, std::size_t count, std::atomic<bool>& wrong)
      : thread_{[words, count, &wrong](const std::stop_token& stop) {
          Random random{1};
          while (!stop.stop_requested()) {
            const auto i = random.below(count);
            if (std::atomic_ref{const_cast<std::uint64_t&>(words[i])}.load(std::memory_order_relaxed) != i)
              wrong = true;
          }
        }} {}

 private:
  std::jthread thread_;
};

/// The same bytes between two ranges, by the engine that migrations use.
class PlainCopies {
 public:
  PlainCopies(std::size_t size, unsigned threads)
      : size_{size},
        one_{make_tier(tiers::dram(Bytes{size}))},
        other_{make_tier(tiers::dram(Bytes{size}))},
        engine_{{.threads = threads, .movers = 0}} {
    auto* const words = reinterpret_cast<std::uint64_t*>(one_->base());
    std::iota(words, words + size / sizeof(*words), 0);
    there_and_back();  // now the other has them, too
  }
  [[nodiscard]] const std::uint64_t* words() const { return reinterpret_cast<std::uint64_t*>(one_->base()); }
  void there_and_back() {
    copy(*one_, *other_);
    copy(*other_, *one_);
  }

 private:
  void copy(Tier& from, Tier& to) { run_copy(engine_, {&to, 0}, {&from, 0}, size_); }

  std::size_t size_;
  std::unique_ptr<Tier> one_, other_;
  CopyEngine engine_;
};

/// What a move interrupts: each CPU that runs a thread of the program.
struct Others {
  const char* what;
  bool read;
  unsigned threads;  ///< that copy; 0: the machine's
};
constexpr Others a_reader{"while another thread reads it", true, 0};
constexpr Others nobody{"with no CPU to interrupt", false, 1};

Row row(Bytes size, const Others& others) {
  Runtime runtime{{.tiers = {tiers::dram(size + 64_MiB), tiers::dram(size + 64_MiB)},
                   .policy = "first_touch",
                   .threads = others.threads,
                   .windows = WindowMode::Full}};
  MigratingResource memory{runtime};
  Words words(size.count / sizeof(std::uint64_t), &memory);
  std::iota(words.begin(), words.end(), 0);
  PlainCopies plain{size.count, others.threads};
  const auto moved = [&] {
    const auto statistics = runtime.statistics();
    return std::min(statistics.bytes_moved(0, 1), statistics.bytes_moved(1, 0));
  };
  const auto before = moved();
  constexpr int repeats = 31;
  std::atomic<bool> wrong = false;
  std::unique_ptr<Reader> reader;
  const auto pair = time_pair(
      [&] {
        migrate(words, 1);
        migrate(words, 0);
      },
      [&] { plain.there_and_back(); }, repeats,
      [&](Side side) {
        if (!others.read) return;
        reader =
            std::make_unique<Reader>(side == Side::Ours ? words.data() : plain.words(), words.size(), wrong);
      });
  reader.reset();
  const bool all_moved = moved() - before >= repeats * size.count;
  if (wrong) std::puts("window.migrate: a reader has seen what was not there");
  if (!all_moved) std::puts("window.migrate: some blocks stayed where they were");
  return timed_row({.id = "window.migrate",
                    .what = to_human(size) + ", there and back, " + others.what,
                    .unit = "ms",
                    .baseline = "our copy of as many bytes",
                    .reach = "<= 1.10"},
                   pair, 1e3, [&](const Row& r) { return all_moved && !wrong && r.ratio <= 1.10; });
}

/// For comparison, without a mark: the same bytes as the kernel moves them, whose pages are given back and taken anew.
void print_kernels_ways(Bytes size) {
  const auto nodes = memory_nodes();
  if (nodes.size() < 2)
    return void(std::puts(
        "window.migrate: the kernel's ways are skipped: this process may have memory of one node only"));
  const auto print = [&](const char* call, auto&& move) {
    try {
      move(nodes[1], nodes[0]);
      const auto pair = time_pair(
          [&] {
            move(nodes[0], nodes[1]);
            move(nodes[1], nodes[0]);
          },
          [] {});
      std::printf("window.migrate: %s, there and back by %s: %.3f ms, spread %.2f\n", to_human(size).c_str(),
                  call, pair.ours.median() * 1e3, pair.ours.spread());
    } catch (const TierError& error) {
      std::printf("window.migrate: %s skipped: %s\n", call, error.what());
    }
  };
  NodePages pages{size, PageKind::Huge, nodes[0]};
  print("move_pages(2)", [&](unsigned, unsigned to) { pages.move_pages(to); });
  print("mbind(2)", [&](unsigned, unsigned to) { pages.mbind(to); });
  print("migrate_pages(2), with all else of the process", migrate_pages);
}

std::vector<Row> window_migrate() {
  try {
    print_kernels_ways(256_MiB);
  } catch (const TierError& error) {
    std::printf("window.migrate: the kernel's ways are skipped: %s\n", error.what());
  }
  // Without full windows they fail, and say why. The last shows what interrupting others costs.
  return {row(16_MiB, a_reader), row(64_MiB, a_reader), row(256_MiB, a_reader), row(64_MiB, nobody)};
}

const bool registered = add_rows("window.migrate", window_migrate);

}  // namespace
}  // namespace tier::bench
