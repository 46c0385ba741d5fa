// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Tables over a fork. Each test forks in its own process.
#include "support/child.hpp"
#include "support/failing_io.hpp"
#include "table/rig.hpp"

#include <tier/core/error.hpp>
#include <tier/runtime/runtime.hpp>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace tier::fork_test {

using namespace tier::test;

namespace {

constexpr RowId rows = 6000;
constexpr std::size_t dim = 8;
const std::vector<RowId> cached{1, 2, 3, 3, 40}, absent{5000, 5001};

enum class Slow { File, Mapped, Emulated };

TierSpec slow_tier(Slow slow) {
  if (slow == Slow::File) return tiers::file("/var/tmp", 8_MiB);
  return slow == Slow::Mapped ? tiers::mapped("/var/tmp", 8_MiB) : tiers::emulated("cxl", 8_MiB);
}

TableOptions options(std::uint64_t slots, std::string_view policy = "hint_aware") {
  TableOptions options;
  options.rows = rows;
  options.dim = dim;
  options.state_columns = 1;
  options.slots = slots;
  options.policy = row_policy(policy);
  options.name = "clicks";
  options.sample = 64;
  options.initial = [](RowId row, std::span<float> values) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = first_value(row, i);
  };
  return options;
}

/// Returns the message of the `TierError` that `f` throws, or nothing.
template <class F>
std::string error_of(const F& f) {
  try {
    f();
  } catch (const TierError& error) {
    return error.code() == std::errc::operation_not_permitted ? error.what() : "";
  }
  return "";
}
bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// \return  the result of `child` in the child of a fork; false, and a line on standard error, if the child
///          ended in any other way
template <class F>
bool forked(const F& child) {
  const auto pid = ::fork();
  if (pid == 0) std::_Exit(child() ? 7 : 8);
  int status = 0;
  const auto ended = ::waitpid(pid, &status, 0);
  const bool good = ended == pid && WIFEXITED(status) && WEXITSTATUS(status) == 7;
  if (!good) std::fprintf(stderr, "the child ended with status %d, waitpid() gave %d\n", status, ended);
  return good;
}

/// Makes all calls that a child may make on a table; the rows in `cached` are cached, those in `absent` are not.
bool works_in_child(RowTable<float>& table, PlainTable plain) {
  const std::vector<float> gradients(cached.size() * dim, 0.5F);
  table.update(cached, gradients, RowWiseAdagrad{});
  plain.update(cached, gradients, RowWiseAdagrad{});
  const std::vector<float> values(dim, 9.0F);
  table.scatter(std::vector<RowId>{2}, values);
  plain.scatter({2}, values);
  bool good = same_bits(gather(table, cached), plain.gather(cached));

  const auto cannot_reach = [](const std::string& error) {
    return contains(error, "the child of a fork cannot reach table 'clicks' row ");
  };
  auto mixed = cached;
  mixed.insert(mixed.end(), absent.begin(), absent.end());
  const std::vector<float> more(mixed.size() * dim, 1.0F);
  good = good && cannot_reach(error_of([&] { gather(table, mixed); }));
  good = good && cannot_reach(error_of([&] { table.update(mixed, more, Sgd{1}); }));
  good = good && cannot_reach(error_of([&] { table.scatter(mixed, more); }));
  good = good && cannot_reach(error_of([&] { all_rows(table); }));
  good = good &&
         contains(error_of([&] { table.flush(); }), "table 'clicks' is not possible in the child of a fork");
  table.prefetch(absent);  // a hint, which may be ignored
  table.settle();
  return good && same_bits(gather(table, cached), plain.gather(cached));
}

}  // namespace

TEST_CASE("in the child of a fork cached rows are private memory, and nothing of the parent's is touched") {
  for (const auto* policy : row_policies) {
    for (const auto slow : {Slow::File, Slow::Mapped, Slow::Emulated}) {
      const auto ended = run_in_child(policy + std::to_string(static_cast<int>(slow)), [&] {
        Runtime runtime{{.tiers = {tiers::dram(4_MiB), slow_tier(slow)}, .threads = 1}};
        auto context = std::make_shared<TableContext>(runtime.manager(), 2);
        std::optional<RowTable<float>> table{std::in_place, context, options(1000, policy)};
        PlainTable plain{rows, dim};
        const std::vector<float> gradients(cached.size() * dim, 0.25F);
        gather(*table, cached);
        table->settle();  // the rows are cached now
        table->update(cached, gradients, RowWiseAdagrad{});
        plain.update(cached, gradients, RowWiseAdagrad{});
        table->prefetch(std::vector<RowId>{1, 2, 60});  // starts its thread
        table->settle();

        const bool child_was_good = forked([&] {
          const bool good = works_in_child(*table, plain);
          table.reset();
          context.reset();
          { const Runtime gone{std::move(runtime)}; }
          return good;
        });
        table->flush();
        bool intact =
            same_bits(all_rows(*table), plain.values()) && same_bits(all_states(*table), plain.states());
        const auto before = table->statistics().prefetched_rows;
        table->prefetch(std::vector<RowId>{60, 5000, 5001});
        table->settle();
        if (!row_policy(policy)->uses_in_place())
          intact = intact && table->statistics().prefetched_rows > before;
        table->check_invariants();
        std::fprintf(stderr, "child %s, parent %s", child_was_good ? "good" : "bad",
                     intact ? "intact" : "broken");
        table.reset();
        context.reset();
      });
      CAPTURE(policy);
      CAPTURE(static_cast<int>(slow));
      CHECK(contains(ended.errors, "child good, parent intact"));
      CHECK(ended.code == 0);
    }
  }
}

TEST_CASE("in the child of a fork a whole table is private memory") {
  const auto ended = run_in_child("whole", [] {
    Runtime runtime{{.tiers = {tiers::dram(4_MiB), slow_tier(Slow::File)}, .threads = 1}};
    std::optional<RowTable<float>> table{std::in_place, std::make_shared<TableContext>(runtime.manager(), 2),
                                         options(rows)};
    PlainTable plain{rows, dim};
    std::vector<RowId> ids(20000);  // enough for two threads
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<RowId>(i * 7 % rows);
    const std::vector<float> gradients(ids.size() * dim, 0.25F);
    gather(*table, ids);
    const bool child_was_good = forked([&] {
      table->update(ids, gradients, RowWiseAdagrad{});
      plain.update(ids, gradients, RowWiseAdagrad{});
      const bool good = same_bits(gather(*table, ids), plain.gather(ids));
      table->flush();
      table.reset();
      { const Runtime gone{std::move(runtime)}; }
      return good;
    });
    const bool intact = same_bits(all_rows(*table), plain.values());
    std::fprintf(stderr, "child %s, parent %s", child_was_good ? "good" : "bad",
                 intact ? "intact" : "broken");
    table.reset();
  });
  CHECK(contains(ended.errors, "child good, parent intact"));
  CHECK(ended.code == 0);
}

TEST_CASE("a row that was stuck in staging when the process forked is not written by the child") {
  const auto ended = run_in_child("staging", [] {
    auto slow = slow_tier(Slow::Emulated);
    const auto io = std::make_shared<FailingIo>(FailingIo::What::Writes);
    slow.faults = io;
    Runtime runtime{{.tiers = {tiers::dram(4_MiB), slow}, .threads = 1}};
    std::optional<RowTable<float>> table{std::in_place, runtime.manager(), options(2, "first_touch")};
    PlainTable plain{rows, dim};
    gather(*table, {1, 2});
    const std::vector<float> one(dim, 1.0F);
    io->fail_range(0, FailingIo::never);
    table->scatter(std::vector<RowId>{7}, one);  // by staging, which it cannot leave
    plain.scatter({7}, one);
    io->heal();
    const bool child_was_good = forked([&] {
      const std::vector<float> two(dim, 2.0F);
      const auto before = io->seen();
      table->scatter(std::vector<RowId>{7}, two);
      const bool good = gather(*table, {7}) == two && io->seen() == before;
      table.reset();
      { const Runtime gone{std::move(runtime)}; }
      return good;
    });
    table->flush();
    const bool intact = same_bits(all_rows(*table), plain.values());
    std::fprintf(stderr, "child %s, parent %s", child_was_good ? "good" : "bad",
                 intact ? "intact" : "broken");
    table.reset();
  });
  CHECK(contains(ended.errors, "child good, parent intact"));
  CHECK(ended.code == 0);
}

TEST_CASE("forks while other threads gather, update and prefetch find every table at rest") {
  if (address_sanitized) {  // its allocator's locks are not fork-safe: a child hangs
    MESSAGE("skipped: the child of a fork cannot allocate under AddressSanitizer while other threads do");
    return;
  }
  const auto ended = run_in_child("busy", [] {
    Runtime runtime{{.tiers = {tiers::dram(4_MiB), slow_tier(Slow::File)}, .threads = 1}};
    std::optional<RowTable<float>> table{std::in_place, std::make_shared<TableContext>(runtime.manager(), 2),
                                         options(1000)};
    const PlainTable plain{rows, dim};
    std::atomic<bool> done{false};
    std::atomic<int> wrong{0};
    const auto gathers = [&](RowId step) {  // even rows; updates change odd ones
      for (RowId i = 0; !done; i += step) {
        const std::vector<RowId> ids{i * 2 % rows, i * 14 % rows, i * 62 % rows};
        if (!same_bits(gather(*table, ids), plain.gather(ids))) ++wrong;
        if (i % 4 == 0) table->cancel(table->prefetch(std::vector<RowId>{i * 3 % rows, i * 5 % rows}));
      }
    };
    const auto updates = [&] {
      const std::vector<float> nothing(3 * dim, 0.0F);
      for (RowId i = 0; !done; ++i) {
        table->update(std::vector<RowId>{(i * 22 + 1) % rows, (i * 26 + 1) % rows, 5}, nothing, Sgd{1});
        if (i % 16 == 0) table->flush();
      }
    };
    std::thread first{gathers, 1}, second{gathers, 3}, third{updates};
    int good = 0;
    for (int i = 0; i < 20; ++i)
      good += forked([&] {
        table->check_invariants();
        int right = 0, unreachable = 0;
        for (RowId row = 0; row < rows; ++row) {
          try {
            right += same_bits(gather(*table, {row}), plain.gather({row})) ? 1 : 0;
          } catch (const TierError&) {
            ++unreachable;
          }
        }
        table.reset();
        { const Runtime gone{std::move(runtime)}; }
        const bool good_child = right + unreachable == static_cast<int>(rows) && unreachable > 0;
        if (!good_child) std::fprintf(stderr, "%d rows right, %d not reachable\n", right, unreachable);
        return good_child;
      });
    done = true;
    first.join();
    second.join();
    third.join();
    table->settle();  // a batch may be cancelled while rows of it are on their way
    table->flush();
    table->check_invariants();
    const bool intact = wrong == 0 && same_bits(all_rows(*table), plain.values());
    std::fprintf(stderr, "%d good, parent %s", good, intact ? "intact" : "broken");
    table.reset();
  });
  CAPTURE(ended.errors);
  CHECK(contains(ended.errors, "20 good, parent intact"));
  CHECK(ended.code == 0);
}

}  // namespace tier::fork_test
