// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/assert.hpp>
#include <tier/core/error.hpp>
#include <tier/core/mutex.hpp>
#include <tier/core/suggestion.hpp>
#include <tier/manager/manager.hpp>
#include <tier/pmr/placed_resource.hpp>

#include <algorithm>
#include <cstdio>
#include <string>
#include <unordered_map>
#include <utility>

#include "pmr/fork_mutex.hpp"
#include "pmr/ledger.hpp"
#include "pmr/metadata.hpp"

namespace tier {
namespace {

constexpr std::size_t largest_alignment = std::size_t{2} << 20;  // that of a tier's first byte

std::string names_of_tiers(Manager& manager) {
  std::string names;
  const auto tiers = static_cast<TierIndex>(manager.tier_count());
  for (TierIndex t = 0; t < tiers; ++t)
    if (manager.tier(t).base() != nullptr)
      names.append(names.empty() ? "" : ", ").append(manager.tier(t).name());
  return names;
}

TierIndex checked_tier(Manager& manager, TierIndex tier) {
  const auto text = std::to_string(tier);
  if (tier >= manager.tier_count())
    throw ConfigError{"no such tier", text, 0, "0 to " + std::to_string(manager.tier_count() - 1)};
  if (manager.tier(tier).base() == nullptr)
    throw ConfigError{"the CPU cannot address this tier", text, 0, names_of_tiers(manager)};
  return tier;
}

TierIndex find_tier(Manager& manager, std::string_view name) {
  const auto tiers = static_cast<TierIndex>(manager.tier_count());
  for (TierIndex t = 0; t < tiers; ++t)
    if (manager.tier(t).name() == name) {
      if (manager.tier(t).base() != nullptr) return t;
      throw ConfigError{"the CPU cannot address this tier", name, 0, names_of_tiers(manager)};
    }
  const auto names = names_of_tiers(manager);
  throw ConfigError{"no such tier" + detail::did_you_mean(name, names), name, 0, names};
}

}  // namespace

/// The allocations of one tier, by address.
/// \threadsafety  Internally synchronised; calls the manager outside its lock.
class PlacedResource::Placements {
 public:
  Placements(std::shared_ptr<Manager> manager, TierIndex tier) : manager_{std::move(manager)}, tier_{tier} {}
  ~Placements() { report_leaks(); }
  Placements(const Placements&) = delete;
  Placements& operator=(const Placements&) = delete;

  void* allocate(std::size_t size, std::size_t alignment) {
    if (alignment > largest_alignment) throw OutOfTierMemory{"memory in a tier is aligned to 2 MiB at most"};
    auto storage = manager_->place(Bytes{std::max<std::size_t>(size, 1)}, alignment, tier_, "PlacedResource");
    void* const p = storage.address();
    if constexpr (detail::checked) ledger_.add(p, size, alignment);
    try {
      const MutexLock lock{mutex_};
      storages_.emplace(p, std::move(storage));
    } catch (...) {
      if constexpr (detail::checked) ledger_.remove(p, size, alignment, false);
      throw;
    }
    return p;
  }
  void deallocate(void* p, std::size_t size, std::size_t alignment) noexcept {
    if constexpr (detail::checked) ledger_.remove(p, size, alignment, false);
    Storages::node_type storage;  // freed outside the lock
    const MutexLock lock{mutex_};
    storage = storages_.extract(p);
  }
  [[nodiscard]] TierIndex tier() const noexcept { return tier_; }

 private:
  using Storages = std::unordered_map<void*, PlacedStorage, std::hash<void*>, std::equal_to<>,
                                      detail::MetadataAllocator<std::pair<void* const, PlacedStorage>>>;

  void report_leaks() const noexcept TIER_NO_THREAD_SAFETY_ANALYSIS {
    if (storages_.empty()) return;
    Bytes bytes;
    for (const auto& [p, storage] : storages_) bytes += storage.size_bytes();
    const auto name = manager_->tier(tier_).name();
    std::fprintf(stderr, "libtier: a PlacedResource in %.*s ends before %zu of its allocations, %zu B\n",
                 static_cast<int>(name.size()), name.data(), storages_.size(), bytes.count);
    TIER_ASSERT(storages_.empty(), "a PlacedResource ends before what was allocated from it");
  }

  std::shared_ptr<Manager> manager_;
  TierIndex tier_;
  detail::Ledger ledger_{"PlacedResource"};
  detail::ForkMutex mutex_;
  Storages storages_ TIER_GUARDED_BY(mutex_);
};

PlacedResource::PlacedResource(const RuntimeRef& runtime, TierIndex tier)
    : placements_{std::make_unique<Placements>(runtime.manager(), checked_tier(*runtime.manager(), tier))} {}

PlacedResource::PlacedResource(const RuntimeRef& runtime, std::string_view tier)
    : PlacedResource{runtime, find_tier(*runtime.manager(), tier)} {}

PlacedResource::~PlacedResource() = default;

TierIndex PlacedResource::tier() const noexcept { return placements_->tier(); }

void* PlacedResource::do_allocate(std::size_t size, std::size_t alignment) {
  return placements_->allocate(size, alignment);
}

void PlacedResource::do_deallocate(void* p, std::size_t size, std::size_t alignment) noexcept {
  placements_->deallocate(p, size, alignment);
}

}  // namespace tier
