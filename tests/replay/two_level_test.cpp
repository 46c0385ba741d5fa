// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Fast memory as a hardware cache: the cache compared with a model of each sector, and whole replays.
#include "machines.hpp"
#include "random_steps.hpp"
#include "replay/two_level_cache.hpp"
#include "support/message_of.hpp"
#include "support/seed.hpp"
#include "support/steps.hpp"
#include "trace/texts.hpp"

#include <tier/core/error.hpp>
#include <tier/replay/two_level.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace tier::two_level_test {

using namespace tier::test;
using replay::TwoLevelCache;

namespace {

/// Models the cached sectors, with one entry for each place.
class SlowModel {
 public:
  SlowModel(std::uint64_t places, std::uint64_t sector) : places_{places}, sector_{sector} {}

  TwoLevelCache::Outcome access(std::uint64_t offset, std::uint64_t size, bool writes) {
    TwoLevelCache::Outcome outcome;
    std::uint64_t before = ~std::uint64_t{0};
    for (auto byte = offset; byte < offset + size; ++byte) {
      if (byte / sector_ == before) continue;
      before = byte / sector_;
      touch(before, writes, outcome);
    }
    return outcome;
  }

 private:
  struct Entry {
    std::uint64_t sector;
    bool dirty;
  };
  void touch(std::uint64_t sector, bool writes, TwoLevelCache::Outcome& outcome) {
    const auto found = there_.find(sector % places_);
    if (found != there_.end() && found->second.sector == sector) {
      ++outcome.hits;
      found->second.dirty = found->second.dirty || writes;
      return;
    }
    const bool dirty = found != there_.end() && found->second.dirty;
    ++(dirty ? outcome.dirty_misses : outcome.clean_misses);
    there_[sector % places_] = {sector, writes};
  }

  std::uint64_t places_, sector_;
  std::map<std::uint64_t, Entry> there_;
};

const std::vector<replay::SimulatedTier> tiers{{"fast", 1_MiB}, {"slow", 64_MiB}};

replay::TwoLevelOptions with_sectors(Bytes sector, bool frees_early = true) {
  replay::TwoLevelOptions options;
  options.sector = sector;
  options.frees_early = frees_early;
  return options;
}

/// Returns kernels that each create a tensor of 64 KiB, read the one before and free that.
trace::Trace chain(std::size_t kernels) {
  trace::Trace trace;
  trace::TensorIndex last = 0;
  for (std::size_t k = 0; k < kernels; ++k) {
    const auto t = trace.declare(k, 64_KiB, trace::TensorKind::Activation, "t" + std::to_string(k));
    std::vector<trace::Operand> operands;
    if (k > 0) operands.push_back({64_KiB, last, trace::Role::Reads});
    operands.push_back({64_KiB, t, trace::Role::Creates});
    trace.add_kernel("unheard_of", trace::Phase::Forward, 0, operands);
    if (k > 0) trace.add_retire(std::vector{last});
    last = t;
  }
  trace.add_end_of_iteration();
  return trace;
}

}  // namespace

TEST_CASE("a hardware cache has the hits and misses of a model that knows each sector") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  const auto below = [&](std::uint64_t n) { return random() % n; };
  for (const std::uint64_t sector : {1, 64, 100, 4096})
    for (const std::uint64_t places : {1, 2, 7, 64}) {
      CAPTURE(sector);
      CAPTURE(places);
      TwoLevelCache cache{Bytes{places * sector + sector / 2}, Bytes{sector}};
      SlowModel model{places, sector};
      for (std::uint64_t i = 0; i < std::min<std::uint64_t>(test::steps(400), 60'000); ++i) {
        const auto offset = below(5 * places * sector);
        const auto size = below(4) == 0 ? below(3 * places * sector) : below(2 * sector + 1);
        const bool writes = below(2) == 0;
        CAPTURE(i);
        const auto ours = writes ? cache.write(offset, Bytes{size}) : cache.read(offset, Bytes{size});
        REQUIRE(ours == model.access(offset, size, writes));
      }
    }
}

TEST_CASE("sectors that share a place are told apart up to the largest slow memory that is allowed") {
  for (const std::size_t places : {1, 3}) {
    const Bytes sector = 64_B, capacity = sector * places + 10_B;
    const auto most = TwoLevelCache::most_behind(capacity, sector);
    CHECK(most.count == sector.count * places * ((std::size_t{1} << 31) - 1));
    TwoLevelCache cache{capacity, sector};
    const auto last = most.count - sector.count;                      // in the place of an early sector, too
    CHECK(cache.read(last, 1_B) == TwoLevelCache::Outcome{0, 1, 0});  // not mistaken for an empty place
    CHECK(cache.write(last, 1_B) == TwoLevelCache::Outcome{1, 0, 0});
    CHECK(cache.read(sector.count * (places - 1), 1_B) == TwoLevelCache::Outcome{0, 0, 1});
    CHECK(cache.read(last, 1_B) == TwoLevelCache::Outcome{0, 1, 0});
  }
}

TEST_CASE(
    "what a hardware cache moves follows from its hits and misses, and from what kernels read and write") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  const auto trace = random_steps(random, {.kernels = 300, .iterations = 2, .largest = 200'000});
  double read = 0, written = 0;
  for (const auto& kernel : trace.kernels())
    for (const auto& o : trace.operands(kernel)) {
      const bool is_norm = trace.name(kernel.op).starts_with("bn_");
      const auto bytes = static_cast<double>(o.touched.count);
      if (o.role == trace::Role::Reads || o.role == trace::Role::Updates)
        read += (is_norm ? 2 : 1) * bytes / 2;
      if (o.role != trace::Role::Reads) written += bytes / 2;
    }
  for (const bool frees_early : {false, true}) {
    CAPTURE(frees_early);
    auto options = with_sectors(64_B, frees_early);
    options.tag_checked_writes = 0.5;
    const auto r = replay::run_two_level(trace, small_machine(), tiers, options);
    const auto &fast = r.traffic.at(0), &slow = r.traffic.at(1);
    REQUIRE(r.cache);
    const auto near = [](double value) { return doctest::Approx(value).epsilon(1e-5); };  // counts are whole
    const double misses = 64.0 * static_cast<double>(r.cache->clean_misses + r.cache->dirty_misses);
    CHECK(static_cast<double>(slow.read) == near(misses));
    CHECK(static_cast<double>(slow.written) == near(64.0 * static_cast<double>(r.cache->dirty_misses)));
    CHECK(static_cast<double>(fast.read) == near(read + written / 2));
    CHECK(static_cast<double>(fast.written) == near(written + misses));
    CHECK(r.seconds >= r.lower_bound * 0.999999);
    CHECK(r.seconds == r.compute);
    CHECK(r.copied.empty());
  }
}

TEST_CASE("with early freeing a hardware cache meets addresses again that it has, without it new ones") {
  const auto trace = chain(200);  // 12.5 MiB, of which two tensors are alive
  const auto early = replay::run_two_level(trace, small_machine(), tiers, with_sectors(4_KiB, true));
  CHECK(early.cache->dirty_misses == 0);
  CHECK(early.traffic.at(1).read == 0);
  CHECK(early.inputs_fast_share == 1);
  CHECK(early.outputs_fast_share == 1);
  CHECK(early.traffic.at(1).high_water == (128_KiB).count);
  const auto late = replay::run_two_level(trace, small_machine(), tiers, with_sectors(4_KiB, false));
  CHECK(late.traffic.at(1).written ==
        (std::size_t{200} * 64_KiB).count);  // dead contents are written all the same
  CHECK(late.inputs_fast_share == 1);
  CHECK(late.outputs_fast_share == 0);
  CHECK(late.seconds > early.seconds);
  CHECK(late.traffic.at(1).high_water == (std::size_t{200} * 64_KiB).count);
}

TEST_CASE("without early freeing a collection comes when more than 80 % of slow memory are in use") {
  const auto trace = chain(200);
  std::size_t most = 0, collections = 0, last = 0;
  auto options = with_sectors(4_KiB, false);
  options.passes = 1;
  options.after_kernel = [&](std::uint64_t, double seconds, Bytes allocated) {
    CHECK(seconds >= 0);
    most = std::max(most, allocated.count);
    if (allocated.count < last) ++collections;
    last = allocated.count;
  };
  const auto r = replay::run_two_level(trace, small_machine(), {{"fast", 1_MiB}, {"slow", 4_MiB}}, options);
  CHECK(most == r.traffic.at(1).high_water);
  CHECK(most == 52 * (64_KiB).count);  // the first above 80 % of 64
  CHECK(collections == 3);
}

TEST_CASE("a hardware cache is as well told in sectors of 64 KiB as of 4 KiB, where tensors are large") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  const auto trace =
      random_steps(random, {.kernels = 400, .smallest = 8 << 20, .largest = 64 << 20, .most_alive = 20});
  const std::vector<replay::SimulatedTier> large{{"fast", 256_MiB}, {"slow", 8_GiB}};
  const auto coarse = replay::run_two_level(trace, small_machine(), large, with_sectors(64_KiB));
  const auto fine = replay::run_two_level(trace, small_machine(), large, with_sectors(4_KiB));
  for (std::size_t t = 0; t < 2; ++t) {
    CHECK(static_cast<double>(coarse.traffic[t].read) ==
          doctest::Approx(static_cast<double>(fine.traffic[t].read)).epsilon(0.02));
    CHECK(static_cast<double>(coarse.traffic[t].written) ==
          doctest::Approx(static_cast<double>(fine.traffic[t].written)).epsilon(0.02));
  }
}

TEST_CASE("a hardware cache has what a pass has retired again in the next one, at an address of its own") {
  const auto trace = read(
      "H tmtrace=1 recorded=1\n"
      "T 1 65536 p x\n"
      "T 2 65536 p y\n"
      "K one f 0 R 1 W - U 2\n"
      "X 1\n"
      "K two f 0 R 2 W - U -\n"
      "X 2\n");
  for (const bool frees_early : {false, true}) {
    CAPTURE(frees_early);
    auto options = with_sectors(64_B, frees_early);
    for (const unsigned passes : {1U, 2U, 3U}) {
      CAPTURE(passes);
      options.passes = passes;
      const auto r = replay::run_two_level(trace, small_machine(), tiers, options);
      CHECK(r.cache->hits + r.cache->clean_misses + r.cache->dirty_misses == 4 * (64_KiB).count / 64);
      CHECK(r.traffic.at(1).high_water == (128_KiB).count);
      CHECK(r.outputs_fast_share == 1);
    }
  }
}

TEST_CASE("what cannot be a hardware cache is named") {
  const auto machine = small_machine();
  const auto trace = chain(10);
  const auto message = [&](const std::vector<replay::SimulatedTier>& some,
                           replay::TwoLevelOptions options = {}) {
    return message_of([&] { (void)replay::run_two_level(trace, machine, some, options); });
  };
  CHECK(message({{"fast", 1_MiB}}) ==
        "a hardware cache takes two tiers, the cache and what is behind it, not 1");
  CHECK(message({{"fast", 1_MiB}, {"optane", 1_MiB}}).find("has no such device") != std::string::npos);
  CHECK(message({{"fast", 1_MiB}, {"disk", 1_GiB}}).find("tier disk cannot be a part of a hardware cache") !=
        std::string::npos);
  CHECK(message({{"fast", 32_KiB}, {"slow", 1_MiB}}).find("tier fast cannot be a part of a hardware cache") !=
        std::string::npos);
  const auto large = message({{"fast", 64_KiB}, {"slow", Bytes{std::size_t{1} << 48}}});
  CHECK(large.starts_with("tier slow of 256TiB is too large behind a hardware cache of 64KiB, "));
  CHECK(large.find("which allows at most 137438953408KiB behind it; ") != std::string::npos);
  CHECK(message({{"fast", 64_KiB}, {"slow", 140'737'488'289'792_B}}) == "nothing thrown");
  CHECK(message(tiers, {.passes = 0}) == "a replay must go over its trace at least once");
  CHECK(message(tiers, with_sectors(Bytes{32}))
            .find("is not allowed: a sector must be a power of two, 64 B or more") != std::string::npos);
  CHECK(message(tiers, with_sectors(Bytes{96}))
            .find("is not allowed: a sector must be a power of two, 64 B or more") != std::string::npos);
  CHECK(message({{"fast", 64_KiB}, {"slow", 64_KiB}}) ==
        "no room in slow for t1, 64KiB, of kernel unheard_of: 0 of 64KiB are free, the largest run 0");
}

}  // namespace tier::two_level_test
