// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The floors of a manager over tiers in memory, without the manager: for tests of single parts.
#include <tier/copy/copy_engine.hpp>

#include <cstring>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "manager/movement/movement.hpp"
#include "manager/rig.hpp"
#include "manager/state/state.hpp"
#include "manager/store/store.hpp"

namespace tier::test {

/// \threadsafety  One thread, and the movers of its engine.
class Floors {
 public:
  explicit Floors(const std::vector<MemoryTierOptions>& tiers,
                  ManagerOptions options = {.threads = 1, .movers = 1, .yields = false})
      : Floors{make_tiers(tiers), std::make_unique<ScriptedPolicy>(), options} {}
  ~Floors() { finish(); }
  Floors(const Floors&) = delete;
  Floors& operator=(const Floors&) = delete;

  /// Makes a block whose bytes, all `value`, are in a tier that the CPU can use.
  Block& make(TierIndex t, std::uint64_t size, char value = 0) {
    Block& b = store.blocks.add(size, 64);
    std::error_code cause;
    store.blocks.set_primary(b, store.regions.allocate(t, size, 64, cause));
    write(b, value);
    return b;
  }
  /// As a scope that writes: raises the version.
  static void write(Block& b, char value) {
    b.version.fetch_add(1);
    std::memset(b.address.load(), value, b.size);
  }
  [[nodiscard]] static TierIndex tier_of(const Block& b) { return b.record->primary()->tier; }
  /// Waits until nothing moves.
  void finish() {
    MutexLock lock{mutex};
    while (!movement.transfers.is_idle()) movement.transfers.hurry(true, lock);
  }
  [[nodiscard]] MemoryTier& tier(TierIndex t) { return static_cast<MemoryTier&>(*store.tiers[t].tier); }

  Mutex mutex;
  UseClock clock;
  ScriptedPolicy* policy;
  State state;
  Store store;
  Movement movement;
  CopyEngine engine;

 private:
  Floors(std::vector<std::unique_ptr<Tier>> tiers, std::unique_ptr<ScriptedPolicy> scripted,
         const ManagerOptions& options)
      : policy{scripted.get()},
        state{mutex,
              clock,
              engine,
              options,
              std::move(scripted),
              [] {},
              [] { return std::shared_ptr<Manager>{}; }},
        store{state, nullptr, std::move(tiers)},
        movement{state, store},
        engine{{.threads = options.threads, .movers = options.movers, .yields = options.yields}} {}
  static std::vector<std::unique_ptr<Tier>> make_tiers(const std::vector<MemoryTierOptions>& options) {
    std::vector<std::unique_ptr<Tier>> tiers;
    for (const auto& t : options) tiers.push_back(std::make_unique<MemoryTier>(t));
    return tiers;
  }
};

}  // namespace tier::test
