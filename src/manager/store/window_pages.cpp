// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "window_pages.hpp"

#include <tier/core/assert.hpp>
#include <tier/core/error.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "memory/system/pages.hpp"

namespace tier {
namespace {

constexpr std::size_t huge_page = TierSet::huge_page;

/// True for transient errors; a missing privilege is permanent.
bool is_shortage(const std::error_code& error) noexcept {
  return error == std::errc::too_many_files_open || error == std::errc::too_many_files_open_in_system ||
         error == std::errc::not_enough_memory || error == std::errc::resource_unavailable_try_again;
}

}  // namespace

std::byte* page_of(std::byte* address) noexcept {
  return address - reinterpret_cast<std::uintptr_t>(address) % page_size();
}

std::size_t WindowPages::largest_block(Bytes asked, Bytes fastest) {
  if (asked.count == 0) return std::clamp(std::bit_floor(fastest.count / 32), WindowSpace::unit, huge_page);
  if (!std::has_single_bit(asked.count) || asked.count < WindowSpace::unit || asked.count > huge_page)
    throw ConfigError{"blocks of windows of " + std::to_string(asked.count) +
                      " bytes; allowed: a power of two from 64 KiB to 2 MiB"};
  return asked.count;
}

WindowSpace& WindowPages::space() {
  if (windows_ != nullptr) return *windows_;
  const bool has_memory = tiers_.fastest().tier->has_private_pages();
  if (state_.options.windows == WindowMode::Full && !has_memory)
    throw TierError{std::make_error_code(std::errc::not_supported),
                    "full windows need a fastest tier with pages that they can take; tier " +
                        std::string{tiers_.fastest().tier->name()} + " has no such pages"};
  tiers_.track_bare_pages();
  if (has_memory && state_.options.windows != WindowMode::Restricted) try {
      windows_ = served_windows();
    } catch (const TierError& error) {
      if (state_.options.windows == WindowMode::Full || is_shortage(error.code())) throw;
    }
  if (windows_ == nullptr) windows_ = paged_windows();
  tiers_.use_windows(*windows_);
  const bool all_show =
      std::ranges::all_of(tiers_, [](const auto& t) { return t.tier->has_private_pages(); });
  if (windows_->mode() == WindowMode::Full && !all_show) reserve_.keep_for_windows();
  return *windows_;
}

std::unique_ptr<WindowSpace> WindowPages::served_windows() {
  auto landings = std::make_unique<Landings>();
  for (auto& buffer : landings->buffers) landings->free[landings->free_count++] = buffer.data();
  auto windows = std::make_unique<WindowSpace>(*faults_);
  landings_ = std::move(landings);
  for (const auto& state : tiers_)
    if (state.tier->has_private_pages()) windows->accept(state.tier->base(), state.tier->capacity().count);
  return windows;
}

std::unique_ptr<WindowSpace> WindowPages::paged_windows() const {
  std::string directory;
  Bytes most;
  for (const auto& state : tiers_) {
    if (!state.tier->directory().empty()) directory = state.tier->directory();
    most += state.tier->capacity();
  }
  return std::make_unique<WindowSpace>(std::move(directory), most);
}

Bytes WindowPages::memory() const noexcept {
  const Bytes landings{landings_ != nullptr ? sizeof(Landings) : 0};
  return windows_ != nullptr ? landings + windows_->metadata() : landings;
}

bool WindowPages::reachable(const Block& b, TierIndex t) const noexcept {
  if (stays_put(b)) return true;
  return tiers_.addressable(t) &&
         (b.record->window_address == nullptr || tiers_[t].tier->has_private_pages());
}

bool WindowPages::shows_in(const Block& b, TierIndex t) const noexcept {
  return stays_put(b) || (reachable(b, t) && !tiers_[t].tier->charges());
}

/// True if the block's bytes are copied into new pages of the system's; false if the tier's pages are moved. Only huge
/// pages are moved, and the program may then write them unnoticed. A copy interrupts other CPUs less often than a move, and
/// can be write-protected from the first instant, which shows whether the block is dirty. That is worth copying a huge
/// page, too, if it may save a write to a device.
bool WindowPages::lends(const Block& b) const noexcept {
  if (b.size < huge_page) return true;
  const bool fresh = b.version.load(std::memory_order_relaxed) == 0;
  if (fresh || dirty(b)) return false;
  const Region* const copy = b.record->primary()->next;
  return copy == nullptr || !tiers_[copy->tier].tier->has_private_pages();
}

void WindowPages::show(Block& b, const std::byte* landed, bool for_stores) noexcept {
  auto& record = *b.record;
  Region& region = *record.primary();
  if (region.pages != Pages::AtHome) {  // the window was cached
    record.writable = true;
    b.version.fetch_add(1, std::memory_order_relaxed);
    return b.address.store(record.window_address, std::memory_order_release);
  }
  if (stays_put(b)) return stay(b, region);
  std::byte* const from = tiers_.home(region);
  const PagePolicy* const policy = tiers_[region.tier].tier->page_policy();
  const bool fresh = b.version.load(std::memory_order_relaxed) == 0;
  // A copy under way reads this region, whose bytes go: it must not be published.
  const bool clean = !fresh && !dirty(b) && region.readers == 0;
  const bool in_place = landed == record.window_address;
  if (in_place || lends(b)) {
    const std::byte* const bytes = fresh ? WindowSpace::zeros() : landed != nullptr ? landed : from;
    if (!in_place && !windows_->fill(record.window_address, bytes, b.size, clean, policy)) {
      WindowSpace::drop(record.window_address, b.size);
      if (landed != nullptr) {
        std::memcpy(from, landed, b.size);
        region.bare = false;
      }
      return;
    }
    regions_.make_bare(region);
    region.pages = Pages::Lent;
  } else {
    const auto moved = windows_->move(record.window_address, from, b.size);
    if (moved < b.size &&
        !windows_->fill(record.window_address + moved, from + moved, b.size - moved, false, policy)) {
      TIER_VERIFY(moved == 0 || windows_->move(from, record.window_address, moved) == moved,
                  "the system must have memory for the pages of a window");
      return WindowSpace::drop(record.window_address, b.size);  // all bytes are at home
    }
    regions_.make_bare(region);
    region.pages = Pages::Moved;
  }
  record.writable = region.pages == Pages::Moved || (in_place ? for_stores : !clean);
  if (record.writable) b.version.fetch_add(1, std::memory_order_relaxed);
  b.address.store(record.window_address, std::memory_order_release);
}

/// Lets the region count the bytes, and tells the system where they should be.
void WindowPages::stay(Block& b, Region& region) noexcept {
  auto& record = *b.record;
  regions_.make_bare(region);
  region.pages = Pages::Lent;
  windows_->want(record.window_address, b.size, region.tier == 0);
  if (!std::exchange(record.writable, true)) b.version.fetch_add(1, std::memory_order_relaxed);
  b.address.store(record.window_address, std::memory_order_release);
}

bool WindowPages::hide(Block& b, Region& region) noexcept {
  if (region.pages == Pages::AtHome || stays_put(b)) return true;
  const bool kept = take_away(make_absent(b, region));
  if (kept) region.bare = false;
  return kept;
}

WindowPages::LeftPages WindowPages::make_absent(Block& b, Region& region) noexcept {
  b.address.store(nullptr, std::memory_order_release);
  b.record->writable = false;
  return leave(region, b.record->window_address, b.size);
}

WindowPages::LeftPages WindowPages::leave(Region& region, std::byte* place, std::size_t size) noexcept {
  const bool moved = std::exchange(region.pages, Pages::AtHome) == Pages::Moved;
  return {place, moved ? tiers_.home(region) : nullptr, size};
}

bool WindowPages::take_away(const LeftPages& pages) noexcept {
  if (pages.home == nullptr || windows_->move(pages.home, pages.place, pages.size) != pages.size) {
    WindowSpace::drop(pages.place, pages.size);
    return false;
  }
  // A swapped-out page keeps its protection when it moves. A device that later writes to the region would wait, with a
  // file locked, until the protection is lifted.
  windows_->unprotect(pages.home, pages.size);
  return true;
}

bool WindowPages::take_home(Region& region, std::byte* place, std::size_t size) noexcept {
  const bool kept = take_away(leave(region, place, size));
  if (kept) region.bare = false;
  return kept;
}

std::byte* WindowPages::take_landing(const Block& b, const Region& to, TransferKind kind) noexcept {
  if (b.record->window_address == nullptr || b.size > WindowSpace::unit || kind != TransferKind::Fetch)
    return nullptr;
  if (stays_put(b)) return nullptr;
  if (!shows_in(b, to.tier)) return nullptr;
  return landings_->free_count > 0 ? landings_->free[--landings_->free_count] : nullptr;
}

bool WindowPages::begin_to_hold_writes(Block& b) noexcept {
  if (stays_put(b) || mutated(Mutant::WritesNotHeld)) return false;
  return std::exchange(b.record->writable, false);
}

void WindowPages::hold_writes(std::span<const BlockId> ids, TierIndex to) noexcept {
  const auto to_be_held = [&](const Block* b) {
    return b != nullptr && b->record->writable && !stays_put(*b) && b->record->primary()->tier != to &&
           b->pins() == 0 && !mutated(Mutant::WritesNotHeld);
  };
  while (!ids.empty()) {
    const Block* const first = catalog_.find(ids.front());
    std::size_t count = 0, size = 0;
    for (const Block* b = first;
         to_be_held(b) && b->record->window_address == first->record->window_address + size;
         b = count < ids.size() ? catalog_.find(ids[count]) : nullptr) {
      size += b->size;
      ++count;
    }
    if (count > 0 && windows_->protect(first->record->window_address, size))
      for (const auto id : ids.first(count)) catalog_.find(id)->record->writable = false;
    ids = ids.subspan(std::max<std::size_t>(count, 1));
  }
}

void WindowPages::let_write(Block& b) noexcept {
  auto& record = *b.record;
  b.version.fetch_add(1, std::memory_order_relaxed);
  record.writable = true;
  if (record.transfer != nullptr) state_.engine.cancel(*record.transfer);
  windows_->unprotect(record.window_address, b.size);
}

void WindowPages::let_through(std::byte* address) noexcept {
  windows_->unprotect(page_of(address), page_size());
  windows_->wake(page_of(address), page_size());
}

void WindowPages::fill_hole(const Block& b, std::byte* address) noexcept {
  const auto* const policy = tiers_[b.record->primary()->tier].tier->page_policy();
  std::ignore = windows_->fill(page_of(address), WindowSpace::zeros(), page_size(), !b.record->writable,
                               policy);  // already there if another thread was faster
}

void WindowPages::forbid_absent() noexcept {
  if (windows_ == nullptr) return;
  for (const auto& record : catalog_.blocks())
    if (record.window_address != nullptr && record.block->address.load(std::memory_order_relaxed) == nullptr)
      windows_->forbid(record.window_address, record.block->size);
}

}  // namespace tier
