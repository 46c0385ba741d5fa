// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/assert.hpp>
#include <tier/core/error.hpp>
#include <tier/core/mutex.hpp>
#include <tier/core/request_size.hpp>
#include <tier/core/suggestion.hpp>
#include <tier/manager/manager.hpp>
#include <tier/pmr/placed_resource.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <new>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "pmr/fork_mutex.hpp"
#include "pmr/ledger.hpp"
#include "pmr/metadata.hpp"
#include "pmr/segment_heap.hpp"

namespace tier {
namespace {

constexpr std::size_t largest_alignment = std::size_t{2} << 20;  // the alignment of a tier's first byte

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

/// Keeps the allocations of one tier, by address. If regions are whole sectors of a device, which memory that never moves
/// does not need, allocations smaller than a sector share segments.
/// \threadsafety  Internally synchronised; segments are allocated and freed under its lock.
class PlacedResource::Placements final : private detail::SegmentSource {
 public:
  Placements(std::shared_ptr<Manager> manager, TierIndex tier)
      : manager_{std::move(manager)}, tier_{tier}, region_{least_region(*manager_)} {}
  ~Placements() {
    report_leaks();
    heap_.release();
  }
  Placements(const Placements&) = delete;
  Placements& operator=(const Placements&) = delete;

  void* allocate(std::size_t size, std::size_t alignment) {
    if (alignment > largest_alignment)
      throw OutOfTierMemory{"memory in a tier can be aligned to 2 MiB at most"};
    detail::check_request(size, alignment);
    const auto c = detail::class_of(size, alignment);
    void* const p =
        is_small(c) ? allocate_small(detail::SizeClass(c), size) : allocate_large(size, alignment);
    if constexpr (detail::checked) note(p, size, alignment);
    return p;
  }
  void deallocate(void* p, std::size_t size, std::size_t alignment) noexcept {
    if constexpr (detail::checked) ledger_.remove(p, {size, alignment});
    give_back(p, size, alignment);
  }
  [[nodiscard]] TierIndex tier() const noexcept { return tier_; }

 private:
  using Storages = std::unordered_map<void*, PlacedStorage, std::hash<void*>, std::equal_to<>,
                                      detail::MetadataAllocator<std::pair<void* const, PlacedStorage>>>;

  static std::size_t least_region(Manager& manager) noexcept {
    std::size_t region = 64;
    const auto tiers = static_cast<TierIndex>(manager.tier_count());
    for (TierIndex t = 0; t < tiers; ++t) region = std::max(region, manager.tier(t).io_alignment());
    return region;
  }
  [[nodiscard]] bool is_small(unsigned c) const noexcept {
    return region_ > 64 && c < detail::class_count && detail::class_size(detail::SizeClass(c)) < region_;
  }
  [[nodiscard]] PlacedStorage place(std::size_t size, std::size_t alignment) {
    return manager_->allocate_fixed(Bytes{std::max<std::size_t>(size, 1)}, alignment, tier_,
                                    "PlacedResource");
  }

  void* allocate_large(std::size_t size, std::size_t alignment) {
    auto storage = place(size, alignment);
    void* const p = storage.address();
    const MutexLock lock{mutex_};
    large_.emplace(p, std::move(storage));
    return p;
  }
  void* allocate_small(detail::SizeClass c, std::size_t size) {
    if (::getpid() != process_)
      return place(detail::class_size(c), 1).address();  // throws: memory is the parent's
    const MutexLock lock{mutex_};
    void* cell = nullptr;
    try {
      std::ignore = heap_.allocate(c, {&cell, 1});
    } catch (const std::bad_alloc&) {
      cell = heap_.allocate_alone(c);
    }
    small_bytes_ += size;
    return cell;
  }
  void give_back(void* p, std::size_t size, std::size_t alignment) noexcept {
    const auto c = detail::class_of(size, alignment);
    if (!is_small(c)) return deallocate_large(p, size, alignment);
    const MutexLock lock{mutex_};
    heap_.free(detail::SizeClass(c), {&p, 1});
    small_bytes_ -= size;
    if (heap_.cells() + heap_.alone().cells == 0) heap_.release();
  }
  void deallocate_large(void* p, std::size_t size, std::size_t alignment) noexcept {
    Storages::node_type storage;  // freed outside the lock
    const MutexLock lock{mutex_};
    storage = large_.extract(p);
    if (storage.empty()) detail::refuse_unknown("PlacedResource", p, false);
    const auto was = storage.mapped().size_bytes().count;
    if (was != std::max<std::size_t>(size, 1))
      detail::refuse_other("PlacedResource", p, {size, alignment}, {was, alignment});
  }
  /// If the allocation cannot be recorded it is undone, and the exception rethrown.
  void note(void* p, std::size_t size, std::size_t alignment) {
    try {
      ledger_.add(p, size, alignment);
    } catch (...) {
      give_back(p, size, alignment);
      throw;
    }
  }

  // Called by the heap, under the lock.
  [[nodiscard]] detail::SegmentMemory allocate_segment() override {
    return {static_cast<std::byte*>(add_shared(detail::segment_size, detail::segment_size)), nullptr};
  }
  void free_segment(detail::SegmentMemory segment) noexcept override { shared_.erase(segment.data); }
  [[nodiscard]] void* allocate_cell(detail::SizeClass c) override {
    return add_shared(detail::class_size(c), detail::class_alignment(c));
  }
  bool free_cell(void* cell, detail::SizeClass) noexcept override { return shared_.erase(cell) == 1; }
  void free_all() noexcept override { shared_.clear(); }
  void* add_shared(std::size_t size, std::size_t alignment) {
    auto storage = place(size, alignment);
    void* const p = storage.address();
    shared_.emplace(p, std::move(storage));
    return p;
  }

  void report_leaks() const noexcept TIER_NO_THREAD_SAFETY_ANALYSIS {
    const auto count = large_.size() + heap_.cells() + heap_.alone().cells;
    if (count == 0) return;
    Bytes bytes{small_bytes_};
    for (const auto& [p, storage] : large_) bytes += storage.size_bytes();
    const auto name = manager_->tier(tier_).name();
    std::fprintf(
        stderr,
        "libtier: a PlacedResource in %.*s ends while %zu of its allocations, %zu B, are in use; what uses "
        "them must end first\n",
        static_cast<int>(name.size()), name.data(), count, bytes.count);
    TIER_ASSERT(count == 0, "a PlacedResource must not end before what was allocated from it");
  }

  std::shared_ptr<Manager> manager_;
  TierIndex tier_;
  std::size_t region_;  // the smallest region of the tier
  ::pid_t process_ = ::getpid();
  detail::Ledger ledger_{"PlacedResource"};
  detail::ForkMutex mutex_;
  Storages large_ TIER_GUARDED_BY(mutex_);
  Storages shared_;  // of the heap
  detail::SegmentHeap heap_ TIER_GUARDED_BY(mutex_){*this};
  std::size_t small_bytes_ TIER_GUARDED_BY(mutex_) = 0;  // in the heap, as requested
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
