// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  The memory of a process that uses all of a runtime, as the system counts it.
#include "support/child.hpp"
#include "support/sanitized.hpp"
#include "support/seed.hpp"
#include "support/steps.hpp"

#include <doctest/doctest.h>
#include <tier/core/error.hpp>
#include <tier/runtime/runtime.hpp>
#include <tier/scope/scope.hpp>
#include <tier/tensor/tensor.hpp>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace tier::resident_memory_test {
namespace {

using namespace literals;
using ByteTensor = Tensor<unsigned char>;

/// Returns a value of /proc/self/status, such as "VmRSS:    1234 kB".
Bytes of_process(const std::string& what) {
  std::ifstream status{"/proc/self/status"};
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(what + ":")) return 1_KiB * std::stoull(line.substr(what.size() + 1));
  FAIL("no ", what);
  return {};
}

/// Fills all tiers with objects of 4 KiB to 4 MiB and keeps them full while objects come, go and are used.
class Churn {
 public:
  Churn(Runtime& runtime, std::uint64_t seed) : runtime_{runtime}, random_{seed} {}

  void run(int steps) {
    while (add()) {
    }
    for (int i = 0; i < steps; ++i) {
      while (!add()) remove();
      use();
      if (below(8) == 0) prefetch(any());
      if (below(64) == 0) runtime_.end_of_step();
      if (below(512) == 0) runtime_.compact();
    }
  }
  std::size_t objects() const { return objects_.size(); }

 private:
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  ByteTensor& any() { return objects_[below(objects_.size())]; }
  bool add() {
    const auto magnitude = std::size_t{4096} << below(10);
    try {
      objects_.emplace_back(runtime_, Shape{magnitude + below(magnitude)});
    } catch (const OutOfTierMemory&) {
      return false;
    }
    fill(objects_.back());
    return true;
  }
  void remove() {
    std::swap(any(), objects_.back());
    objects_.pop_back();
  }
  /// Ignores a lack of room to exchange blocks: the memory to measure is in use then.
  void fill(ByteTensor& object) try {
    WriteScope out{overwrites(object)};
    const auto bytes = out[object].elements();
    std::memset(bytes.data(), 'x', bytes.size());
  } catch (const OutOfTierMemory&) {
  }
  void use() try {
    const ReadScope in{any()};
    fill(any());
  } catch (const OutOfTierMemory&) {
  }

  Runtime& runtime_;
  std::mt19937_64 random_;
  std::vector<ByteTensor> objects_;
};

struct Tiers {
  std::string name;
  std::vector<TierSpec> specs;
  Bytes in_memory;  // capacities that count as memory of this process
};

std::vector<Tiers> all_tiers() {
  return {{"dram and emulated", {tiers::dram(256_MiB), tiers::emulated("cxl", 256_MiB)}, 512_MiB},
          {"dram and mapped", {tiers::dram(128_MiB), tiers::mapped("/var/tmp", 256_MiB)}, 384_MiB},
          {"dram and file", {tiers::dram(256_MiB), tiers::file("/var/tmp", 256_MiB)}, 256_MiB}};
}

/// Returns the largest growth of a process that uses these tiers.
Bytes growth(Tiers tiers, bool prefault, std::uint64_t seed) {
  for (auto& spec : tiers.specs) spec.prefault = prefault;
  const auto label = tiers.name + (prefault ? ", faulted in" : "");
  const auto use = [&] {
    const auto before = of_process("VmRSS");
    RuntimeOptions options;
    options.tiers = tiers.specs;
    options.policy = "lru";
    options.threads = 2;
    Runtime runtime{options};
    Churn churn{runtime, seed};
    churn.run(test::long_form() ? 300 : 100);
    std::fprintf(stderr, "%zu\n", (of_process("VmHWM") - before).count);
  };
  const auto ended = test::run_in_child(label, use, {{"TIER_SEED", std::to_string(seed)}});
  CHECK(ended.code == 0);
  return Bytes{std::stoull("0" + ended.errors)};
}

}  // namespace

TEST_CASE("resident memory stays within the tiers' capacity, 5 % and 64 MiB, however objects come and go") {
  if (test::sanitized) {
    MESSAGE("skipped: a sanitizer has memory of its own");
    return;
  }
  const auto seed = test::seed();
  CAPTURE(seed);
  for (const auto& tiers : all_tiers()) {
    for (const bool prefault : {true, false}) {
      CAPTURE(tiers.name);
      CAPTURE(prefault);
      const auto grown = growth(tiers, prefault, seed);
      MESSAGE(to_human(grown) << " of " << to_human(tiers.in_memory));
      CHECK(grown > tiers.in_memory * 9 / 10);  // all of it was used
      CHECK(grown <= tiers.in_memory * 21 / 20 + 64_MiB);
    }
  }
}

}  // namespace tier::resident_memory_test
