// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  After any allocation fails, the state is unchanged: nothing is lost, nothing is left over.
#include "failing_allocation.hpp"
#include "rig.hpp"
#include "support/temporary_directory.hpp"

#include <tier/memory/tiers.hpp>
#include <tier/runtime/runtime.hpp>
#include <tier/scope/hints.hpp>
#include <tier/scope/scope.hpp>
#include <tier/tensor/tensor.hpp>

#include <doctest/doctest.h>
#include <first_touch/first_touch.hpp>
#include <hint_aware/hint_aware.hpp>

#include <array>
#include <functional>
#include <string>

namespace tier::allocation_test {

using namespace tier::test;

namespace {

using Operation = std::function<void(Rig&)>;

/// Repeats that on a fresh full manager each time; at about 256 objects the pools of descriptors grow as well.
std::uint64_t points_reached(const Operation& operation, bool keeps_objects = true) {
  std::uint64_t points = 0;
  for (const std::size_t objects : {24, 253, 255}) {
    if (thread_sanitized && objects != 24) continue;  // takes minutes, with the same threads
    CAPTURE(objects);
    const RigOptions options{.objects = objects,
                             .object_size = objects > 24 ? 4096u : 12'000u,
                             .slow = objects > 24 ? 8_MiB : 1_MiB};
    std::optional<Rig> rig;
    points += for_each_failing_allocation(
        [&](std::uint64_t n) {
          rig.emplace(options);
          const FailingAllocation failing{n};
          operation(*rig);
          rig->manager().quiesce();
        },
        [&](bool) {
          REQUIRE_NOTHROW(rig->check());
          if (keeps_objects) REQUIRE_NOTHROW(rig->check_counts());
          REQUIRE_NOTHROW(rig->check_empty());
        });
  }
  return points;
}

/// Enters and leaves as scopes do: first each operand whose short way is open.
void enter_and_leave(Rig& rig, std::vector<Operand>& batch) {
  for (auto& op : batch) op.entered = op.block->try_enter(op.use, rig.manager().clock().stamp());
  rig.manager().enter(batch, {});
  Manager::leave(batch);
}

struct Idle final : Observer {};

/// Allocates in each call.
struct Forgetful final : Policy {
  std::string_view name() const noexcept override { return "forgetful"; }
  Placement place(const AllocationEvent&, PolicyContext&) override { return note(Placement{0, true}); }
  MissDecision on_miss(const MissEvent&, PolicyContext&) override { return note(MissDecision{0, false}); }
  RunChoice choose(const RoomRequest&, std::span<const Run>, PolicyContext&) override {
    return note(RunChoice{0, {}});
  }
  void on_hint(const HintEvent&, PolicyContext&) override { note(0); }
  void on_retire(const RetireEvent&, PolicyContext&) override { note(0); }
  void on_step(const StepEvent&, PolicyContext&) override { note(0); }
  template <class T>
  T note(T answer) {
    notes.push_back(std::make_unique<int>());
    return answer;
  }
  std::vector<std::unique_ptr<int>> notes;
};

}  // namespace

TEST_CASE("a manager that cannot be made leaves nothing behind, whichever allocation fails") {
  const auto points = for_each_failing_allocation(
      [](std::uint64_t n) {
        const FailingAllocation failing{n};
        std::vector<std::unique_ptr<Tier>> tiers;
        tiers.push_back(std::make_unique<MemoryTier>(MemoryTierOptions{"fast", 64_KiB}));
        tiers.push_back(std::make_unique<MemoryTier>(
            MemoryTierOptions{"slow", 64_KiB, std::chrono::nanoseconds{900}, false}));
        std::ignore = Manager::make(std::move(tiers), make_hint_aware({}), {.threads = 1, .yields = false});
      },
      [](bool) {});
  MESSAGE(points << " points");
  CHECK(points > 10);
}

TEST_CASE("a runtime that cannot be made leaves nothing behind, whichever allocation fails") {
  const TemporaryDirectory directory;
  const std::string spec = "dram:1MiB;emulated:cxl:1MiB;file:" + directory.path() + ":1MiB";
  const auto points = for_each_failing_allocation(
      [&](std::uint64_t n) {
        const FailingAllocation failing{n};
        std::ignore = Runtime::from_spec(spec);
      },
      [](bool) {});
  MESSAGE(points << " points");
  CHECK(points > 20);
}

TEST_CASE(
    "a file tier that threads serve does with fewer of them, or is refused, whichever allocation fails") {
  const TemporaryDirectory directory;
  auto spec = tiers::file(directory.path(), 1_MiB);
  spec.engine = IoEngine::Threads;
  const auto points = for_each_failing_allocation(
      [&](std::uint64_t n) {
        const FailingAllocation failing{n};
        const auto tier = make_tier(spec);
        alignas(4096) std::array<std::byte, 4096> bytes{};
        IoRequest request{0, bytes.data(), bytes.size(), {}};
        tier->transfer(Direction::Write, {&request, 1});
        CHECK(!request.error);
      },
      [](bool) {});
  MESSAGE(points << " points");
  CHECK(points > 16);
}

TEST_CASE("space that no thread can be had to return stays idle") {
  const TemporaryDirectory directory;
  const auto tier = make_tier(tiers::file(directory.path(), 80_MiB));
  tier->claim(0, (80_MiB).count);
  REQUIRE(!tier->reserve(0, (80_MiB).count));
  {
    const FailingAllocation failing{0};
    tier->release(0, (80_MiB).count);
  }
  CHECK(FailingAllocation::happened());
  CHECK(!tier->reserve(0, (80_MiB).count));
}

TEST_CASE("objects that cannot be made leave nothing behind, whichever allocation fails") {
  std::uint64_t points = 0;
  SUBCASE("large") {
    points = points_reached(
        [](Rig& rig) { std::ignore = rig.manager().create(Bytes{20'000}, 4096, "a name of some length"); });
  }
  SUBCASE("the first of a group") {
    points = points_reached([](Rig& rig) {
      std::vector<ObjectHandle> small;
      small.reserve(40);
      for (int i = 0; i < 40; ++i)
        small.push_back(rig.manager().create(Bytes{4000}, 64, "a name of some length"));
    });
  }
  SUBCASE("placed") {
    points = points_reached([](Rig& rig) {
      std::ignore = rig.manager().allocate_fixed(Bytes{30'000}, 64, 0, "a name of some length");
    });
  }
  MESSAGE(points << " points");
  CHECK(points > 5);
}

TEST_CASE("a scope that cannot open leaves all as it was, whichever allocation fails") {
  std::uint64_t points = 0;
  SUBCASE("one object, fetched and evicted for") {
    points = points_reached([](Rig& rig) {
      for (std::size_t i = 0; i < 8; ++i) {
        Operand op = rig.operand(i, i % 2 == 0 ? Use::Read : Use::Update);
        rig.manager().enter({&op, 1}, {});
        Manager::leave({&op, 1});
      }
    });
  }
  SUBCASE("a large batch") {
    points = points_reached([](Rig& rig) {
      std::vector<Operand> batch;
      for (std::size_t i = 0; i < 12; ++i) batch.push_back(rig.operand(i % 5, Use::Read));
      batch.push_back(rig.operand(rig.count() - 1, Use::Update));
      enter_and_leave(rig, batch);
    });
  }
  SUBCASE("nested") {
    points = points_reached([](Rig& rig) {
      Operand outer = rig.operand(0, Use::Read);
      Operand inner = rig.operand(1, Use::Read);
      struct Leave {
        Operand& op;
        ~Leave() { Manager::leave({&op, 1}); }
      };
      rig.manager().enter({&outer, 1}, {});
      const Leave leave_outer{outer};
      rig.manager().enter({&inner, 1}, {1, false, {}});
      const Leave leave_inner{inner};
    });
  }
  MESSAGE(points << " points");
  CHECK(points > 5);
}

TEST_CASE("room that is made by compaction loses nothing, whichever allocation fails") {
  const auto points = points_reached(
      [](Rig& rig) {
        for (std::size_t i = 1; i < rig.count(); i += 3) rig.destroy(i);
        rig.manager().compact();
        const auto large = rig.manager().create(64_KiB, 64, "large");
        Operand op = Operand::of(large.ref(), Use::Overwrite);
        rig.manager().enter({&op, 1}, {});
        Manager::leave({&op, 1});
      },
      false);
  MESSAGE(points << " points");
  CHECK(points > 20);
}

TEST_CASE("hints, kernels, steps and counts lose nothing, whichever allocation fails") {
  std::uint64_t points = 0;
  SUBCASE("hints and prefetches") {
    points = points_reached([](Rig& rig) {
      for (const auto hint : {Hint::WillUse, Hint::WillRead, Hint::WillWrite, Hint::Archive})
        rig.manager().hint(hint, rig.ref(static_cast<std::size_t>(hint)), 0);
      rig.manager().hint_later(Hint::WillUse, rig.ref(5), 0);
      rig.manager().end_of_step();
      for (std::size_t i = 0; i < 12; ++i) {
        std::ignore = rig.manager().prefetch(rig.ref(i));
        if (i % 3 == 0) rig.manager().quiesce();
      }
    });
  }
  SUBCASE("kernels, with an observer") {
    points = points_reached([](Rig& rig) {
      struct Counting final : Observer {
        void on_kernel_begin(const KernelEvent&) noexcept override { ++begun; }
        void on_kernel_end(const KernelEvent&) noexcept override { ++ended; }
        int begun = 0, ended = 0;
      } observer;
      struct Removed {
        Manager& manager;
        Counting& observer;
        ~Removed() {
          manager.remove_observer(observer);
          CHECK(observer.begun == observer.ended);
        }
      };
      rig.manager().add_observer(observer);
      const Removed removed{rig.manager(), observer};
      std::vector<Operand> batch{rig.operand(0, Use::Read), rig.operand(1, Use::Update)};
      rig.manager().enter(batch, {});
      struct Leave {
        std::vector<Operand>& batch;
        ~Leave() { Manager::leave(batch); }
      };
      {
        const Leave leave{batch};
        rig.manager().kernel_begin({.scope = 7, .kernel = "a kernel with a name of some length"}, batch);
        rig.manager().kernel_end(7, 1000);
      }
      rig.manager().end_of_step();
    });
  }
  SUBCASE("counts") {
    points = points_reached([](Rig& rig) {
      std::ignore = rig.manager().statistics();
      std::ignore = rig.manager().object_statistics();
    });
  }
  SUBCASE("retired, and brought back") {
    points = points_reached([](Rig& rig) {
      for (const std::size_t i : {2, 3}) {
        rig.manager().retire(rig.ref(i));
        Operand op = rig.operand(i, Use::Overwrite);
        for (int tries = 0; !op.entered; ++tries) {
          try {
            rig.manager().enter({&op, 1}, {});
          } catch (const std::bad_alloc&) {
            if (tries > 0) throw;
          }
        }
        rig.fill(op, i, 9);
        Manager::leave({&op, 1});
      }
    });
  }
  MESSAGE(points << " points");
  CHECK(points > (thread_sanitized ? 5 : 20));
}

TEST_CASE("the end of a manager allocates nothing that it needs") {
  const auto points = points_reached([](Rig& rig) { std::ignore = rig.manager().close(); });
  MESSAGE(points << " points");
  CHECK(points > 0);
}

TEST_CASE("a policy that runs out of memory hands over to first touch") {
  std::optional<Rig> rig;
  const auto points = for_each_failing_allocation(
      [&](std::uint64_t n) {
        rig.emplace(RigOptions{}, std::make_unique<Forgetful>());
        const FailingAllocation failing{n};
        std::ignore = rig->manager().create(Bytes{20'000}, 64, "x");
        for (std::size_t i = 0; i < 4; ++i) {
          Operand op = rig->operand(i, Use::Read);
          rig->manager().enter({&op, 1}, {});
          Manager::leave({&op, 1});
          rig->manager().hint(Hint::WillUse, rig->ref(i), 0);
        }
        rig->manager().end_of_step();
      },
      [&](bool) {
        REQUIRE_NOTHROW(rig->check());
        REQUIRE_NOTHROW(rig->check_counts());
        REQUIRE_NOTHROW(rig->check_empty());
      });
  MESSAGE(points << " points");
  CHECK(points > 10);
}

TEST_CASE("tensors and their scopes lose nothing, whichever allocation fails") {
  const auto points = for_each_failing_allocation(
      [](std::uint64_t n) {
        Runtime runtime{{.tiers = {tiers::dram(256_KiB), tiers::emulated("cxl", 1_MiB)}, .threads = 1}};
        const FailingAllocation failing{n};
        Tensor<float> x{runtime, {64, 64}}, y{runtime, {64, 64}};
        {
          KernelScope k{"a kernel with a name of some length", reads(x), overwrites(y)};
          k.out(y)(0, 0) = 1;
        }
        prefetch(x);
        ReadScope in{y};
      },
      [](bool) {});
  MESSAGE(points << " points");
  CHECK(points > 5);
}

}  // namespace tier::allocation_test
