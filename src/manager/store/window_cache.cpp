// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "window_cache.hpp"

#include <tier/core/config.hpp>

#include <algorithm>
#include <functional>

namespace tier {
namespace {

constexpr std::size_t most_cached = 64;  // windows; to search so many is cheap next to making one

}  // namespace

WindowCache::WindowCache(State& state, TierSet& tiers, RegionStore& regions, WindowPages& pages)
    : state_{state},
      tiers_{tiers},
      regions_{regions},
      pages_{pages},
      limit_{state.options.cached_windows
                 .value_or(Bytes{detail::checked ? 0 : tiers.fastest().heap.capacity().count / 8})
                 .count} {
  regions_.on_shortage([this] { return drop_all(); });
}

ObjectWindow* WindowCache::add() {
  auto* const window = new ObjectWindow{{}, {}, 1, {}};
  ++count_;
  return window;
}

ObjectWindow* WindowCache::take(std::size_t whole, std::size_t end, std::size_t alignment) noexcept {
  for (auto& window : cached_windows_) {
    if (window.range.size != whole || window.cached_size() != end) continue;
    if (reinterpret_cast<std::uintptr_t>(window.range.address) % alignment != 0) continue;
    cached_windows_.erase(cached_windows_.iterator_to(window));
    window.blocks = 1;
    return &window;
  }
  return nullptr;
}

void WindowCache::let_go(ObjectWindow& window) noexcept {
  if (--window.blocks > 0 || cache(window)) return;
  drop_pages(window);
  if (window.range.address != nullptr) pages_.existing_space()->release(window.range);
  --count_;
  delete &window;
}

void WindowCache::leave(Block& b) noexcept {
  pages_.note_end();
  WindowSpace::tag(b.record->window_address, b.size, nullptr);
  let_go(*b.record->window);
}

bool WindowCache::cache_pages(Block& b) noexcept {
  auto& record = *b.record;
  Region* const primary = record.primary();
  if (record.window_address == nullptr || primary == nullptr || primary->tier != 0) return false;
  if (limit_ == 0 || state_.lifetime.is_closed() || !record.writable || primary->readers > 0) return false;
  if (b.address.load(std::memory_order_relaxed) == nullptr || !pages_.shows_in(b, 0)) return false;
  try {
    record.window->cached.push_back({primary, record.window_address, b.size});
  } catch (const std::bad_alloc&) {
    return false;
  }
  if (!record.window->is_linked()) partly_cached_.push_back(*record.window);
  regions_.cache(*primary);
  return true;
}

/// Keeps a window for the next object of its size.   \return  false if the window goes
bool WindowCache::cache(ObjectWindow& window) noexcept {
  if (window.is_linked()) partly_cached_.erase(partly_cached_.iterator_to(window));
  const auto size = window.cached_size();
  if (state_.lifetime.is_closed() || size == 0 || size > limit_ ||
      round_up(size, WindowSpace::unit) != window.range.size)
    return false;
  std::ranges::sort(window.cached, std::greater{}, &CachedPages::window_address);
  cached_windows_.push_front(window);
  const auto too_much = [&]() { return tiers_[0].cached > limit_ || cached_windows_.size() > most_cached; };
  while (too_much() && !cached_windows_.empty()) give_up(cached_windows_.back());
  return true;
}

Region* WindowCache::take_region(const Block& b, TierIndex t) noexcept {
  if (b.record->window == nullptr || b.record->window->cached.empty()) return nullptr;
  auto& cached = b.record->window->cached;
  const CachedPages pages = cached.back();
  if (t != 0 || pages.window_address != b.record->window_address || pages.size != b.size) {
    drop_pages(*b.record->window);
    return nullptr;
  }
  cached.pop_back();
  regions_.uncache(*pages.region);
  regions_.tell_given_out(*pages.region);
  return pages.region;
}

void WindowCache::drop_pages(ObjectWindow& window) noexcept {
  for (const auto& pages : window.cached) {
    if (pages_.existing_space()->mode() == WindowMode::Restricted)
      WindowSpace::drop(pages.window_address, pages.size);
    else
      pages_.take_home(*pages.region, pages.window_address, pages.size);
    regions_.free(pages.region);
  }
  window.cached.clear();
}

/// Gives up a cached window.
void WindowCache::give_up(ObjectWindow& window) noexcept {
  cached_windows_.erase(cached_windows_.iterator_to(window));
  window.blocks = 1;  // this function
  drop_pages(window);
  let_go(window);
}

bool WindowCache::drop_all() noexcept {
  const bool any = !cached_windows_.empty() || !partly_cached_.empty();
  while (!cached_windows_.empty()) give_up(cached_windows_.front());
  while (!partly_cached_.empty()) {
    auto& window = partly_cached_.front();
    partly_cached_.pop_front();
    drop_pages(window);
  }
  return any;
}

}  // namespace tier
