// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Windows: objects whose addresses never change, and the pages that are there.
#include "manager_core.hpp"

#include <tier/core/assert.hpp>
#include <tier/core/error.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/say.hpp"
#include "memory/system/pages.hpp"

namespace tier {
namespace {

std::byte* page_of(std::byte* address) noexcept {
  return address - reinterpret_cast<std::uintptr_t>(address) % page_size();
}

/// True for transient errors; a missing privilege is permanent.
bool is_shortage(const std::error_code& error) noexcept {
  return error == std::errc::too_many_files_open || error == std::errc::too_many_files_open_in_system ||
         error == std::errc::not_enough_memory || error == std::errc::resource_unavailable_try_again;
}

bool is_retired(const Block& b) noexcept { return b.state.now().is_retired(); }

}  // namespace

std::byte* ManagerCore::home(const Region& region) const noexcept {
  const auto& state = tiers_[region.tier];
  return state.tier->base() + state.heap.offset(region.slot);
}

/// True if the system pages the block's window: the bytes stay at their place, whichever tier counts them.
bool ManagerCore::stays_put(const Block& b) const noexcept {
  return b.record->window_address != nullptr && windows_->mode() == WindowMode::Restricted;
}

/// True if the CPU can use the block in tier `t`.
bool ManagerCore::reachable(const Block& b, TierIndex t) const noexcept {
  if (stays_put(b)) return true;
  return addressable(t) && (b.record->window_address == nullptr || tiers_[t].tier->has_private_pages());
}

/// True if the block becomes present as soon as it is in tier `t`.
bool ManagerCore::shows_in(const Block& b, TierIndex t) const noexcept {
  return stays_put(b) || (reachable(b, t) && !tiers_[t].tier->charges());
}

/// True if the block's bytes are copied into new pages of the system's; false if the tier's pages are moved. Only huge
/// pages are moved, and the program may then write them unnoticed. A copy interrupts other CPUs less often than a move, and
/// can be write-protected from the first instant, which shows whether the block is dirty. That is worth copying a huge
/// page, too, if it may save a write to a device.
bool ManagerCore::lends(const Block& b) const noexcept {
  if (b.size < huge_page) return true;
  const bool fresh = b.version.load(std::memory_order_relaxed) == 0;
  if (fresh || dirty(b)) return false;
  const Region* const copy = b.record->primary()->next;
  return copy == nullptr || !tiers_[copy->tier].tier->has_private_pages();
}

/// Makes the primary's bytes present in the window. If memory is short they stay absent, and the next access asks again.
/// \param landed  where the bytes are if not in the region; if at their place in the window, they are protected
void ManagerCore::show(Block& b, const std::byte* landed) noexcept {
  auto& record = *b.record;
  Region& region = *record.primary();
  if (region.pages != Pages::AtHome) {  // the window was cached
    record.writable = true;
    b.version.fetch_add(1, std::memory_order_relaxed);
    return b.address.store(record.window_address, std::memory_order_release);
  }
  if (stays_put(b)) return stay(b, region);
  std::byte* const from = home(region);
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
    make_bare(region);
    region.pages = Pages::Lent;
  } else {
    const auto moved = windows_->move(record.window_address, from, b.size);
    if (moved < b.size &&
        !windows_->fill(record.window_address + moved, from + moved, b.size - moved, false, policy)) {
      TIER_VERIFY(moved == 0 || windows_->move(from, record.window_address, moved) == moved,
                  "there is memory for the pages of a window");
      return WindowSpace::drop(record.window_address, b.size);  // all bytes are at home
    }
    make_bare(region);
    region.pages = Pages::Moved;
  }
  record.writable = region.pages == Pages::Moved || (!clean && !in_place);
  if (record.writable) b.version.fetch_add(1, std::memory_order_relaxed);
  b.address.store(record.window_address, std::memory_order_release);
}

/// Lets the region count the bytes, and tells the system where they should be.
void ManagerCore::stay(Block& b, Region& region) noexcept {
  auto& record = *b.record;
  make_bare(region);
  region.pages = Pages::Lent;
  windows_->want(record.window_address, b.size, region.tier == 0);
  if (!std::exchange(record.writable, true)) b.version.fetch_add(1, std::memory_order_relaxed);
  b.address.store(record.window_address, std::memory_order_release);
}

/// Gives the pages of the region in its tier back to the system.
void ManagerCore::make_bare(Region& region) noexcept {
  if (!region.bare && tiers_[region.tier].tier->has_private_pages())
    WindowSpace::drop(home(region), tiers_[region.tier].heap.size(region.slot));
  region.bare = true;
}

/// \return  true if no page of a range that is being given out is present
bool ManagerCore::take_bare(TierIndex t, std::uint64_t offset, std::uint64_t size) noexcept {
  auto& bare = tiers_[t].bare;
  if (bare.empty()) return false;
  const auto first = offset / page_size(), last = (offset + size - 1) / page_size();
  bool all = true;
  for (auto i = first; i <= last; ++i) {
    all = all && bare[i];
    bare[i] = false;
  }
  return all;
}

void ManagerCore::give_back_bare(const Region& region) noexcept {
  auto& state = tiers_[region.tier];
  if (!region.bare || state.bare.empty()) return;
  const auto begin = state.heap.offset(region.slot), end = begin + state.heap.size(region.slot);
  for (auto i = round_up(begin, page_size()) / page_size(); i < end / page_size(); ++i) state.bare[i] = true;
}

/// \return  null: the bytes arrive in their region
std::byte* ManagerCore::take_landing(const Block& b, const Region& to, TransferKind kind) noexcept {
  if (b.record->window_address == nullptr || b.size > WindowSpace::unit || kind != TransferKind::Fetch)
    return nullptr;
  if (stays_put(b)) return nullptr;
  if (!shows_in(b, to.tier)) return nullptr;
  return landings_->free_count > 0 ? landings_->free[--landings_->free_count] : nullptr;
}

/// True if a device still reads the block at its place in a window, for a transfer that was given up. The block must not be
/// hidden then, because the read would fault.
bool ManagerCore::is_read(const Block& b) const noexcept {
  return b.record->window_address != nullptr && b.record->primary()->readers > 0;
}

/// Takes a region's pages out of the window.   \return  false if its bytes are gone with them
bool ManagerCore::hide(Block& b, Region& region) noexcept {
  if (region.pages == Pages::AtHome || stays_put(b)) return true;
  b.address.store(nullptr, std::memory_order_release);
  b.record->writable = false;
  return take_home(region, b.record->window_address, b.size);
}

/// \return  false if the bytes are gone
bool ManagerCore::take_home(Region& region, std::byte* place, std::size_t size) noexcept {
  const bool kept = region.pages == Pages::Moved && windows_->move(home(region), place, size) == size;
  if (kept) {
    region.bare = false;
    // A swapped-out page keeps its protection when it moves. A device that later writes to the region would wait, with a
    // file locked, until the protection is lifted.
    windows_->unprotect(home(region), size);
  } else {
    WindowSpace::drop(place, size);
  }
  region.pages = Pages::AtHome;
  return kept;
}

/// Write-protects the block, so that its next store is reported.
bool ManagerCore::hold_writes(Block& b) noexcept {
  auto& record = *b.record;
  if (!record.writable || stays_put(b) || mutated(Mutant::WritesNotHeld)) return true;
  if (!windows_->protect(record.window_address, b.size)) return false;
  record.writable = false;
  return true;
}

/// Write-protects blocks that are about to move, neighbours in a window by one call: each call interrupts other CPUs.
void ManagerCore::hold_writes(std::span<const BlockId> ids, TierIndex to) noexcept {
  const auto to_be_held = [&](const Block* b) {
    return b != nullptr && b->record->writable && !stays_put(*b) && b->record->primary()->tier != to &&
           b->pins() == 0 && !mutated(Mutant::WritesNotHeld);
  };
  while (!ids.empty()) {
    const Block* const first = find(ids.front());
    std::size_t count = 0, size = 0;
    for (const Block* b = first;
         to_be_held(b) && b->record->window_address == first->record->window_address + size;
         b = count < ids.size() ? find(ids[count]) : nullptr) {
      size += b->size;
      ++count;
    }
    if (count > 0 && windows_->protect(first->record->window_address, size))
      for (const auto id : ids.first(count)) find(id)->record->writable = false;
    ids = ids.subspan(std::max<std::size_t>(count, 1));
  }
}

/// Lets stores through again. A copy under way is older than such a store, and is not published.
void ManagerCore::let_write(Block& b) noexcept {
  auto& record = *b.record;
  b.version.fetch_add(1, std::memory_order_relaxed);
  record.writable = true;
  if (record.transfer != nullptr) engine_.cancel(*record.transfer);
  windows_->unprotect(record.window_address, b.size);
}

// --- faults ----------------------------------------------------------------------------------------------

bool ManagerCore::on_fault(WindowFault& fault, bool may_wait) noexcept {
  const auto self = weak_from_this().lock();  // an access to the window of the last object comes too late
  auto served = self == nullptr ? Served::Yes : Served::Again;
  while (served == Served::Again) served = serve(fault, may_wait);
  return served == Served::Yes;
}

ManagerCore::Served ManagerCore::serve(WindowFault& fault, bool may_wait) noexcept {
  Operand operand;
  {
    MutexLock lock{mutex_};
    auto* const b = static_cast<Block*>(WindowSpace::find(fault.address));
    // A swapped-out page keeps its protection when it moves home.
    if (b == nullptr && fault.present && in_a_tier(fault.address))
      return let_through(fault.address), Served::Yes;
    if (is_dead(b) && !fault.write && is_ours(b)) {
      fill_hole(*b, fault.address);
      return windows_->wake(page_of(fault.address), page_size()), Served::Yes;
    }
    if (is_dead(b)) return die_of(fault, b), Served::Yes;
    if (is_behind(*b, fault.address)) return die_of(fault, b), Served::Yes;
    auto& record = *b->record;
    if (b->address.load(std::memory_order_relaxed) != nullptr) {
      if (fault.present && !record.writable) {
        Transfer* const t = record.transfer;
        if (t != nullptr && t->kind == TransferKind::Fetch) {  // the fetched bytes are wanted: waits for them
          if (!may_wait) return Served::WouldWait;
          ++t->references;
          wait_for_end(*t, lock);
          unreference(*t);
          return Served::Again;
        }
        ++counts_.window_writes_held;
        let_write(*b);
        if (std::exchange(record.archived, false)) {
          refresh(*b);
          rerank(b->id);
        }
      } else if (fault.present) {  // a page that was swapped out when writes were let through
        let_through(fault.address);
      } else {
        fill_hole(*b, fault.address);
      }
      windows_->wake(record.window_address, b->size);
      return Served::Yes;
    }
    if (!may_wait) return Served::WouldWait;
    if (fault.tries == 0) {
      ++counts_.window_faults;
      announcer_.tell_observers(FaultEvent{{}, b->id, fault.write}, &Observer::on_fault);
    }
    operand = {b, nullptr, 0, 0, b->size, fault.write ? Use::Update : Use::Read, false};
    ++record.entering;  // the descriptor stays until it is entered
  }
  Block& b = *operand.block;
  const auto began = timeline_.now_ns();
  try {
    enter({&operand, 1}, {.root = false, .fault = true});
  } catch (const std::bad_alloc& error) {  // a scope will end, or memory be freed, here or in the process
    release_hold(b);
    return wait_for_room(fault, began, error.what()), Served::WouldWait;
  } catch (const std::exception& error) {
    release_hold(b);
    return refuse(fault, error.what()), Served::Yes;
  }
  MutexLock lock{mutex_};  // a woken thread finds our pin gone
  windows_->wake(b.record->window_address, b.size);
  --b.record->entering;
  leave_locked(b);
  std::ignore = needless_keeper();  // our caller holds us, too
  return Served::Yes;
}

/// Sleeps before a fault is tried again. It does not wait for a change, because other threads that look for room in vain
/// report many. It sleeps long compared with a look for room, which holds the lock.
/// \param began  when the look began
void ManagerCore::wait_for_room(WindowFault& fault, std::uint64_t began, const char* why) noexcept {
  constexpr unsigned longest = 4;  // 16 ms
  if (fault.tries == 0) fault.waiting_since_ns = began;
  const std::chrono::nanoseconds look{timeline_.now_ns() - began};
  std::this_thread::sleep_for(std::max<std::chrono::nanoseconds>(
      8 * look, std::chrono::milliseconds{1U << std::min(fault.tries++, longest)}));
  {
    const MutexLock lock{mutex_};
    count_wait({}, began, StallCause::Fault);
  }
  const auto limit = static_cast<std::uint64_t>(options_.report_waits_after.count()) * 1'000'000;
  if (timeline_.now_ns() - fault.waiting_since_ns < limit) return;
  fault.waiting_since_ns = timeline_.now_ns();
  detail::say("an access to %p has waited long: %s", static_cast<void*>(fault.address), why);
}

void ManagerCore::let_through(std::byte* address) noexcept {
  windows_->unprotect(page_of(address), page_size());
  windows_->wake(page_of(address), page_size());
}

/// Fills a page of the tier that was never touched before it was moved into the window. While writes are held it must be
/// protected like the pages that exist; otherwise a store into it would not be reported.
void ManagerCore::fill_hole(const Block& b, std::byte* address) noexcept {
  const auto* const policy = tiers_[b.record->primary()->tier].tier->page_policy();
  std::ignore = windows_->fill(page_of(address), WindowSpace::zeros(), page_size(), !b.record->writable,
                               policy);  // already there if another thread was faster
}

bool ManagerCore::in_a_tier(const std::byte* address) const noexcept {
  return std::ranges::any_of(tiers_, [&](const TierState& state) {
    const auto* const base = state.tier->base();
    return base != nullptr && address >= base && address < base + state.tier->capacity().count;
  });
}

bool ManagerCore::is_dead(const Block* b) noexcept {
  return b == nullptr || b->record == nullptr || b->state.now().is_retired();
}

/// True if one of our copies may have caused the access to the retired block: the copy reads the window until it ends, and
/// the program may have given pages back meanwhile (`MADV_DONTNEED`).
bool ManagerCore::is_ours(const Block* b) noexcept {
  return b != nullptr && b->record != nullptr && b->address.load(std::memory_order_relaxed) != nullptr &&
         b->record->primary() != nullptr && b->record->primary()->readers > 0;
}

/// Ends an access to bytes that cannot be read with SIGBUS, as for a mapped file on a broken disk.
void ManagerCore::refuse(const WindowFault& fault, const char* why) noexcept {
  // Does not write to stderr under the lock: the reader of stderr may need it.
  if (const MutexLock lock{mutex_}; has_come(fault)) return;
  detail::say("an access to %p cannot be served: %s", static_cast<void*>(fault.address), why);
  const MutexLock lock{mutex_};
  if (has_come(fault)) return;
  const auto& b = *static_cast<const Block*>(WindowSpace::find(fault.address));
  WindowSpace::drop(b.record->window_address,
                    b.size);  // a page that another access has poisoned cannot be poisoned again
  if (!windows_->poison(b.record->window_address, b.size)) std::abort();
}

/// Wakes the threads that wait, if the bytes are there by now or may be on their way.   \return  true if so
bool ManagerCore::has_come(const WindowFault& fault) noexcept {
  const auto* const b = static_cast<const Block*>(WindowSpace::find(fault.address));
  if (is_dead(b)) {
    die_of(fault, b);
    return true;
  }
  if (b->record->transfer == nullptr && b->address.load(std::memory_order_relaxed) == nullptr) return false;
  windows_->wake(b->record->window_address, b->size);
  return true;
}

/// Ends the program because of an access to something that is no object any more: there is no caller to throw to. If the
/// thread may have gone on long ago it is only woken: if it still waits, its fault comes again.
void ManagerCore::die_of(const WindowFault& fault, const Block* b) const noexcept {
  if (fault.since != ended_blocks()) {
    const auto into = reinterpret_cast<std::uintptr_t>(fault.address) % WindowSpace::unit;
    return windows_->wake(fault.address - into, WindowSpace::unit);
  }
  if (windows_->is_passed_by(fault)) return windows_->wake(page_of(fault.address), page_size());
  const auto name = b != nullptr && b->record != nullptr ? name_of(*b) : std::string_view{"freed memory"};
  const char* const where = b == nullptr ? "in a window of"
                            : is_dead(b) ? "in the retired object"
                                         : "behind the object";
  detail::say("%s of %p, which is %s \"%.*s\"", fault.write ? "a store" : "a load",
              static_cast<void*>(fault.address), where, static_cast<int>(name.size()), name.data());
  std::abort();
}

// --- advice ----------------------------------------------------------------------------------------------

Operand Operand::advice_at(const void* address, Use use, std::span<const std::byte> range) noexcept {
  Operand op;
  op.block = static_cast<Block*>(WindowSpace::find(address));
  op.use = use;
  op.advice = true;
  if (op.block == nullptr) return op;
  op.size = op.block->size;
  const auto* const object = ManagerCore::object_in(*op.block);
  if (object != nullptr) op.object = object->id;
  op.named = !range.empty();
  if (use == Use::Overwrite) {
    const auto* const begin = ManagerCore::window_address_of(*op.block);
    const auto* const end = object != nullptr
                                ? std::min<const std::byte*>(begin + op.size, object->window + object->size)
                                : begin + op.size;
    const bool all = range.data() <= begin && range.data() + range.size() >= end;
    op.revives = true;
    if (!all) op.use = Use::Update;
  }
  if (!op.block->manager->advise(op)) op.block->manager->hold(op);
  return op;
}

/// A block that must be brought is not stamped as used here: it is not known yet which of them come first.
bool Manager::advise(Operand& op) noexcept {
  if (op.block->state.glance().needs_manager()) return false;
  if (advised_.fetch_add(op.size, std::memory_order_relaxed) + op.size > advice_limit_ ||
      !op.block->try_enter(op.use, clock_.stamp())) {
    advised_.fetch_sub(op.size, std::memory_order_relaxed);
    return false;
  }
  op.entered = true;
  op.address = op.block->address.load(std::memory_order_relaxed);
  return !leave_if_passing(op);
}

bool Manager::leave_if_passing(Operand& op) noexcept {
  if (!op.block->state.glance().is_passing()) return false;
  leave(op);
  op.entered = false;
  return true;
}

void ManagerCore::hold(Operand& op) noexcept {
  Block& b = *op.block;  // the operand may lie in a window, which must not be read under the lock
  MutexLock lock{mutex_};
  ++b.record->entering;
}

void ManagerCore::let_go(Operand& op) noexcept { release_hold(*std::exchange(op.block, nullptr)); }

void ManagerCore::release_hold(Block& b) noexcept {
  MutexLock lock{mutex_};
  if (--b.record->entering == 0 && b.record->dying) release_if_dead(b);
}

void ManagerCore::enter_with_advice(std::span<Operand> batch, const BatchContext& context) {
  const auto self = shared_from_this();  // all objects may go while room is made
  const std::span<Operand> advised{
      std::stable_partition(batch.begin(), batch.end(), [](const Operand& op) { return !op.advice; }),
      batch.end()};
  try {
    revive_overwritten(advised);
    enter_all(batch.first(batch.size() - advised.size()), context);
  } catch (...) {
    leave(batch);
    throw;
  }
  bring(advised, context);
}

/// Revives retired blocks that will be overwritten, and throws for other uses of them. Neither is mere advice: without a
/// place a store has nowhere to go, or goes to bytes that a step mark takes away.
void ManagerCore::revive_overwritten(std::span<const Operand> advised) {
  for (const auto& op : advised) {
    if (op.block == nullptr || op.entered || !op.named) continue;
    if (op.revives)
      revive(op.block->id, op.use == Use::Overwrite);
    else if (const Block& b = *op.block; is_retired(b)) {
      const MutexLock lock{mutex_};
      throw_retired(name_of(b));
    }
  }
}

/// Fetches what fits, many blocks at once, so that a device is busy with all of them.
void ManagerCore::bring(std::span<Operand> advised, const BatchContext& context) noexcept {
  constexpr std::size_t together = 32;
  const BatchContext now{context.scope,  false, context.kernel,
                         context.shapes, true,  context.fault};  // no thread waits for the sake of advice
  const std::span<Operand> wanted{
      advised.begin(), std::stable_partition(advised.begin(), advised.end(), [](const Operand& op) {
        return op.block != nullptr && !op.entered;
      })};
  if (!has_room_for(wanted)) best_first(wanted);
  bool room = true;
  for (auto rest = wanted; !rest.empty();) {
    const auto few = rest.first(std::min(together, rest.size()));
    rest = rest.subspan(few.size());
    room = room && bring_all(few, now);
    for (auto& op : few)
      if (!op.entered) let_go(op);
  }
}

/// True if all operands fit beside what is there already: then any order is as good.
bool ManagerCore::has_room_for(std::span<const Operand> wanted) noexcept {
  std::uint64_t bytes = 0;
  for (const auto& op : wanted) bytes += op.size;
  if (bytes == 0) return true;
  if (advised_.load(std::memory_order_relaxed) + bytes > advice_limit_) return false;
  const MutexLock lock{mutex_};
  return bytes <= tiers_.front().heap.capacity().count - tiers_.front().used().count;
}

/// Puts those first that the policy would evict last: by default, those used last. If memory is short they stay in order
/// of their addresses.
void ManagerCore::best_first(std::span<Operand> wanted) noexcept try {
  std::vector<std::pair<std::uint64_t, Operand>> ranked;
  ranked.reserve(wanted.size());
  for (const auto& op : wanted) {
    ranked.emplace_back(0, op);  // the operand may lie in a window, which must not be read under the lock
    const Block& b = *ranked.back().second.block;
    const MutexLock lock{mutex_};  // taken anew for each block, so that faults are served in between
    if (!b.record->garbage) ranked.back().first = announcer_.policy().rank(facts(b));
  }
  std::ranges::stable_sort(ranked, std::greater{}, [](const auto& one) { return one.first; });
  for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = ranked[i].second;
} catch (const std::bad_alloc&) {
}

/// Enters as many as fit, the first ones first.   \return  false if there was no room for all of them
bool ManagerCore::bring_all(std::span<Operand> few, const BatchContext& context) noexcept {
  std::span<Operand> wanted{few.begin(), std::stable_partition(few.begin(), few.end(), [](const Operand& op) {
                              return !op.block->is_passing();
                            })};
  for (auto count = wanted.size(); count > 0 && !wanted.empty();) {
    count = std::min(count, wanted.size());
    if (bring_together(wanted.first(count), context))
      wanted = wanted.subspan(count);
    else
      count /= 2;
  }
  return wanted.empty();
}

/// Enters all of them or none.
bool ManagerCore::bring_together(std::span<Operand> wanted, const BatchContext& context) noexcept {
  std::uint64_t bytes = 0;
  for (const auto& op : wanted) bytes += op.size;
  if (advised_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= advice_limit_) try {
      enter_all(wanted, context);
      for (auto& op : wanted)
        if (!leave_if_passing(op)) release_hold(*op.block);
      return true;
    } catch (const std::exception&) {  // an access to a block that was not brought reports the error
    }
  advised_.fetch_sub(bytes, std::memory_order_relaxed);
  return false;
}

// --- objects ---------------------------------------------------------------------------------------------

WindowSpace& ManagerCore::windows() {
  if (windows_ != nullptr) return *windows_;
  const bool has_memory = tiers_.front().tier->has_private_pages();
  if (options_.windows == WindowMode::Full && !has_memory)
    throw TierError{std::make_error_code(std::errc::not_supported),
                    "full windows need a fastest tier with pages that they can take; that of " +
                        std::string{tiers_.front().tier->name()} + " has none"};
  for (auto& state : tiers_)
    if (state.tier->has_private_pages())
      state.bare.resize(round_up(state.heap.capacity().count, page_size()) / page_size());
  if (has_memory && options_.windows != WindowMode::Restricted) try {
      windows_ = served_windows();
    } catch (const TierError& error) {
      if (options_.windows == WindowMode::Full || is_shortage(error.code())) throw;
    }
  if (windows_ == nullptr) windows_ = paged_windows();
  const bool all_show =
      std::ranges::all_of(tiers_, [](const auto& t) { return t.tier->has_private_pages(); });
  // One block leaves for another, while free room lies in pieces, in two tiers, with a spare in between.
  if (windows_->mode() == WindowMode::Full && !all_show) kept_for_faults_ = 4 * window_block_;
  return *windows_;
}

/// Returns the size of the largest block of a window. In a small tier several must fit, or the used ones evict each other.
std::size_t ManagerCore::largest_block(Bytes asked, Bytes fastest) {
  if (asked.count == 0) return std::clamp(std::bit_floor(fastest.count / 32), WindowSpace::unit, huge_page);
  if (!std::has_single_bit(asked.count) || asked.count < WindowSpace::unit || asked.count > huge_page)
    throw ConfigError{"blocks of windows of " + std::to_string(asked.count) +
                      " bytes; allowed: a power of two from 64 KiB to 2 MiB"};
  return asked.count;
}

std::unique_ptr<WindowSpace> ManagerCore::served_windows() {
  auto landings = std::make_unique<Landings>();
  for (auto& buffer : landings->buffers) landings->free[landings->free_count++] = buffer.data();
  auto windows = std::make_unique<WindowSpace>(static_cast<WindowFaults&>(*this));
  landings_ = std::move(landings);
  for (const auto& state : tiers_)
    if (state.tier->has_private_pages()) windows->accept(state.tier->base(), state.tier->capacity().count);
  return windows;
}

std::unique_ptr<WindowSpace> ManagerCore::paged_windows() const {
  std::string directory;
  Bytes most;
  for (const auto& state : tiers_) {
    if (!state.tier->directory().empty()) directory = state.tier->directory();
    most += state.tier->capacity();
  }
  return std::make_unique<WindowSpace>(std::move(directory), most);
}

ObjectHandle ManagerCore::create_window(Bytes size, std::size_t alignment, std::string_view name) {
  return make_window(size.count, size.count, alignment, name);
}

ObjectHandle ManagerCore::reserve_window(Bytes most, std::size_t alignment, std::string_view name) {
  return make_window(WindowSpace::unit, most.count, alignment, name);
}

ObjectHandle ManagerCore::make_window(std::size_t size, std::size_t most, std::size_t alignment,
                                      std::string_view asked_name) {
  refuse_in_child("an allocation");
  const std::string name{asked_name};  // it may lie in a window, which must not be read under the lock
  TIER_VERIFY(std::has_single_bit(alignment) && alignment <= huge_page,
              "alignment is a power of two up to 2 MiB");
  const auto whole = round_up(std::max<std::size_t>(most, 1), WindowSpace::unit);
  if (whole < most) throw OutOfTierMemory{"a window of more bytes than there are addresses"};
  // The last block ends soon after its contents: up to 64 KiB more would double many objects.
  const auto end =
      std::min(whole, round_up(std::max<std::size_t>(size, 1), std::max(page_size(), io_alignment_)));
  MutexLock lock{mutex_};
  drain_notes();
  const Inside inside{*this};
  auto self = shared_from_this();
  const auto let_go_of = [this](ObjectWindow* w) TIER_NO_THREAD_SAFETY_ANALYSIS { let_go(*w); };
  std::unique_ptr<ObjectWindow, decltype(let_go_of)> window{cached_window(whole, end, alignment), let_go_of};
  if (window == nullptr) {
    window.reset(new ObjectWindow{{}, {}, 1, {}});
    ++window_count_;
    auto& space = windows();
    without_lock(lock, [&] {
      window->range =
          space.reserve(whole, whole >= huge_page ? huge_page : std::max(alignment, WindowSpace::unit));
    });
  }
  auto blocks = new_blocks(*window, 0, end, name, lock);
  Object* object = nullptr;
  try {
    object = &new_object(*blocks.front(), 0, size, name);
  } catch (...) {
    discard(blocks, lock);
    throw;
  }
  for (auto* b : blocks) b->record->object = object;
  object->window = window->range.address;
  object->blocks = std::move(blocks);
  note_memory(*object);
  object->cut = object->blocks.size() > 1;
  tell_object(*object, ObjectChange::Made, alignment);
  clock_.advance();
  check_watermarks();
  return {std::move(self), object};
}

void ManagerCore::grow(ObjectRef ref, Bytes size) {
  refuse_in_child("an allocation");
  MutexLock lock{mutex_};
  drain_notes();
  const Inside inside{*this};
  Object& object = const_cast<Object&>(*ref.object);
  ObjectWindow& window = *object.block->record->window;
  TIER_VERIFY(size.count <= window.range.size, "an object grows no further than its window");
  auto end = object.size;
  while (end < size.count) end = std::min(window.range.size, end + std::min(end, window_block_));
  const auto blocks = new_blocks(window, object.size, end, object.name, lock);
  try {
    object.blocks.insert(object.blocks.end(), blocks.begin(), blocks.end());
    note_memory(object);
  } catch (...) {
    discard(blocks, lock);
    throw;
  }
  for (auto* b : blocks) b->record->object = &object;
  object.size = end;
  object.cut = object.blocks.size() > 1;
  tell_object(object, ObjectChange::Grown);
  clock_.advance();
  check_watermarks();
}

/// Makes blocks for a part of a window, each with a place in a tier; all of them or none.
std::vector<Block*> ManagerCore::new_blocks(ObjectWindow& window, std::size_t begin, std::size_t end,
                                            std::string_view name, MutexLock& lock) {
  std::vector<Block*> blocks;
  if (window.cached.empty()) {
    windows_->open(window.range.address + begin, end - begin);
    take_space(window, begin, end, lock);
  }
  try {
    constexpr std::size_t smaller = std::bit_width(huge_page / WindowSpace::unit);
    blocks.reserve((end - begin) / window_block_ + smaller);
    for (std::size_t at = begin, size = 0; at < end; at += size) {
      size = std::min({window_block_, at == 0 ? window_block_ : at, end - at});
      Block& b = new_block_at(window, at, size);
      blocks.push_back(&b);
      set_primary(b, first_place(b, name, lock));
    }
  } catch (...) {
    discard(blocks, lock);
    drop_cached_pages(window);
    if (windows_->mode() == WindowMode::Restricted)
      without_lock(lock, [&] { windows_->give_space_back(window.range.address + begin, end - begin); });
    throw;
  }
  return blocks;
}

void ManagerCore::take_space(const ObjectWindow& window, std::size_t begin, std::size_t end,
                             MutexLock& lock) {
  if (windows_->mode() == WindowMode::Full) return;
  std::error_code error;
  without_lock(lock, [&] { error = windows_->take_space(window.range.address + begin, end - begin); });
  if (!error) return;
  std::array<char, 500> text{};
  std::snprintf(text.data(), text.size(), "no disk space for a window in \"%s\": %s",
                windows_->directory().c_str(), error.message().c_str());
  throw OutOfTierMemory{text.data(), error};
}

Block& ManagerCore::new_block_at(ObjectWindow& window, std::size_t offset, std::size_t size) {
  Block& b = new_block(size, page_size());
  b.record->window = &window;
  b.record->window_address = window.range.address + offset;
  ++window.blocks;
  WindowSpace::tag(b.record->window_address, size, &b);
  return b;
}

/// Frees blocks that no object has yet. They may have moved already, to make room for the next.
void ManagerCore::discard(std::span<Block* const> blocks, MutexLock& lock) noexcept {
  // They are pinned, so that none begins to move, and not retired: a mover's access to a retired block ends the program.
  for (auto* b : blocks) b->state.pin_anyway();
  for (auto* b : blocks) {
    if (auto* const transfer = b->record->transfer) revoke(*transfer, lock);
    free_contents(*b);
    recycle(*b);
  }
}

/// Gives up the block's part of its window.
void ManagerCore::leave_window(Block& b) noexcept {
  ended_.fetch_add(1, std::memory_order_release);
  WindowSpace::tag(b.record->window_address, b.size, nullptr);
  let_go(*b.record->window);
}

void ManagerCore::let_go(ObjectWindow& window) noexcept {
  if (--window.blocks > 0 || cache(window)) return;
  drop_cached_pages(window);
  if (window.range.address != nullptr) windows_->release(window.range);
  --window_count_;
  delete &window;
}

std::size_t bytes_to_end_of_block(const void* address) noexcept {
  const auto* const b = static_cast<const Block*>(WindowSpace::find(address));
  const auto* const at = static_cast<const std::byte*>(address);
  if (b == nullptr || ManagerCore::is_behind(*b, at)) return 0;
  return static_cast<std::size_t>(ManagerCore::window_address_of(*b) + b->size - at);
}

BlockRef block_of(const void* address) noexcept {
  const auto* const b = static_cast<const Block*>(WindowSpace::find(address));
  return b == nullptr ? BlockRef{} : BlockRef{b->manager, b->id};
}

ObjectRef object_of(const void* address) noexcept {
  const auto* const b = static_cast<const Block*>(WindowSpace::find(address));
  return {b == nullptr ? nullptr : ManagerCore::object_in(*b)};
}

// --- by request ------------------------------------------------------------------------------------------

/// Moves blocks in batches: makes room for as many as one look finds, which then move together.
void ManagerCore::migrate(std::span<const BlockId> ids, TierIndex t) {
  check_tier(t);
  if (in_fork_child_) return;
  MutexLock lock{mutex_};
  drain_own_notes();
  const Inside inside{*this};
  constexpr std::size_t together = 64;
  const auto most = tiers_[t].heap.capacity().count / 4;  // blocks on their way cannot make room
  std::uint64_t on_their_way = 0;
  std::vector<CopyTask*> tasks;
  tasks.reserve(together);
  std::vector<BlockId> blocks;
  blocks.reserve(together);
  struct Failure {
    std::error_code error;
    Direction direction;
    BlockId block;
  };
  std::optional<Failure> failure;
  const auto carry_out = [&]() TIER_NO_THREAD_SAFETY_ANALYSIS {
    without_lock(lock, [&] { engine_.run(tasks); });
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      auto& transfer = static_cast<Transfer&>(*tasks[i]);
      if (transfer.failure && !failure) failure = {transfer.failure, transfer.failed, blocks[i]};
      unreference(transfer);
    }
    tasks.clear();
    blocks.clear();
    on_their_way = 0;
  };
  for (; !ids.empty(); ids = ids.subspan(std::min(together, ids.size()))) {
    const auto few = ids.first(std::min(together, ids.size()));
    hold_writes(few, t);
    try {
      for (const auto id : few) {
        if (on_their_way > most) carry_out();
        if (Transfer* const transfer = begin_migration(id, t, lock)) {
          tasks.push_back(transfer);
          blocks.push_back(id);
          on_their_way += transfer->size;
        }
      }
    } catch (...) {
      carry_out();
      throw;
    }
    carry_out();
  }
  check_watermarks();
  if (!failure) return;
  const Block* const b = find(failure->block);
  if (b == nullptr) return;  // the block is gone
  if (failure->direction == Direction::Write) throw_out_of_memory(b->size, name_of(*b), failure->error);
  throw_unreadable(*b, failure->error);
}

/// \return  the transfer, which the caller runs; null if there is nothing to copy, or the block is in use
Transfer* ManagerCore::begin_migration(BlockId id, TierIndex t, MutexLock& lock) {
  RoomReport report;
  Block* b = find(id);
  if (b == nullptr || b->record->primary() == nullptr || b->record->primary()->tier == t) return nullptr;
  if (b->record->immovable || b->record->transfer != nullptr || is_read(*b) || settle_in(*b, t, Cause::Plan))
    return nullptr;
  Region* const to = make_room_for(*b, t, report, lock);
  b = find(id);  // the lock may have been released
  if (to == nullptr && b != nullptr) throw_out_of_memory(b->size, name_of(*b), report.cause);
  if (b == nullptr || b->record->primary() == nullptr || b->record->in(t) != nullptr || is_read(*b) ||
      !start_moving(*b)) {
    if (to != nullptr) free_region(to);
    return nullptr;
  }
  const auto kind = t < b->record->primary()->tier ? TransferKind::Fetch : TransferKind::Evict;
  Transfer* const transfer = begin_transfer(*b, kind, to, Cause::Plan);
  if (transfer != nullptr) ++transfer->references;
  return transfer;
}

}  // namespace tier
