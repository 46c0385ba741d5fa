// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  After any allocation or access fails, a table's rows are unchanged, or as the failed call makes them.
#include "failing_allocation.hpp"
#include "support/failing_io.hpp"
#include "support/memory_tier.hpp"
#include "support/sanitized.hpp"
#include "support/steps.hpp"
#include "support/test_manager.hpp"
#include "table/plain_table.hpp"

#include <tier/core/error.hpp>
#include <tier/runtime/row_policies.hpp>
#include <tier/table/row_table.hpp>

#include <doctest/doctest.h>

#include <array>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string_view>
#include <vector>

namespace tier::table_test {

using namespace tier::test;

namespace {

constexpr RowId rows = 200;
constexpr std::size_t dim = 8;

std::vector<RowId> ids_of(std::size_t count, RowId step) {
  std::vector<RowId> ids(count);
  for (std::size_t i = 0; i < count; ++i) ids[i] = static_cast<RowId>((i * step + i / 5) % rows);
  return ids;
}

/// Arguments of the calls, made before anything fails.
struct Arguments {
  std::vector<RowId> few{195, 150, 5, 151, 150, 180, 5, 10, 196, 12};  // fit in slots at once
  std::vector<RowId> many = ids_of(150, 7);                            // are more than there are slots
  std::vector<std::uint32_t> offsets{0, 5, 5, 60, 150};
  std::vector<float> gradients = std::vector<float>(many.size() * dim, 0.5F);
  std::vector<float> out = std::vector<float>(many.size() * dim);
};

std::span<const float> first(const std::vector<float>& floats, std::size_t ids) {
  return std::span{floats}.first(ids * dim);
}
std::span<float> first(std::vector<float>& floats, std::size_t ids) {
  return std::span{floats}.first(ids * dim);
}

struct Shape {
  std::string_view policy;
  bool device;            ///< the slow tier is reached by `transfer()`, and blocks move
  bool holds;             ///< rows are prefetched before the call; otherwise it starts the thread for that
  bool in_place = false;  ///< the CPU uses rows in place, unchecked: transfers alone fail
};
constexpr std::array shapes{Shape{"hint_aware", true, true},  Shape{"hint_aware", false, false},
                            Shape{"lru", true, false},        Shape{"first_touch", false, true},
                            Shape{"lfu", false, false, true}, Shape{"first_touch", false, false, true}};

/// Keeps a manager, a table on it, and the table's model.
class World {
 public:
  explicit World(const Shape& shape) : shape_{shape} {
    std::vector<std::unique_ptr<Tier>> tiers;
    tiers.push_back(std::make_unique<MemoryTier>(MemoryTierOptions{"fast", 1_MiB}));
    auto behind = std::make_unique<MemoryTier>(MemoryTierOptions{
        "slow", 1_MiB, std::chrono::nanoseconds{5000}, !shape.device, false, !shape.in_place});
    slow_ = behind.get();
    tiers.push_back(std::move(behind));
    manager_ =
        Manager::make(std::move(tiers), std::make_unique<FetchingPolicy>(), {.threads = 1, .yields = false});
    context_ = std::make_shared<TableContext>(manager_, 1);
  }

  /// \throws  what the table's constructor throws
  void construct() {
    TableOptions options;
    options.rows = rows;
    options.dim = dim;
    options.state_columns = 1;
    options.slots = 70;
    options.policy = make_row_policy(shape_.policy);
    options.name = "a name of some length";
    options.sample = 50;
    options.initial = [](RowId row, std::span<float> values) {
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = first_value(row, i);
    };
    table_.emplace(context_, std::move(options));
  }
  /// Brings rows into slots, makes some of them dirty, and announces batches.
  void warm() {
    const auto ids = ids_of(50, 3);
    if (shape_.in_place) bring(ids_of(90, 3));
    const std::vector<float> gradients(ids.size() * dim, 0.125F);
    table_->update(ids, gradients, RowWiseAdagrad{});
    plain.update(ids, gradients, RowWiseAdagrad{});
    if (shape_.holds) table_->prefetch(std::vector<RowId>{160, 165, 170});
    announced = table_->announce(std::vector<RowId>{175, 185});
    table_->settle();
  }

  /// Gathers rows until they are in slots, if the policy admits them.
  void bring(const std::vector<RowId>& ids) {
    for (int i = 0; i < 3; ++i) {
      const auto expected = plain.gather(ids);
      table_->gather(ids, first(arguments.out, ids.size()));
      CHECK(std::equal(expected.begin(), expected.end(), arguments.out.begin()));
      table_->settle();
    }
  }

  [[nodiscard]] RowTable<float>& table() { return *table_; }
  [[nodiscard]] bool has_table() const { return table_.has_value(); }
  [[nodiscard]] MemoryTier& slow() { return *slow_; }
  void destroy() { table_.reset(); }
  [[nodiscard]] bool is_empty() const { return manager_->statistics().objects == 0; }

  Arguments arguments;
  PlainTable plain{rows, dim};
  BatchId announced;

 private:
  Shape shape_;
  MemoryTier* slow_ = nullptr;
  std::shared_ptr<Manager> manager_;
  std::shared_ptr<TableContext> context_;
  std::optional<RowTable<float>> table_;
};

/// A call, its effect on the model, and what it has to leave in `out`.
struct Call {
  std::string_view name;
  std::function<void(World&)> call;
  std::function<void(PlainTable&, const Arguments&)> effect = [](PlainTable&, const Arguments&) {};
  std::function<std::vector<float>(const PlainTable&, const Arguments&)> result = nullptr;
  bool all_or_nothing = true;
};

void update(PlainTable& plain, const std::vector<RowId>& ids, const Arguments& a) {
  plain.update(ids, a.gradients, RowWiseAdagrad{});
}
void scatter(PlainTable& plain, const std::vector<RowId>& ids, const Arguments& a) {
  plain.scatter(ids, a.gradients);
}

std::vector<Call> calls() {
  return {
      {"announce", [](World& w) { std::ignore = w.table().announce(w.arguments.many); }},
      {"prefetch",
       [](World& w) {
         w.table().prefetch(w.announced);
         w.table().settle();
       }},
      {"prefetch of more",
       [](World& w) {
         w.table().prefetch(w.arguments.few);
         w.table().prefetch(w.arguments.many);
         w.table().settle();
       }},
      {"cancel",
       [](World& w) {
         w.table().cancel(w.announced);
         w.table().settle();
       }},
      {"gather",
       [](World& w) { w.table().gather(w.arguments.many, w.arguments.out); },
       {},
       [](const PlainTable& plain, const Arguments& a) { return plain.gather(a.many); }},
      {"gathers in a row",
       [](World& w) {
         for (int i = 0; i < 3; ++i) {
           w.table().gather(w.arguments.many, w.arguments.out);
           w.table().settle();
         }
       },
       {},
       [](const PlainTable& plain, const Arguments& a) { return plain.gather(a.many); }},
      {"gather_pooled",
       [](World& w) { w.table().gather_pooled(w.arguments.many, w.arguments.offsets, w.arguments.out); },
       {},
       [](const PlainTable& plain, const Arguments& a) { return plain.pooled(a.many, a.offsets); }},
      {"read_rows",
       [](World& w) { w.table().read_rows(0, first(w.arguments.out, 150)); },
       {},
       [](const PlainTable& plain, const Arguments&) {
         return std::vector<float>(plain.values().begin(), plain.values().begin() + 150 * dim);
       }},
      {"a batch",
       [](World& w) {
         auto& a = w.arguments;
         auto batch = w.table().batch(a.few);
         batch.gather(first(a.out, a.few.size()));
         batch.update(first(std::as_const(a.gradients), a.few.size()), RowWiseAdagrad{});
       },
       [](PlainTable& plain, const Arguments& a) { update(plain, a.few, a); },
       [](const PlainTable& plain, const Arguments& a) { return plain.gather(a.few); }},
      {"update of few",
       [](World& w) {
         const auto& a = w.arguments;
         w.table().update(a.few, first(a.gradients, a.few.size()), RowWiseAdagrad{});
       },
       [](PlainTable& plain, const Arguments& a) { update(plain, a.few, a); }},
      {"update of many",
       [](World& w) {
         w.table().update(w.arguments.many, std::span<const float>{w.arguments.gradients}, RowWiseAdagrad{});
       },
       [](PlainTable& plain, const Arguments& a) { update(plain, a.many, a); }, nullptr, false},
      {"scatter of few",
       [](World& w) {
         const auto& a = w.arguments;
         w.table().scatter(a.few, first(a.gradients, a.few.size()));
       },
       [](PlainTable& plain, const Arguments& a) { scatter(plain, a.few, a); }},
      {"scatter of many", [](World& w) { w.table().scatter(w.arguments.many, w.arguments.gradients); },
       [](PlainTable& plain, const Arguments& a) { scatter(plain, a.many, a); }, nullptr, false},
      {"flush", [](World& w) { w.table().flush(); }},
  };
}

/// Makes all calls; none of them fails.
void go_on(World& world) {
  for (const auto& call : calls()) {
    CAPTURE(call.name);
    const auto result = call.result ? call.result(world.plain, world.arguments) : std::vector<float>{};
    REQUIRE_NOTHROW(call.call(world));
    if (call.effect) call.effect(world.plain, world.arguments);
    CHECK(std::equal(result.begin(), result.end(), world.arguments.out.begin()));
  }
  CHECK(is(world.table(), world.plain));
  world.table().settle();
  REQUIRE_NOTHROW(world.table().check_invariants());
}

/// Checks a table after a call that may have failed.
void check(World& world, const Call& call, bool failed) {
  world.table().settle();
  REQUIRE_NOTHROW(world.table().check_invariants());
  auto after = world.plain;
  if (call.effect) call.effect(after, world.arguments);
  if (!failed) {
    if (call.result) {
      const auto result = call.result(world.plain, world.arguments);
      CHECK(std::equal(result.begin(), result.end(), world.arguments.out.begin()));
    }
    world.plain = after;
  }
  if (failed && !call.all_or_nothing)
    CHECK(is_between(world.table(), world.plain, after));
  else
    CHECK(is(world.table(), world.plain));
  go_on(world);
  world.destroy();
  CHECK(world.is_empty());
}

/// Calls `step(shape, n)` for each shape with n = 0, 1, ... until it returns that nothing has failed. With ThreadSanitizer
/// the usual form takes each third n, in turn from 0, 1 and 2 on, because the others show it little more.
/// \return  a lower bound of the number of points at which something fails
template <class Step>
std::uint64_t for_each_point(const Step& step) {
  const std::uint64_t stride = thread_sanitized && !long_form() ? 3 : 1;
  std::uint64_t points = 0, first = 0;
  for (const auto& shape : shapes) {
    CAPTURE(shape.policy);
    CAPTURE(shape.device);
    std::uint64_t known = 0;  // up to the last point at which something failed
    for (std::uint64_t n = first++ % stride;; n += stride) {
      CAPTURE(n);
      if (!step(shape, n)) break;
      known = n + 1;
      REQUIRE(n < 10'000);
    }
    points += known;
  }
  return points;
}

enum class Fails : std::uint8_t { Reads, Writes, Reservations };

void fail_nth(World& world, FailingIo& io, Fails what, std::uint64_t n) {
  world.slow().fails = [&](Direction direction, std::uint64_t offset, std::uint64_t size) {
    return io.on_io(direction, offset, size);
  };
  world.slow().reserve_fails = [&](std::uint64_t offset, std::uint64_t size) {
    return io.on_reserve(offset, size);
  };
  what == Fails::Reservations ? io.fail_nth_reserve(n) : io.fail_nth(n);
}
FailingIo::What directions(Fails what) {
  return what == Fails::Reads ? FailingIo::What::Reads : FailingIo::What::Writes;
}

}  // namespace

TEST_CASE("a table that cannot be made leaves nothing behind, whichever allocation fails") {
  const auto points = for_each_point([](const Shape& shape, std::uint64_t n) {
    World world{shape};
    try {
      const FailingAllocation failing{n};
      world.construct();
    } catch (const std::bad_alloc&) {
    }
    const bool happened = FailingAllocation::happened();
    if (world.has_table()) {
      go_on(world);
      world.destroy();
    } else {
      CHECK(happened);
    }
    CHECK(world.is_empty());
    return happened;
  });
  MESSAGE(points << " points");
  CHECK(points > 20);
}

TEST_CASE("a table that cannot be made leaves nothing behind, whichever access fails") {
  std::uint64_t points = 0;
  for (const auto what : {Fails::Writes, Fails::Reservations}) {
    points += for_each_point([&](const Shape& shape, std::uint64_t n) {
      FailingIo io{directions(what)};
      World world{shape};
      fail_nth(world, io, what, n);
      try {
        world.construct();
      } catch (const TierError&) {
        CHECK(what == Fails::Writes);
      } catch (const OutOfTierMemory& error) {
        CHECK(what == Fails::Reservations);
        CHECK(error.cause() == std::errc::no_space_on_device);
      }
      CHECK((world.has_table() || io.failed() != 0));  // room is looked for twice, so one may fail
      CHECK(world.is_empty() == !world.has_table());
      world.destroy();
      return io.failed() != 0;
    });
  }
  MESSAGE(points << " points");
  CHECK(points > 4);
}

TEST_CASE("a table's rows are in order and it goes on, whichever allocation fails") {
  std::uint64_t points = 0;
  for (const auto& call : calls()) {
    CAPTURE(call.name);
    points += for_each_point([&](const Shape& shape, std::uint64_t n) {
      World world{shape};
      world.construct();
      world.warm();
      bool failed = false;
      try {
        const FailingAllocation failing{n};
        call.call(world);
      } catch (const std::bad_alloc&) {
        failed = true;
      }
      const bool happened = FailingAllocation::happened();
      CHECK((happened || !failed));
      check(world, call, failed);
      return happened;
    });
  }
  MESSAGE(points << " points");
  CHECK(points > 200);
}

TEST_CASE("a table's rows are in order and it goes on, whichever access fails") {
  std::uint64_t points = 0;
  for (const auto& call : calls()) {
    CAPTURE(call.name);
    for (const auto what : {Fails::Reads, Fails::Writes}) {
      CAPTURE(static_cast<int>(what));
      points += for_each_point([&](const Shape& shape, std::uint64_t n) {
        FailingIo io{directions(what)};
        World world{shape};
        world.construct();
        world.warm();
        fail_nth(world, io, what, n);
        bool failed = false;
        try {
          call.call(world);
        } catch (const TierError&) {
          failed = true;
        } catch (const OutOfTierMemory&) {
          failed = true;
        }
        world.table().settle();
        const bool happened = io.failed() != 0;
        CHECK((happened || !failed));
        io.heal();
        check(world, call, failed);
        return happened;
      });
    }
  }
  MESSAGE(points << " points");
  CHECK(points > 200);
}

TEST_CASE("a row that cannot be brought is used where it lives, and brought when it can be") {
  for (const auto policy : {"lfu", "first_touch"}) {
    CAPTURE(policy);
    FailingIo io{FailingIo::What::Reads};
    World world{{policy, false, false, true}};
    world.construct();
    fail_nth(world, io, Fails::Reads, FailingIo::never);
    io.fail_range(0, FailingIo::never);
    world.bring(world.arguments.many);
    const auto statistics = world.table().statistics();
    CHECK(statistics.read_errors == io.failed());
    CHECK(statistics.read_errors > 50);
    CHECK(statistics.prefetched_rows == 0);
    const auto& a = world.arguments;
    world.table().update(a.many, std::span<const float>{a.gradients}, RowWiseAdagrad{});
    update(world.plain, a.many, a);
    CHECK(is(world.table(), world.plain));
    world.table().check_invariants();

    io.heal();
    world.bring(world.arguments.many);
    CHECK(world.table().statistics().prefetched_rows > 50);
    CHECK(world.table().statistics().read_errors == statistics.read_errors);
    go_on(world);
  }
}

TEST_CASE("a changed row that others cannot replace, as it cannot be written, stays and is right") {
  FailingIo io{FailingIo::What::Writes};
  World world{{"lfu", false, false, true}};
  world.construct();
  world.warm();
  fail_nth(world, io, Fails::Writes, FailingIo::never);
  io.fail_range(0, FailingIo::never, std::errc::no_space_on_device);
  world.bring(world.arguments.many);  // more often than the rows in slots
  world.bring(world.arguments.many);
  CHECK(io.failed() > 0);
  CHECK(world.table().statistics().write_errors == io.failed());
  CHECK(world.table().statistics().written_rows == 0);
  CHECK(is(world.table(), world.plain));
  world.table().check_invariants();
  CHECK_THROWS_AS(world.table().flush(), TierError);

  io.heal();
  world.table().flush();
  CHECK(world.table().statistics().written_rows > 0);
  go_on(world);
}

TEST_CASE(
    "once there were steps with as many ids, a step allocates nothing, though rows are followed for advice") {
  for (const auto& shape : shapes) {
    CAPTURE(shape.policy);
    CAPTURE(shape.device);
    World world{shape};
    world.construct();
    world.warm();
    auto& table = world.table();
    auto& a = world.arguments;
    const auto few_gradients = first(std::as_const(a.gradients), a.few.size());
    const auto step = [&] {
      for (auto* const ids : {&a.few, &a.many})
        for (auto& id : *ids) id = (id + 13) % rows;
      table.prefetch(a.few);
      table.gather(a.many, a.out);
      table.gather_pooled(a.many, a.offsets, a.out);
      auto batch = table.batch(a.few);
      batch.gather(first(a.out, a.few.size()));
      batch.update(few_gradients, RowWiseAdagrad{});
      table.update(a.many, a.gradients, RowWiseAdagrad{});
      table.scatter(a.few, few_gradients);
      table.settle();
      table.flush();
    };
    for (int i = 0; i < 10; ++i) step();
    {
      const FailingAllocation failing{0};
      for (int i = 0; i < 50; ++i) step();
    }
    CHECK(!FailingAllocation::happened());
    CHECK(table.advise().followed <= 50);
  }
}

TEST_CASE("rows of any width are brought after gathers without an allocation") {
  constexpr RowId all = 1000;
  constexpr std::size_t wide = 300,
                        asked = 600;  // more than one pass examines, and no multiple of 32
  std::vector<std::unique_ptr<Tier>> tiers;
  tiers.push_back(std::make_unique<MemoryTier>(MemoryTierOptions{"fast", 4_MiB}));
  tiers.push_back(std::make_unique<MemoryTier>(
      MemoryTierOptions{"slow", 4_MiB, std::chrono::nanoseconds{5000}, true, false, false}));
  const auto manager =
      Manager::make(std::move(tiers), std::make_unique<FetchingPolicy>(), {.threads = 1, .yields = false});
  TableOptions options;
  options.rows = all;
  options.dim = wide;
  options.slots = 700;
  options.policy = make_row_policy("first_touch");
  RowTable<float> table{std::make_shared<TableContext>(manager, 1), std::move(options)};
  std::vector<RowId> ids(asked, 0);
  std::vector<float> out(asked * wide);
  for (const auto count : {std::size_t{1}, asked}) {  // row 0 is in its slot when asked for 600 times
    table.gather(std::span{ids}.first(count), std::span{out}.first(count * wide));
    table.settle();
  }
  std::iota(ids.begin(), ids.end(), RowId{100});
  {
    const FailingAllocation failing{0};
    table.gather(ids, out);
    table.settle();
  }
  CHECK(!FailingAllocation::happened());
  CHECK(table.statistics().prefetched_rows > asked / 2);
  table.check_invariants();
}

TEST_CASE("the end of a table needs no memory and no access") {
  const auto points = for_each_point([](const Shape& shape, std::uint64_t n) {
    FailingIo io;
    World world{shape};
    world.construct();
    world.warm();
    fail_nth(world, io, Fails::Writes, n);
    {
      const FailingAllocation failing{n};
      world.destroy();
    }
    CHECK(world.is_empty());
    return FailingAllocation::happened() || io.failed() != 0;
  });
  CHECK(points == 0);
}

}  // namespace tier::table_test
