// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Random sets of two to five tiers, some full, some not worth a demotion: nothing is lost, no thread waits for
///        ever, and blocks are where a plain model has them.
#include "random_program.hpp"
#include "rig.hpp"
#include "support/seed.hpp"
#include "support/steps.hpp"

#include <doctest/doctest.h>
#include <tier/manager/demotion.hpp>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <numeric>

namespace tier::random_tiers_test {
namespace {

using namespace test;
using std::chrono::nanoseconds;

/// A tier with rates of its own.
struct RatedTier final : MemoryTier {
  RatedTier(const MemoryTierOptions& options, double read, double write) : MemoryTier{options} {
    model_.read_bytes_per_second = read;
    model_.write_bytes_per_second = write;
  }
};

std::uint64_t between(std::mt19937_64& random, std::uint64_t least, std::uint64_t most) {
  return std::uniform_int_distribution{least, most}(random);
}

/// Makes tiers of 0.1 to 100 GB/s and 100 ns to 100 us, each order of magnitude equally likely. At least one is
/// addressable; some have room for hardly anything.
std::vector<std::unique_ptr<Tier>> random_tiers(std::mt19937_64& random) {
  const auto magnitude = [&](double least, double decades) {
    return least * std::pow(10, decades * std::uniform_real_distribution{}(random));
  };
  const auto count = between(random, 2, 5);
  std::vector<std::unique_ptr<Tier>> tiers;
  for (std::uint64_t i = 0; i < count; ++i) {
    const bool tiny = between(random, 0, 7) == 0;
    MemoryTierOptions options{
        .name = "t" + std::to_string(i),
        .capacity = Bytes{(tiny ? between(random, 4, 16) : between(random, 64, 512)) << 10},
        .latency = nanoseconds{static_cast<std::int64_t>(magnitude(100, 3))}};
    options.addressable = i == 0 || between(random, 0, 2) > 0;
    tiers.push_back(std::make_unique<RatedTier>(options, magnitude(1e8, 3), magnitude(1e8, 3)));
  }
  return tiers;
}

/// A manager on random tiers, some of which are partly or fully taken by storage that never moves.
struct RandomManager {
  RandomManager(std::mt19937_64& random, std::unique_ptr<Policy> policy, ManagerOptions options)
      : manager{Manager::make(random_tiers(random), std::move(policy), options)} {
    for (TierIndex t = 0; t < manager->tier_count(); ++t) {
      if (between(random, 0, 3) > 0) continue;
      const auto capacity = manager->tier(t).capacity().count;
      placed.push_back(manager->allocate_fixed(Bytes{between(random, 1, t == 0 ? capacity / 2 : capacity)},
                                               64, t, placed_in(t)));
    }
  }
  static std::string placed_in(TierIndex t) { return "placed in " + std::to_string(t); }
  /// \throws  `Broken` if an object is in a tier where it may not be
  void check() const {
    manager->check_invariants();
    for (const auto& object : manager->object_statistics()) {
      if (object.tier == no_tier) continue;
      require(object.tier < manager->tier_count(), "an object is in one of the tiers");
      const auto& tier = manager->tier(object.tier);
      require(object.size <= tier.capacity(), "an object fits its tier");
      require(!object.pinned || tier.base() != nullptr, "the CPU reaches what is pinned");
      require(object.name == "object" || object.name == placed_in(object.tier), "what is placed stays");
    }
  }
  std::shared_ptr<Manager> manager;
  std::vector<PlacedStorage> placed;
};

/// Ends the process with a message that names the seed if no step is taken for long: a thread that hangs cannot be joined.
class Watchdog {
 public:
  explicit Watchdog(std::uint64_t seed)
      : thread_{[this, seed](const std::stop_token& stop) { run(stop, seed); }} {}
  void step() noexcept { steps_.fetch_add(1, std::memory_order_relaxed); }

 private:
  void run(const std::stop_token& stop, std::uint64_t seed) {
    constexpr auto hangs = std::chrono::minutes{5};
    std::mutex mutex;
    std::unique_lock lock{mutex};
    for (auto before = ~std::uint64_t{0}; before != steps_.load(std::memory_order_relaxed);) {
      before = steps_.load(std::memory_order_relaxed);
      if (changed_.wait_for(lock, stop, hangs, [] { return false; }) || stop.stop_requested()) return;
    }
    std::fprintf(stderr, "no step for minutes: TIER_SEED=%llu hangs\n",
                 static_cast<unsigned long long>(seed));
    std::abort();
  }

  std::atomic<std::uint64_t> steps_{0};
  std::condition_variable_any changed_;
  std::jthread thread_;  // last, because it uses the others; it is stopped first
};

/// Totals of all rounds, to check that the test reaches each case.
struct Reached {
  void add(const Manager& manager) {
    const auto statistics = manager.statistics();
    for (const auto& m : statistics.moved) {
      const bool down = m.to > m.from;
      if (down && m.from > 0) onwards += m.bytes;
      if (down && m.to > m.from + 1) past += m.bytes;
      if (m.to < m.from) up += m.bytes;
    }
  }
  void check() const {
    CHECK(up > 0);
    CHECK(onwards > 0);
    CHECK(past > 0);
  }
  std::uint64_t up = 0;       ///< bytes moved to faster tiers
  std::uint64_t onwards = 0;  ///< bytes moved from a middle tier to a slower one
  std::uint64_t past = 0;     ///< bytes moved to a slower tier, past another one
};

constexpr std::uint64_t steps_a_round = 400;

/// Runs rounds on random tiers, policies and programs, each with its own seed; `TIER_SEED` and `TIER_STEPS=1` replay one.
template <class Round>
void for_each_round(std::uint64_t steps, Round round) {
  const auto first = test::seed();
  const auto rounds = steps / steps_a_round + 1;
  MESSAGE("seed " << first << ", " << rounds << " rounds");
  for (std::uint64_t i = 0; i < rounds; ++i) {
    const auto seed = first + i;
    CAPTURE(seed);
    round(seed);
  }
}

}  // namespace

TEST_CASE("on any set of tiers, under any policy, the bytes written last are the bytes read next") {
  Reached reached;
  const auto total = steps(sanitized ? 20'000 : 100'000);
  for_each_round(total, [&](std::uint64_t seed) {
    Watchdog watchdog{seed};
    std::mt19937_64 random{seed};
    const RandomManager on{random,
                           program_policy(static_cast<int>(between(random, 0, policy_count - 1)), seed),
                           {.threads = 1, .yields = false}};
    Program program{on.manager, seed};
    for (std::uint64_t i = 0; i < steps_a_round; ++i) {
      CAPTURE(i);
      program.step();
      on.check();
      watchdog.step();
    }
    program.check_all();
    on.manager->quiesce();
    on.check();
    reached.add(*on.manager);
  });
  if (total >= 20'000) reached.check();
}

TEST_CASE("on any set of tiers, under any policy, each of several threads reads what it wrote last") {
  Reached reached;
  const auto total = steps(40'000);
  for_each_round(total, [&](std::uint64_t seed) {
    Watchdog watchdog{seed};
    std::mt19937_64 random{seed};
    const RandomManager on{random,
                           program_policy(static_cast<int>(between(random, 0, policy_count - 1)), seed),
                           {.threads = 2, .movers = 2}};
    const auto broken = run_programs(on.manager, {}, seed, [&](Program& program) {
      for (std::uint64_t i = 0; i < steps_a_round / program_threads; ++i) {
        program.step();
        watchdog.step();
      }
      program.check_all();
    });
    for (const auto& what : broken) CHECK(what == "");
    on.manager->quiesce();
    on.check();
    reached.add(*on.manager);
  });
  if (total >= 40'000) reached.check();  // one run of 10,000 steps in ten does not reach all
}

namespace {

/// Models where recency puts blocks of one size if each tier makes room in the next one: the hottest in the fastest tier. A
/// block that is about to be used stays in place until there is room for it.
class Recency {
 public:
  explicit Recency(std::vector<std::size_t> capacities)
      : capacities_{std::move(capacities)}, tiers_(capacities_.size()) {}

  void use(std::size_t block) {
    if (std::ranges::find(tiers_[0], block) == tiers_[0].end()) REQUIRE(make_room(0, block));
    for (auto& tier : tiers_) tier.remove(block);
    tiers_[0].push_front(block);
  }
  [[nodiscard]] std::size_t tier_of(std::size_t block) const {
    const auto holds = [&](const auto& tier) { return std::ranges::find(tier, block) != tier.end(); };
    return static_cast<std::size_t>(std::ranges::find_if(tiers_, holds) - tiers_.begin());
  }

 private:
  bool make_room(std::size_t t, std::size_t used) {
    auto& tier = tiers_[t];
    if (tier.size() < capacities_[t]) return true;
    const auto coldest = std::find_if(tier.rbegin(), tier.rend(), [&](auto block) { return block != used; });
    if (coldest == tier.rend()) return false;
    for (auto to = t + 1; to < tiers_.size(); ++to) {
      if (!make_room(to, used)) continue;
      tiers_[to].push_front(*coldest);
      tier.remove(tiers_[to].front());
      return true;
    }
    return false;
  }
  std::vector<std::size_t> capacities_;
  std::vector<std::list<std::size_t>> tiers_;  // hottest first
};

}  // namespace

TEST_CASE("under recency blocks cascade: each is where a plain model of full tiers has it") {
  const auto total = steps(sanitized ? 10'000 : 50'000);
  for_each_round(total, [&](std::uint64_t seed) {
    std::mt19937_64 random{seed};
    constexpr Bytes size = 8_KiB;
    const auto count = between(random, 2, 5);
    std::vector<std::size_t> capacities;
    std::vector<std::unique_ptr<Tier>> tiers;
    double rate = 100e9;
    for (std::uint64_t t = 0; t < count; ++t) {  // each costs more than the one before it
      capacities.push_back(between(random, 1, 6));
      const auto devices = t > 0 && between(random, 0, count - t) == 0;
      MemoryTierOptions options{.name = "t" + std::to_string(t),
                                .capacity = capacities.back() * size,
                                .latency = nanoseconds{100 << (2 * t)},
                                .addressable = !devices && (t == 0 || tiers.back()->base() != nullptr)};
      rate /= static_cast<double>(between(random, 1, 8));
      tiers.push_back(std::make_unique<RatedTier>(options, rate, rate));
    }
    const auto manager = Manager::make(std::move(tiers), make_lru({}), {.threads = 1, .yields = false});
    const auto blocks = std::accumulate(capacities.begin(), capacities.end(), std::size_t{0}) - 1;
    Recency model{capacities};
    std::vector<ObjectHandle> objects;
    std::vector<std::byte> values(blocks);
    for (std::uint64_t i = 0; i < steps_a_round; ++i) {
      CAPTURE(i);
      const bool is_new = objects.size() < blocks;
      const auto which = is_new ? objects.size() : between(random, 0, blocks - 1);
      if (is_new) objects.push_back(manager->create(size, 64, "object"));
      Operand op = Operand::of(objects[which].ref(), is_new ? Use::Overwrite : Use::Update);
      manager->enter({&op, 1}, {1, true, {}});
      REQUIRE((is_new || Rig::all_are(op, static_cast<char>(values[which]))));
      values[which] = static_cast<std::byte>(random());
      std::memset(op.address, static_cast<int>(values[which]), op.size);
      Manager::leave({&op, 1});
      model.use(which);
      manager->check_invariants();
      const auto now = manager->object_statistics();
      for (std::size_t o = 0; o < objects.size(); ++o) {
        CAPTURE(o);
        REQUIRE(now[o].tier == model.tier_of(o));
      }
    }
  });
}

}  // namespace tier::random_tiers_test
