// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Windows of freed objects keep their pages for the next objects of their size: giving pages back and getting new
///        ones costs far more than the work of a growing container in between.
#include <algorithm>
#include <functional>

#include "manager_core.hpp"

namespace tier {
namespace {

constexpr std::size_t most_cached = 64;  // windows; to search so many is cheap next to making one

}  // namespace

/// Keeps the pages of a block whose object is gone as a region of its window, if they may be written unnoticed.
/// \return  false if the pages must be given back
bool ManagerCore::cache_pages(Block& b) noexcept {
  auto& record = *b.record;
  Region* const primary = record.primary();
  if (record.window_address == nullptr || primary == nullptr || primary->tier != 0) return false;
  if (options_.cached_windows->count == 0 || closed_ || !record.writable || primary->readers > 0)
    return false;
  if (b.address.load(std::memory_order_relaxed) == nullptr || !shows_in(b, 0)) return false;
  try {
    record.window->cached.push_back({primary, record.window_address, b.size});
  } catch (const std::bad_alloc&) {
    return false;
  }
  if (!record.window->is_linked()) partly_cached_.push_back(*record.window);
  auto& state = tiers_[0];
  const auto size = state.heap.size(primary->slot);
  RegionEvent event{{}, 0, 0, {size}, true};
  announcer_.tell(event, &Observer::on_region);
  primary->block = nullptr;
  primary->cached = true;
  state.cached += size;
  ++state.cached_regions;
  return true;
}

/// Keeps a window for the next object of its size.   \return  false if the window goes
bool ManagerCore::cache(ObjectWindow& window) noexcept {
  if (window.is_linked()) partly_cached_.erase(partly_cached_.iterator_to(window));
  const auto limit = options_.cached_windows->count;
  const auto size = window.cached_size();
  if (closed_ || size == 0 || size > limit || round_up(size, WindowSpace::unit) != window.range.size)
    return false;
  std::ranges::sort(window.cached, std::greater{}, &CachedPages::window_address);
  cached_windows_.push_front(window);
  const auto too_much = [&]() TIER_REQUIRES(mutex_) {
    return tiers_[0].cached > limit || cached_windows_.size() > most_cached;
  };
  while (too_much() && !cached_windows_.empty()) give_up(cached_windows_.back());
  return true;
}

/// Takes a cached window; the caller counts as one of its blocks.   \return  null if none fits
ObjectWindow* ManagerCore::cached_window(std::size_t whole, std::size_t end, std::size_t alignment) noexcept {
  for (auto& window : cached_windows_) {
    if (window.range.size != whole || window.cached_size() != end) continue;
    if (reinterpret_cast<std::uintptr_t>(window.range.address) % alignment != 0) continue;
    cached_windows_.erase(cached_windows_.iterator_to(window));
    window.blocks = 1;
    return &window;
  }
  return nullptr;
}

/// Takes the region whose cached pages are at the block's place.
/// \param t  the block's tier: if it is another one, or the window was cut differently, the cached pages are given back
/// \return   null if there is none
Region* ManagerCore::cached_region(const Block& b, TierIndex t) noexcept {
  if (b.record->window == nullptr || b.record->window->cached.empty()) return nullptr;
  auto& cached = b.record->window->cached;
  const CachedPages pages = cached.back();
  if (t != 0 || pages.window_address != b.record->window_address || pages.size != b.size) {
    drop_cached_pages(*b.record->window);
    return nullptr;
  }
  cached.pop_back();
  uncache(*pages.region);
  RegionEvent event{{}, 0, 0, {tiers_[0].heap.size(pages.region->slot)}, false};
  announcer_.tell(event, &Observer::on_region);
  note_high_water(tiers_[0]);
  return pages.region;
}

void ManagerCore::uncache(Region& region) noexcept {
  region.cached = false;
  tiers_[0].cached -= tiers_[0].heap.size(region.slot);
  --tiers_[0].cached_regions;
}

void ManagerCore::drop_cached_pages(ObjectWindow& window) noexcept {
  for (const auto& pages : window.cached) {
    if (windows_->mode() == WindowMode::Restricted)
      WindowSpace::drop(pages.window_address, pages.size);
    else
      take_home(*pages.region, pages.window_address, pages.size);
    free_region(pages.region);
  }
  window.cached.clear();
}

/// Gives up a cached window.
void ManagerCore::give_up(ObjectWindow& window) noexcept {
  cached_windows_.erase(cached_windows_.iterator_to(window));
  window.blocks = 1;  // this function
  drop_cached_pages(window);
  let_go(window);
}

/// \return  true if there were any
bool ManagerCore::drop_cached_windows() noexcept {
  const bool any = !cached_windows_.empty() || !partly_cached_.empty();
  while (!cached_windows_.empty()) give_up(cached_windows_.front());
  while (!partly_cached_.empty()) {
    auto& window = partly_cached_.front();
    partly_cached_.pop_front();
    drop_cached_pages(window);
  }
  return any;
}

}  // namespace tier
