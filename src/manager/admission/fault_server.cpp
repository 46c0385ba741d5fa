// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "fault_server.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>

#include "core/say.hpp"
#include "memory/system/pages.hpp"

namespace tier {

bool FaultServer::on_fault(WindowFault& fault, bool may_wait) noexcept {
  const auto self =
      manager_.weak_from_this().lock();  // an access to the window of the last object comes too late
  auto served = self == nullptr ? Served::Yes : Served::Again;
  while (served == Served::Again) served = serve(fault, may_wait);
  return served == Served::Yes;
}

FaultServer::Served FaultServer::serve(WindowFault& fault, bool may_wait) noexcept {
  auto& pages = store_.pages;
  Block* b = nullptr;
  {
    MutexLock lock{state_.monitor.mutex()};
    b = static_cast<Block*>(WindowSpace::find(fault.address));
    if (b == nullptr && fault.present && store_.tiers.in_a_tier(fault.address)) {
      pages.let_through(fault.address);  // a swapped-out page keeps its protection when it moves home
      return Served::Yes;
    }
    if (is_dead(b) && !fault.write && is_ours(b)) {
      pages.fill_hole(*b, fault.address);
      pages.existing_space()->wake(page_of(fault.address), page_size());
      return Served::Yes;
    }
    if (is_dead(b) || is_behind(*b, fault.address)) {
      die_of(fault, b);
      return Served::Yes;
    }
    if (b->address.load(std::memory_order_relaxed) != nullptr)
      return serve_present(fault, *b, may_wait, lock);
    if (!may_wait) return Served::WouldWait;
    if (fault.tries == 0) {
      ++state_.counters.totals.window_faults;
      state_.announcer.tell_observers(FaultEvent{{}, b->id, fault.write}, &Observer::on_fault);
    }
    ++b->record->entering;  // the descriptor stays until it is entered
  }
  return bring(fault, *b);
}

/// Serves a store to a protected page, or an access to a page that was never touched, of a block that is present.
FaultServer::Served FaultServer::serve_present(const WindowFault& fault, Block& b, bool may_wait,
                                               MutexLock& lock) noexcept {
  auto& pages = store_.pages;
  auto& record = *b.record;
  if (!fault.present) {
    pages.fill_hole(b, fault.address);
  } else if (record.writable) {  // a page that was swapped out when writes were let through
    pages.let_through(fault.address);
  } else {
    Transfer* const t = record.transfer;
    if (t != nullptr && t->kind == TransferKind::Fetch) {  // the fetched bytes are wanted: waits for them
      if (!may_wait) return Served::WouldWait;
      ++t->references;
      movement_.transfers.wait_for_end(*t, lock);
      movement_.transfers.unreference(*t);
      return Served::Again;
    }
    ++state_.counters.totals.window_writes_held;
    pages.let_write(b);
    if (std::exchange(record.archived, false)) {
      store_.blocks.refresh(b);
      movement_.actions.rerank(b.id);
    }
  }
  pages.existing_space()->wake(record.window_address, b.size);
  return Served::Yes;
}

/// Brings the block, as for a scope, and wakes those who wait for it.   \pre  its descriptor is held
FaultServer::Served FaultServer::bring(WindowFault& fault, Block& b) noexcept {
  Operand operand{&b, nullptr, 0, 0, b.size, fault.write ? Use::Update : Use::Read, false};
  const auto began = state_.timeline.now_ns();
  try {
    gate_.enter({&operand, 1}, {.root = false, .fault = true});
  } catch (const std::bad_alloc& error) {  // a scope will end, or memory be freed, here or in the process
    advice_.release(b);
    wait_for_room(fault, began, error.what());
    return Served::WouldWait;
  } catch (const std::exception& error) {
    advice_.release(b);
    refuse(fault, error.what());
    return Served::Yes;
  }
  auto* const place = b.record->window_address;
  const auto size = b.size;
  {
    const MutexLock lock{state_.monitor.mutex()};
    --b.record->entering;
    store_.blocks.leave(b);
    std::ignore = state_.lifetime.needless_keeper();  // our caller holds us, too
  }
  store_.pages.existing_space()->wake(place, size);  // who wakes finds our pin gone
  return Served::Yes;
}

/// Sleeps before a fault is tried again. It does not wait for a change, because other threads that look for room in vain
/// report many. It sleeps long compared with a look for room, which holds the lock.
/// \param began  when the look began
void FaultServer::wait_for_room(WindowFault& fault, std::uint64_t began, const char* why) noexcept {
  constexpr unsigned longest = 4;  // 16 ms
  if (fault.tries == 0) fault.waiting_since_ns = began;
  const std::chrono::nanoseconds look{state_.timeline.now_ns() - began};
  std::this_thread::sleep_for(std::max<std::chrono::nanoseconds>(
      8 * look, std::chrono::milliseconds{1U << std::min(fault.tries++, longest)}));
  {
    const MutexLock lock{state_.monitor.mutex()};
    state_.counters.count_wait({}, began, StallCause::Fault);
  }
  const auto limit = static_cast<std::uint64_t>(state_.options.report_waits_after.count()) * 1'000'000;
  if (state_.timeline.now_ns() - fault.waiting_since_ns < limit) return;
  fault.waiting_since_ns = state_.timeline.now_ns();
  detail::say("an access to %p has waited long: %s", static_cast<void*>(fault.address), why);
}

/// Ends an access to bytes that cannot be read with SIGBUS, as for a mapped file on a broken disk.
void FaultServer::refuse(const WindowFault& fault, const char* why) noexcept {
  // Does not write to stderr under the lock: the reader of stderr may need it.
  if (const MutexLock lock{state_.monitor.mutex()}; has_come(fault)) return;
  detail::say("an access to %p cannot be served: %s", static_cast<void*>(fault.address), why);
  const MutexLock lock{state_.monitor.mutex()};
  if (has_come(fault)) return;
  const auto& b = *static_cast<const Block*>(WindowSpace::find(fault.address));
  WindowSpace::drop(b.record->window_address,
                    b.size);  // a page that another access has poisoned cannot be poisoned again
  if (!store_.pages.existing_space()->poison(b.record->window_address, b.size)) std::abort();
}

/// Wakes the threads that wait, if the bytes are there by now or may be on their way.   \return  true if so
bool FaultServer::has_come(const WindowFault& fault) noexcept {
  const auto* const b = static_cast<const Block*>(WindowSpace::find(fault.address));
  if (is_dead(b)) {
    die_of(fault, b);
    return true;
  }
  if (b->record->transfer == nullptr && b->address.load(std::memory_order_relaxed) == nullptr) return false;
  store_.pages.existing_space()->wake(b->record->window_address, b->size);
  return true;
}

/// Ends the program because of an access to something that is no object any more: there is no caller to throw to. If the
/// thread may have gone on long ago it is only woken: if it still waits, its fault comes again.
void FaultServer::die_of(const WindowFault& fault, const Block* b) const noexcept {
  if (fault.since != ended_blocks()) {
    const auto into = reinterpret_cast<std::uintptr_t>(fault.address) % WindowSpace::unit;
    return store_.pages.existing_space()->wake(fault.address - into, WindowSpace::unit);
  }
  if (store_.pages.existing_space()->is_passed_by(fault))
    return store_.pages.existing_space()->wake(page_of(fault.address), page_size());
  const auto name = b != nullptr && b->record != nullptr ? name_of(*b) : std::string_view{"freed memory"};
  const char* const where = b == nullptr ? "in a window of"
                            : is_dead(b) ? "in the retired object"
                                         : "behind the object";
  detail::say("%s %p, which is %s \"%.*s\"", fault.write ? "a store to" : "a load from",
              static_cast<void*>(fault.address), where, static_cast<int>(name.size()), name.data());
  std::abort();
}

bool FaultServer::is_dead(const Block* b) noexcept {
  return b == nullptr || b->record == nullptr || b->state.now().is_retired();
}

/// True if one of our copies may have caused the access to the retired block: the copy reads the window until it ends, and
/// the program may have given pages back meanwhile (`MADV_DONTNEED`).
bool FaultServer::is_ours(const Block* b) noexcept {
  return b != nullptr && b->record != nullptr && b->address.load(std::memory_order_relaxed) != nullptr &&
         b->record->primary() != nullptr && b->record->primary()->readers > 0;
}

}  // namespace tier
