// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Errors that a program gets for a row that its device cannot read or write; other rows are unaffected.
#include "support/failing_io.hpp"
#include "support/temporary_directory.hpp"
#include "table/plain_table.hpp"

#include <tier/core/error.hpp>
#include <tier/runtime/row_policies.hpp>
#include <tier/runtime/runtime.hpp>
#include <tier/table/row_table.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tier::row_errors_test {

using namespace tier::test;

namespace {

constexpr RowId rows = 150, bad_row = 77;
constexpr std::size_t dim = 1023;  // with its state a row fills one block of a file
constexpr std::size_t row_bytes = (dim + 1) * sizeof(float);
constexpr std::uint64_t slots = 20;

/// Keeps a table on a device that fails where the test says, and the table's model.
class World {
 public:
  World(TierSpec slow, std::string_view policy, FailingIo::What fails)
      : io_{std::make_shared<FailingIo>(fails)}, runtime_{options(std::move(slow), io_)} {
    TableOptions options;
    options.rows = rows;
    options.dim = dim;
    options.state_columns = 1;
    options.slots = slots;
    options.policy = make_row_policy(policy);
    options.name = "clicks";
    options.initial = [](RowId row, std::span<float> values) {
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = first_value(row, i);
    };
    table_.emplace(runtime_.manager(), std::move(options));
  }

  [[nodiscard]] RowTable<float>& table() { return *table_; }
  [[nodiscard]] FailingIo& io() { return *io_; }
  void break_row(RowId row) {
    const auto offset = io_->first_offset() + row * row_bytes;
    io_->fail_range(offset, offset + row_bytes);
  }
  void update(const std::vector<RowId>& ids) {
    const std::vector<float> gradients(ids.size() * dim, 0.5F);
    table_->update(ids, std::span<const float>{gradients}, RowWiseAdagrad{});
    plain.update(ids, gradients, RowWiseAdagrad{});
  }

  PlainTable plain{rows, dim};

 private:
  static RuntimeOptions options(TierSpec slow, std::shared_ptr<IoFaults> faults) {
    slow.faults = std::move(faults);
    return {.tiers = {tiers::dram(8_MiB), std::move(slow)}, .threads = 2};
  }

  std::shared_ptr<FailingIo> io_;
  Runtime runtime_;
  std::optional<RowTable<float>> table_;
};

std::vector<RowId> range(RowId first, RowId last) {
  std::vector<RowId> ids(last - first);
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// Calls `f`, which must throw an error of this kind.   \return  the error
template <class Error, class F>
Error error_of(const F& f) {
  try {
    f();
  } catch (const Error& error) {
    return error;
  }
  FAIL("nothing was thrown");
  std::abort();
}

/// Calls `test` with a table on a file and with one on addressable memory, under each row policy.
template <class Test>
void for_each_world(FailingIo::What fails, const Test& test) {
  const TemporaryDirectory directory;
  for (const auto& slow : {tiers::file(directory.path(), 4_MiB), tiers::emulated("cxl", 4_MiB)}) {
    for (const std::string_view policy : {"hint_aware", "lfu", "lru", "first_touch"}) {
      CAPTURE(policy);
      CAPTURE(static_cast<int>(slow.kind));
      World world{slow, policy, fails};
      test(world, slow.kind == TierKind::File ? "file" : "emulated:cxl");
    }
  }
}

}  // namespace

TEST_CASE(
    "a row that cannot be read is named, with its table and tier, to all who ask for it, and to no others") {
  for_each_world(FailingIo::What::Both, [](World& world, const std::string& tier) {
    auto& table = world.table();
    world.break_row(bad_row);
    std::vector<float> out(dim);
    const std::vector<RowId> bad{bad_row};
    const auto check = [&](const auto& f) {
      const auto error = error_of<TierError>(f);
      CHECK(contains(error.what(), "cannot read table 'clicks' row 77 in tier " + tier + ":"));
      CHECK(error.code() == std::errc::io_error);
    };
    check([&] { table.gather(bad, out); });
    check([&] { gather(table, range(0, rows)); });
    check([&] { world.update(bad); });
    check([&] { table.read_rows(bad_row, out); });
    table.prefetch(range(70, 80));  // an error goes to the caller that needs the row
    table.settle();
    check([&] { table.gather(bad, out); });
    CHECK(table.statistics().read_errors >= 5);

    auto others = range(0, rows);
    others.erase(others.begin() + bad_row);
    world.update(others);
    CHECK(same_bits(gather(table, others), world.plain.gather(others)));
    world.io().heal();
    CHECK(is(table, world.plain));
    world.update(bad);
    table.flush();
    CHECK(is(table, world.plain));
    table.check_invariants();
  });
}

TEST_CASE(
    "a row that cannot be written back is named, with its table and tier, and kept; all others go home") {
  for_each_world(FailingIo::What::Writes, [](World& world, const std::string& tier) {
    auto& table = world.table();
    const auto changed = range(bad_row - 5, bad_row + 5);
    world.update(changed);
    world.break_row(bad_row);
    const auto error = error_of<TierError>([&] { table.flush(); });
    CHECK(contains(error.what(), "cannot write back table 'clicks' row 77 in tier " + tier + ":"));
    CHECK(error.code() == std::errc::io_error);
    CHECK(table.statistics().written_rows == changed.size() - 1);
    CHECK(same_bits(gather(table, changed), world.plain.gather(changed)));
    for (RowId first = 0; first + 30 < bad_row; first += 30) world.update(range(first, first + 30));
    CHECK(same_bits(gather(table, changed), world.plain.gather(changed)));  // other rows did not replace them
    CHECK_THROWS_AS(table.flush(), TierError);

    world.io().heal();
    table.flush();
    CHECK(is(table, world.plain));
    table.check_invariants();
  });
}

TEST_CASE("when the disk takes no changed rows the table says so when it has no slot left, and loses none") {
  for_each_world(FailingIo::What::Writes, [](World& world, const std::string& tier) {
    auto& table = world.table();
    const auto cached = range(0, slots), more = range(50, 100);
    world.update(cached);
    world.io().fail_range(0, FailingIo::never, std::errc::no_space_on_device);
    const std::vector<float> gradients(more.size() * dim, 0.5F);
    auto after = world.plain;
    after.update(more, gradients, RowWiseAdagrad{});
    const auto error = error_of<OutOfTierMemory>(
        [&] { table.update(more, std::span<const float>{gradients}, RowWiseAdagrad{}); });
    CAPTURE(error.what());
    CHECK(contains(error.what(), "table 'clicks' has no slot left in tier dram: "));
    CHECK(contains(error.what(), " of its 20 slots and "));
    CHECK(contains(error.what(),
                   "hold rows that tier " + tier + " does not take back (No space left on device)"));
    CHECK(error.cause() == std::errc::no_space_on_device);
    CHECK(same_bits(gather(table, cached), world.plain.gather(cached)));
    CHECK_THROWS_AS(table.flush(), TierError);

    world.io().heal();
    table.flush();
    CHECK(is_between(table, world.plain, after));  // the update may have stopped half way
    world.update(more);
    table.flush();
    CHECK(is(table, world.plain));
    table.check_invariants();
  });
}

}  // namespace tier::row_errors_test
