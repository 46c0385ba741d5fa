// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  After any access of a tier fails, all bytes but those of the failed operation are unchanged.
#include "rig.hpp"
#include "support/failing_io.hpp"
#include "support/temporary_directory.hpp"

#include <tier/runtime/runtime.hpp>
#include <tier/scope/hints.hpp>
#include <tier/scope/scope.hpp>
#include <tier/tensor/tensor.hpp>

#include <doctest/doctest.h>

#include <functional>
#include <vector>

namespace tier::io_test {

using namespace tier::test;

namespace {

using Operation = std::function<void(Rig&)>;

/// The operation of the slow tier that fails.
enum class Fails : std::uint8_t { Reads, Writes, Reservations };

void fail_nth(Rig& rig, FailingIo& io, Fails what, std::uint64_t n) {
  rig.slow().fails = [&](Direction direction, std::uint64_t offset, std::uint64_t size) {
    return io.on_io(direction, offset, size);
  };
  rig.slow().reserve_fails = [&](std::uint64_t offset, std::uint64_t size) {
    return io.on_reserve(offset, size);
  };
  if (what == Fails::Reservations)
    io.fail_nth_reserve(n);
  else
    io.fail_nth(n);
}

/// Calls `operation` on a full manager with its first access failing, then its second, until none fails.
/// \return  how many failed
std::uint64_t points_reached(const Operation& operation) {
  std::uint64_t points = 0;
  for (const bool device : {true, false}) {
    for (const auto what : {Fails::Reads, Fails::Writes, Fails::Reservations}) {
      for (std::uint64_t n = 0;; ++n) {
        CAPTURE(device);
        CAPTURE(static_cast<int>(what));
        CAPTURE(n);
        FailingIo io{what == Fails::Reads ? FailingIo::What::Reads : FailingIo::What::Writes};
        Rig rig{{.slow_is_device = device}};
        fail_nth(rig, io, what, n);
        try {
          operation(rig);
        } catch (const TierError&) {
          CHECK(io.failed() > 0);
        } catch (const OutOfTierMemory&) {
          CHECK(io.failed() > 0);
        }
        rig.manager().quiesce();
        io.heal();
        REQUIRE_NOTHROW(rig.check());
        REQUIRE_NOTHROW(rig.check_empty());
        if (io.failed() == 0) break;
        ++points;
        REQUIRE(n < 10'000);
      }
    }
  }
  return points;
}

/// Opens a scope for each of the objects in turn.
void use(Rig& rig, std::size_t from, std::size_t to) {
  for (std::size_t i = from; i < to; ++i) {
    Operand op = rig.operand(i, i % 3 == 0 ? Use::Update : Use::Read);
    rig.manager().enter({&op, 1}, {});
    if (op.use == Use::Update) rig.fill(op, i, i + 7);
    Manager::leave({&op, 1});
  }
}

}  // namespace

TEST_CASE("scopes, hints, compaction and new objects lose nothing, whichever access fails") {
  std::uint64_t points = 0;
  SUBCASE("scopes that fetch and evict") {
    points = points_reached([](Rig& rig) { use(rig, 0, rig.count()); });
  }
  SUBCASE("a large batch, nested in a scope") {
    points = points_reached([](Rig& rig) {
      struct Leave {
        std::vector<Operand>& batch;
        ~Leave() { Manager::leave(batch); }
      };
      std::vector<Operand> outer{rig.operand(0, Use::Read)}, batch;
      for (const std::size_t i : {1, 2, 3, 4, 5})
        batch.push_back(rig.operand(i, i == 2 ? Use::Overwrite : Use::Read));
      rig.manager().enter(outer, {});
      const Leave leave_outer{outer};
      rig.manager().enter(batch, {1, false, {}});
      const Leave leave{batch};
      rig.fill(batch[1], 2, 5);
    });
  }
  SUBCASE("hints and prefetches") {
    points = points_reached([](Rig& rig) {
      use(rig, 0, 6);
      for (std::size_t i = 0; i < 6; ++i) rig.manager().hint(Hint::Archive, rig.ref(i), 0);
      rig.manager().end_of_step();
      rig.manager().quiesce();
      for (std::size_t i = 6; i < rig.count(); ++i) {
        std::ignore = rig.manager().prefetch(rig.ref(i));
        if (i % 3 == 0) rig.manager().quiesce();
      }
      use(rig, 4, 10);
    });
  }
  SUBCASE("a new object that needs most of the fast tier") {
    points = points_reached([](Rig& rig) {
      use(rig, 8, 16);
      for (std::size_t i = 1; i < rig.count(); i += 4) rig.destroy(i);
      rig.manager().compact();
      const auto large = rig.manager().create(96_KiB, 64, "large");
      Operand op = Operand::of(large.ref(), Use::Overwrite);
      rig.manager().enter({&op, 1}, {});
      Manager::leave({&op, 1});
    });
  }
  SUBCASE("objects that retire and are written again") {
    points = points_reached([](Rig& rig) {
      for (std::size_t i = 0; i < 8; ++i) {
        rig.manager().retire(rig.ref(i));
        Operand op = rig.operand(i, Use::Overwrite);
        for (int tries = 0; !op.entered; ++tries) {
          try {
            rig.manager().enter({&op, 1}, {});
          } catch (const TierError&) {
            if (tries > 0) throw;
          }
        }
        rig.fill(op, i, 9);
        Manager::leave({&op, 1});
      }
    });
  }
  MESSAGE(points << " points");
  CHECK(points > 10);
}

TEST_CASE("tensors in a file keep their numbers, whichever request of the device fails") {
  constexpr std::size_t count = 8, length = 16'384;
  std::uint64_t points = 0;
  for (const auto what : {FailingIo::What::Reads, FailingIo::What::Writes}) {
    for (std::uint64_t n = 0;; ++n) {
      CAPTURE(n);
      const TemporaryDirectory directory;
      const auto io = std::make_shared<FailingIo>(what);
      auto slow = tiers::file(directory.path(), 4_MiB);
      slow.faults = io;
      Runtime runtime{{.tiers = {tiers::dram(256_KiB), slow}, .threads = 1}};
      std::vector<Tensor<float>> tensors;
      for (std::size_t i = 0; i < count; ++i) {
        tensors.emplace_back(runtime, Shape{length});
        WriteScope out{tensors.back()};
        for (std::size_t at = 0; at < length; ++at)
          out[tensors.back()](at) = static_cast<float>(i * length + at);
      }
      io->fail_nth(n);
      std::size_t failed = 0;
      const auto read_all = [&] {
        for (std::size_t i = 0; i < count; ++i) {
          try {
            ReadScope in{tensors[i]};
            std::size_t wrong = 0;
            for (std::size_t at = 0; at < length; ++at)
              wrong += in[tensors[i]](at) != static_cast<float>(i * length + at) ? 1 : 0;
            CHECK(wrong == 0);
          } catch (const TierError&) {
            ++failed;
          } catch (const OutOfTierMemory&) {
            ++failed;
          }
        }
      };
      read_all();
      const bool happened = io->failed() > 0;
      if (!happened) CHECK(failed == 0);
      io->heal();
      failed = 0;
      read_all();
      CHECK(failed == 0);
      if (!happened) break;
      ++points;
      REQUIRE(n < 10'000);
    }
  }
  MESSAGE(points << " points");
  CHECK(points > 5);
}

}  // namespace tier::io_test
