// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Question: what does moving memory with constant addresses cost, beyond the copy of its bytes?
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
#include <string>
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

/// A thread that reads random words all the time and checks what it finds.
class Reader {
 public:
  /// \param wrong  set if a word differs
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

/// Copies the same bytes between two ranges with the engine that migrations use.
class PlainCopies {
 public:
  PlainCopies(std::size_t size, unsigned threads)
      : size_{size},
        one_{make_tier(tiers::dram(Bytes{size}))},
        other_{make_tier(tiers::dram(Bytes{size}))},
        engine_{{.threads = threads, .movers = 0}} {
    auto* const words = reinterpret_cast<std::uint64_t*>(one_->base());
    std::iota(words, words + size / sizeof(*words), 0);
    there_and_back();  // fills the other range, too
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

/// The CPUs that a move has to interrupt: each that runs a thread of the program.
struct Others {
  const char* what;
  bool read;
  unsigned threads;  ///< copy threads; 0: the machine's default
};
constexpr Others a_reader{"while another thread reads it", true, 0};
constexpr Others nobody{"with no CPU to interrupt", false, 1};

/// Words in a window over two tiers, on two nodes if there are several.
class Moving {
 public:
  Moving(Bytes size, unsigned threads)
      : runtime_{{.tiers = tiers_of(size + 64_MiB),
                  .policy = "first_touch",
                  .threads = threads,
                  .windows = WindowMode::Full}},
        words_(size.count / sizeof(std::uint64_t), &memory_) {
    std::iota(words_.begin(), words_.end(), 0);
  }
  [[nodiscard]] const Words& words() const { return words_; }
  void there_and_back() {
    migrate(words_, 1);
    migrate(words_, 0);
    ++times_;
  }
  /// True if all words have moved each time.
  [[nodiscard]] bool all_moved() const {
    const auto statistics = runtime_.statistics();
    const auto bytes = std::min(statistics.bytes_moved(0, 1), statistics.bytes_moved(1, 0));
    return bytes >= times_ * words_.size() * sizeof(std::uint64_t);
  }

 private:
  static std::vector<TierSpec> tiers_of(Bytes size) {
    const auto nodes = memory_nodes();
    if (nodes.size() < 2) return {tiers::dram(size), tiers::dram(size)};
    return {tiers::numa(std::to_string(nodes[0]), size), tiers::numa(std::to_string(nodes[1]), size)};
  }

  Runtime runtime_;
  MigratingResource memory_{runtime_};
  Words words_;
  std::uint64_t times_ = 0;
};

Row row(Bytes size, const Others& others) {
  Moving moving{size, others.threads};
  PlainCopies plain{size.count, others.threads};
  constexpr int repeats = 31;
  std::atomic<bool> wrong = false;
  std::unique_ptr<Reader> reader;
  const auto pair = time_pair([&] { moving.there_and_back(); }, [&] { plain.there_and_back(); }, repeats,
                              [&](Side side) {
                                if (!others.read) return;
                                const auto& words = moving.words();
                                reader = std::make_unique<Reader>(
                                    side == Side::Ours ? words.data() : plain.words(), words.size(), wrong);
                              });
  reader.reset();
  const bool all_moved = moving.all_moved();
  if (wrong) std::puts("window.migrate: a reader has seen what was not there");
  if (!all_moved) std::puts("window.migrate: some blocks stayed where they were");
  return timed_row({.id = "window.migrate",
                    .what = to_human(size) + ", there and back, " + others.what,
                    .unit = "ms",
                    .baseline = "our copy of as many bytes",
                    .reach = "<= 1.10"},
                   pair, 1e3, [&](const Row& r) { return all_moved && !wrong && r.ratio <= 1.10; });
}

/// Measures the kernel's own ways between nodes, which free and allocate pages, alternating with ours; not so for
/// `migrate_pages`, which would move our memory, too.
std::vector<Row> rows_between_nodes(Bytes size) {
  const auto nodes = memory_nodes();
  if (nodes.size() < 2) {
    std::puts("window.migrate: the kernel's ways are skipped: this process may have memory of one node only");
    return {};
  }
  std::vector<Row> rows;
  const auto skipped = [](const char* call, const TierError& error) {
    std::printf("window.migrate: %s skipped: %s\n", call, error.what());
  };
  NodePages pages{size, PageKind::Huge, nodes[0]};
  const auto hold_against = [&](const char* call, auto&& move) {
    try {
      const auto there_and_back = [&] {
        move(nodes[1]);
        move(nodes[0]);
      };
      there_and_back();
      Moving moving{size, 0};
      const auto pair = time_pair([&] { moving.there_and_back(); }, there_and_back);
      const bool all_moved = moving.all_moved();
      rows.push_back(timed_row({.id = "window.migrate",
                                .what = to_human(size) + ", there and back between two nodes",
                                .unit = "ms",
                                .baseline = call,
                                .reach = "<= 1.00"},
                               pair, 1e3, [&](const Row& r) { return all_moved && r.ratio <= 1; }));
    } catch (const TierError& error) {
      skipped(call, error);
    }
  };
  hold_against("move_pages(2)", [&](unsigned to) { pages.move_pages(to); });
  hold_against("mbind(2)", [&](unsigned to) { pages.mbind(to); });
  try {
    const auto pair = time_pair(
        [&] {
          migrate_pages(nodes[0], nodes[1]);
          migrate_pages(nodes[1], nodes[0]);
        },
        [] {});
    std::printf(
        "window.migrate: %s, there and back by migrate_pages(2), with all else of the process: %.3f ms, "
        "spread %.2f\n",
        to_human(size).c_str(), pair.ours.median() * 1e3, pair.ours.spread());
  } catch (const TierError& error) {
    skipped("migrate_pages(2)", error);
  }
  return rows;
}

std::vector<Row> window_migrate() {
  std::vector<Row> rows;
  try {
    rows = rows_between_nodes(256_MiB);
  } catch (const TierError& error) {
    std::printf("window.migrate: the kernel's ways are skipped: %s\n", error.what());
  }
  // Without full windows they fail with a reason. The last row shows the cost of interrupting others.
  for (const auto& one :
       {row(16_MiB, a_reader), row(64_MiB, a_reader), row(256_MiB, a_reader), row(64_MiB, nobody)})
    rows.push_back(one);
  return rows;
}

const bool registered = add_rows("window.migrate", window_migrate);

}  // namespace
}  // namespace tier::bench
