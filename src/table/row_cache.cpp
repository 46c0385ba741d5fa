// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table/row_cache.hpp"

#include <tier/core/assert.hpp>
#include <tier/core/error.hpp>

#include <algorithm>
#include <cstdio>
#include <new>
#include <stdexcept>
#include <utility>

namespace tier::detail {
namespace {

// What moves in one go: enough to fill a device's queue, little enough that who waits for one unit is not kept long.
constexpr std::size_t chunk_bytes = 256 << 10;
constexpr std::size_t fewest_in_chunk = 32, most_in_chunk = 1024;
// Units looked at in one hold of the lock by a prefetch.
constexpr std::size_t prefetch_stretch = 4096;
constexpr std::size_t page = 4096;

TierError unit_error(const RowLayout& layout, const std::string& table, RowId unit, Tier& tier,
                     std::error_code error, std::string_view what) {
  std::string message{what};
  message.append(" table '").append(table).append("' row ").append(std::to_string(layout.first_row(unit)));
  if (layout.rows_in(unit) > 1)
    message.append(" to ").append(std::to_string(layout.first_row(unit) + layout.rows_in(unit) - 1));
  return {error, message.append(" in tier ").append(tier.name())};
}

/// What goes on when a policy has failed: it knows nothing, so it need not be told what came before.
class FirstTouch final : public RowPolicy {
 public:
  std::string_view name() const noexcept override { return "first touch (after a failure)"; }
  std::size_t bytes_per_slot() const noexcept override { return 0; }
  void attach(RowId, SlotId, const RowFacts&) override {}
  void on_hit(RowId, SlotId) override {}
  bool admit(RowId, bool slots_free) override { return slots_free; }
  void on_insert(RowId, SlotId) override {}
  void on_erase(RowId, SlotId) override {}
  SlotId victim(const SlotFilter&, RowId, RoomFor) override { return no_slot; }
};

}  // namespace

/// Which slots a window may take.
class RowCache::MayGo final : public SlotFilter {
 public:
  MayGo(const RowCache& cache, bool held, BatchNumber but_not_of) noexcept
      : cache_{cache}, held_{held}, but_not_of_{but_not_of} {}
  bool operator()(SlotId slot) const noexcept override
      TIER_NO_THREAD_SAFETY_ANALYSIS {  // asked under the lock
    const auto& state = cache_.states_[slot];
    if (state.pins != 0 || state.stuck) return false;
    if (!cache_.is_held(state)) return true;
    return held_ && state.hold != but_not_of_;
  }

 private:
  const RowCache& cache_;
  bool held_;
  BatchNumber but_not_of_;
};

RowCache::RowCache(Manager& manager, const RowLayout& layout, const CacheShape& shape, PlacedStorage slow,
                   std::unique_ptr<RowPolicy> policy, std::string name)
    : manager_{manager},
      layout_{layout},
      shape_{shape},
      name_{std::move(name)},
      own_policy_{std::move(policy)},
      policy_{own_policy_.get()},
      wants_all_{policy_->wanted_uses() == RowUses::All},
      chunk_{std::clamp(chunk_bytes / layout.unit_bytes, fewest_in_chunk, most_in_chunk)},
      home_{std::move(slow)},
      direct_{policy_->uses_in_place() && home_.address() != nullptr && !home_.tier().checks_accesses()} {
  // Slots first: a slow tier that wants alignment of memory wants a divisor of the unit's size.
  const std::size_t slots = std::size_t{shape.slots} + shape.staging;
  const auto slot_bytes = round_up(slots * layout.unit_bytes, alignof(SlotState));
  const auto bytes =
      slot_bytes + slots * sizeof(SlotState) + layout.units * sizeof(*map_) + shape.log * sizeof(*log_);
  storage_ = manager.place(Bytes{bytes}, page, Manager::fastest(), name_ + ".slots");
  slots_ = storage_.address();
  states_ = reinterpret_cast<SlotState*>(slots_ + slot_bytes);
  map_ = reinterpret_cast<std::atomic<std::uint32_t>*>(states_ + slots);
  log_ = reinterpret_cast<RowId*>(map_ + layout.units);
  for (RowId unit = 0; unit < layout.units; ++unit) new (&map_[unit]) std::atomic<std::uint32_t>{nowhere};
  const MutexLock lock{mutex_};
  for (auto slot = static_cast<SlotId>(slots); slot-- > 0;) put_free(slot);
  ask([&](RowPolicy& p) { p.attach(layout.units, shape.slots, *this); });
}

RowCache::~RowCache() = default;

void RowCache::write_all(FunctionRef<void(RowId, RowId, std::byte*)> fill) {
  const auto buffer = static_cast<RowId>(std::min<std::size_t>(
      std::size_t{shape_.slots} + shape_.staging, std::max<std::size_t>(1, (4 << 20) / layout_.unit_bytes)));
  for (RowId first = 0; first < layout_.units; first += std::min(buffer, layout_.units - first)) {
    const auto count = std::min(buffer, layout_.units - first);
    fill(first, count, slots_);
    const MutexLock pass{gate_};
    IoRequest request{home_of(first), slots_, count * layout_.unit_bytes, {}};
    slow().transfer(Direction::Write, {&request, 1});
    if (request.error)
      throw unit_error(layout_, name_, first, slow(), request.error, "cannot write the first contents of");
  }
}

SlotId RowCache::slot_of(RowId unit) const noexcept {
  const auto entry = map_[unit].load(std::memory_order_relaxed);
  if (entry == nowhere) return no_slot;
  const SlotId slot = entry & ~pending;
  return is_staging(slot) || states_[slot].unit != unit ? no_slot : slot;
}

void RowCache::put_free(SlotId slot) noexcept {
  auto& list = is_staging(slot) ? free_staging_ : free_;
  states_[slot] = {};
  states_[slot].unit = list;
  list = slot;
}

// The policy.

void RowCache::replace_policy() noexcept {
  static FirstTouch first_touch;
  std::fprintf(stderr,
               "libtier: row policy %.*s of table '%s' threw an exception; going on with first touch\n",
               static_cast<int>(own_policy_->name().size()), own_policy_->name().data(), name_.c_str());
  policy_ = &first_touch;
  wants_all_.store(false, std::memory_order_relaxed);
}

bool RowCache::admits(RowId unit) noexcept {
  const bool slots_free = free_ != no_slot;
  return ask([&](RowPolicy& p) { return p.admit(unit, slots_free); });
}

// Once, however often the unit is looked at before it can be used.
void RowCache::tell_use(Window& window, RowId unit, SlotId slot) noexcept {
  if (window.purpose != Purpose::Gather || std::exchange(window.told, true)) return;
  ask([&](RowPolicy& p) { slot < shape_.slots ? p.on_hit(unit, slot) : p.on_miss(unit); });
}

// Windows.

// What may throw comes first, so that nothing does once the lock is held.
void RowCache::begin(Window& window, std::size_t units) {
  window.pins.reserve(
      units);  // a slot may be pinned for each unit of it, if another window has pinned it in between
  window.fetches.reserve(chunk_);
  window.requests.reserve(std::max<std::size_t>(chunk_, shape_.staging));
  window.failure = {};
  const MutexLock pass{gate_};
  const MutexLock lock{mutex_};
  ++windows_;
  if (++last_serial_ == 0) ++last_serial_;
  window.serial = last_serial_;
  if (is_awaited(window)) ++awaited_;
}

std::size_t RowCache::acquire(Window& window, std::span<const RowId> units, std::span<std::byte*> addresses) {
  begin(window, units.size());
  MutexLock lock{mutex_};
  if (window.purpose == Purpose::Gather) drain_log();
  std::size_t ready = 0;
  auto busy =
      units.size();  // the last that was, and so is late even if somebody else has brought it meanwhile
  while (ready < units.size()) {
    auto step = Step::Ready;
    auto next = ready;
    while (next < units.size() && window.fetches.size() < chunk_) {
      const auto waited = window.waited;
      step = place(window, units[next], addresses[next]);
      if (step != Step::Ready) {
        window.waited = waited;  // it is looked at again
        if (step == Step::Busy) busy = next;
        break;
      }
      if (next == busy && window.waited == waited) ++window.waited;
      window.told = false;
      ++next;
    }
    bool placed = true;
    if (!window.fetches.empty()) {
      lock.unlock();
      placed = carry_out(window);
      lock.lock();
    }
    if (window.failure) {
      lock.unlock();
      release(window);
      throw_unreadable(window);
    }
    if (!placed) continue;  // a victim could not be written back and is out of the game: look again
    const bool progress = next != ready;
    ready = next;
    if (step == Step::Ready || progress) continue;
    if (step == Step::NoRoom && ready > 0) break;
    const bool alone = pins_ == window.pins.size();
    if (step == Step::Busy || !alone) {
      ++waiters_;
      changed_.wait(mutex_);
      --waiters_;
    } else if (!window.force) {
      window.force = true;
    } else {
      lock.unlock();
      release(window);
      lock.lock();
      throw_no_room();
    }
  }
  window.force = false;
  return ready;
}

RowCache::Step RowCache::place(Window& window, RowId unit, std::byte*& address) {
  const auto entry = map_[unit].load(std::memory_order_relaxed);
  if (entry == nowhere) {
    const auto step = place_missing(window, unit, address);
    if (step == Step::Ready && is_awaited(window)) window.missed.insert(unit);
    return step;
  }
  const SlotId slot = entry & ~pending;
  auto& state = states_[slot];
  const bool mine = state.window == window.serial;
  if (state.unit != unit) return Step::Busy;  // it is leaving
  if ((entry & pending) != 0) {
    if (!mine) return Step::Busy;
    ++window.waited;
  }
  if (window.purpose == Purpose::Update && state.writing) return Step::Busy;
  if (!mine) pin(window, slot);
  state.hold = std::max(state.hold, window.hold);
  if (window.purpose == Purpose::Gather) state.prefetched = false;
  tell_use(window, unit, slot);
  address = slot_address(slot);
  return Step::Ready;
}

RowCache::Step RowCache::place_missing(Window& window, RowId unit, std::byte*& address) {
  if (in_fork_child_) return refuse(window, unit, std::make_error_code(std::errc::operation_not_permitted));
  const bool peek = window.purpose == Purpose::Peek;
  ++window.waited;
  tell_use(window, unit, no_slot);
  if (window.force || (!peek && admits(unit))) {
    const auto slot = take_slot(window, unit);
    if (slot != no_slot) {
      start_fetch(window, unit, slot);
      address = slot_address(slot);
      return Step::Ready;
    }
    // A policy that is told every use decides as if rows came one by one: what this window has had may leave.
    if (policy_wants_all() && !window.pins.empty()) return Step::NoRoom;
  }
  if (window.purpose != Purpose::Update && slow().model().addressable)
    return read_in_place(window, unit, address);
  if (free_staging_ == no_slot) return Step::NoRoom;
  const auto slot = free_staging_;
  free_staging_ = states_[slot].unit;
  start_fetch(window, unit, slot);
  address = slot_address(slot);
  return Step::Ready;
}

RowCache::Step RowCache::refuse(Window& window, RowId unit, std::error_code error) {
  window.failure = error;
  window.failed_unit = unit;
  return Step::Busy;
}

RowCache::Step RowCache::read_in_place(Window& window, RowId unit, std::byte*& address) {
  if (const auto error = slow().access_error(Direction::Read, home_of(unit), layout_.unit_bytes)) {
    ++counters_.read_errors;
    return refuse(window, unit, error);
  }
  if (window.in_place_reads++ == 0) window.in_place_since = std::chrono::steady_clock::now();
  window.in_place_bytes += layout_.unit_bytes;
  address = home_.address() + std::uint64_t{unit} * layout_.unit_bytes;
  if (window.purpose == Purpose::Gather) ++counters_.missed_units, ++counters_.in_place_units;
  counters_.in_place_bytes += layout_.unit_bytes;
  return Step::Ready;
}

// A free slot, or one that a unit leaves: first of those that nobody holds, then, so as not to wait, of those held.
SlotId RowCache::take_slot(Window& window, RowId unit) {
  if (free_ != no_slot) {
    const auto slot = free_;
    free_ = states_[slot].unit;
    states_[slot].unit = no_unit;
    return slot;
  }
  const MayGo unheld{*this, false, 0};
  const bool ahead = window.purpose == Purpose::Prefetch;
  const auto purpose = ahead ? RoomFor::Prefetch : RoomFor::Miss;
  auto slot = ask([&](RowPolicy& p) { return p.victim(unheld, unit, purpose); });
  if (slot < shape_.slots && unheld(slot)) return slot;
  if (ahead) return no_slot;
  const MayGo held{*this, true, policy_wants_all() ? 0 : window.hold};
  slot = ask([&](RowPolicy& p) { return p.victim(held, unit, RoomFor::Miss); });
  if (slot >= shape_.slots || !held(slot)) return window.force ? any_slot() : no_slot;
  ++counters_.holds_given_up;
  return slot;
}

SlotId RowCache::any_slot() noexcept {
  const MayGo any{*this, true, 0};
  for (SlotId tried = 0; tried < shape_.slots; ++tried) {
    hand_ = hand_ + 1 < shape_.slots ? hand_ + 1 : 0;
    if (any(hand_)) return hand_;
  }
  return no_slot;
}

void RowCache::start_fetch(Window& window, RowId unit, SlotId slot) {
  auto& state = states_[slot];
  const bool staging = is_staging(slot);
  Window::Fetch fetch{unit, slot, staging ? no_unit : state.unit, false, {}};
  if (fetch.old != no_unit) {
    fetch.write_back = state.dirty;
    if (!fetch.write_back) map_[fetch.old].store(nowhere, std::memory_order_release);
    ask([&](RowPolicy& p) { p.on_erase(fetch.old, slot); });
    ++counters_.evicted_units;
    counters_.prefetched_unused += state.prefetched && is_held(state);
  }
  state = {};
  state.unit = unit;
  state.hold = window.hold;
  state.prefetched = window.purpose == Purpose::Prefetch;
  map_[unit].store(pending | slot, std::memory_order_relaxed);
  if (!staging) ask([&](RowPolicy& p) { p.on_insert(unit, slot); });
  pin(window, slot);
  window.fetches.push_back(fetch);
}

void RowCache::pin(Window& window, SlotId slot) noexcept {
  auto& state = states_[slot];
  state.window = window.serial;
  state.pins = (state.pins + 1) & 0xFF'FFFF;
  ++pins_;
  window.pins.push_back(slot);
}

void RowCache::unpin(SlotId slot, std::uint32_t serial) noexcept {
  auto& state = states_[slot];
  if (state.window == serial) state.window = 0;
  state.pins = (state.pins - 1) & 0xFF'FFFF;
  --pins_;
}

// Moves the bytes of the fetches that were begun: victims out, then units in.
bool RowCache::carry_out(Window& window) {
  const bool written = write_victims(window);
  const auto replaces = [](const Window::Fetch& fetch) { return fetch.old != no_unit; };
  if (std::any_of(window.fetches.begin(), window.fetches.end(), replaces)) epochs_.synchronize();
  read_units(window);
  window.fetches.clear();
  return written;
}

bool RowCache::write_victims(Window& window) {
  auto& requests = window.requests;
  auto& fetches = window.fetches;
  const auto clean =
      std::partition(fetches.begin(), fetches.end(), [](const auto& fetch) { return fetch.write_back; });
  if (clean == fetches.begin()) return true;
  std::sort(fetches.begin(), clean, [](const auto& a, const auto& b) { return a.old < b.old; });
  requests.clear();
  for (auto fetch = fetches.begin(); fetch != clean; ++fetch)
    requests.push_back({home_of(fetch->old), slot_address(fetch->slot), layout_.unit_bytes, {}});
  transfer(Direction::Write, requests, Cause::Evict);

  const MutexLock lock{mutex_};
  for (std::size_t i = 0; i < requests.size(); ++i) {
    fetches[i].error = requests[i].error;
    if (fetches[i].error) {
      undo(window, fetches[i]);
    } else {
      ++counters_.written_units;
      counters_.bytes_out += layout_.unit_bytes;
      map_[fetches[i].old].store(nowhere, std::memory_order_release);
    }
  }
  const auto begun = fetches.size();
  std::erase_if(fetches, [](const auto& fetch) { return static_cast<bool>(fetch.error); });
  changed_.notify_all();
  return fetches.size() == begun;
}

// The old unit stays where it is: nothing is lost.
void RowCache::undo(Window& window, const Window::Fetch& fetch) noexcept {
  auto& state = states_[fetch.slot];
  map_[fetch.unit].store(nowhere, std::memory_order_relaxed);
  ask([&](RowPolicy& p) {
    p.on_erase(fetch.unit, fetch.slot);
    p.on_insert(fetch.old, fetch.slot);
  });
  std::erase(window.pins, fetch.slot);
  unpin(fetch.slot, window.serial);
  state.unit = fetch.old;
  state.hold = 0;
  state.prefetched = false;
  state.dirty = state.stuck = true;
  write_error_ = fetch.error;
  ++counters_.write_errors;
}

void RowCache::read_units(Window& window) {
  auto& requests = window.requests;
  auto& fetches = window.fetches;
  std::sort(fetches.begin(), fetches.end(), [](const auto& a, const auto& b) { return a.unit < b.unit; });
  requests.clear();
  for (const auto& fetch : fetches)
    requests.push_back({home_of(fetch.unit), slot_address(fetch.slot), layout_.unit_bytes, {}});
  const bool ahead = window.purpose == Purpose::Prefetch;
  transfer(Direction::Read, requests, ahead ? Cause::Hint : Cause::Miss);

  const MutexLock lock{mutex_};
  for (std::size_t i = 0; i < requests.size(); ++i) {
    auto& fetch = fetches[i];
    fetch.error = requests[i].error;
    if (fetch.error) {
      forget(window, fetch);
      continue;
    }
    counters_.bytes_in += layout_.unit_bytes;
    if (window.purpose == Purpose::Gather || window.purpose == Purpose::Update) ++counters_.missed_units;
    if (ahead) ++counters_.prefetched_units;
    if (is_staging(fetch.slot))
      counters_.in_place_units += window.purpose != Purpose::Peek;
    else
      map_[fetch.unit].store(fetch.slot, std::memory_order_release);  // (2) -> (1)
  }
  changed_.notify_all();
}

// A unit that cannot be read is in no slot.
void RowCache::forget(Window& window, const Window::Fetch& fetch) noexcept {
  map_[fetch.unit].store(nowhere, std::memory_order_relaxed);
  if (!is_staging(fetch.slot)) ask([&](RowPolicy& p) { p.on_erase(fetch.unit, fetch.slot); });
  std::erase(window.pins, fetch.slot);
  unpin(fetch.slot, window.serial);
  put_free(fetch.slot);
  ++counters_.read_errors;
  if (!window.failure) window.failed_unit = fetch.unit;
  window.failure = fetch.error;
}

void RowCache::release(Window& window) noexcept {
  if (window.in_place_reads != 0) {
    slow().charge(Direction::Read, window.in_place_bytes, window.in_place_reads, window.in_place_since);
    window.in_place_reads = 0;
    window.in_place_bytes = 0;
  }
  if (window.purpose == Purpose::Update) write_staged(window);
  const MutexLock lock{mutex_};
  if (is_awaited(window)) --awaited_;
  for (const auto slot : window.pins) {
    auto& state = states_[slot];
    unpin(slot, window.serial);
    if (!is_staging(slot)) {
      if (window.purpose == Purpose::Update) state.dirty = true;
    } else if (map_[state.unit].load(std::memory_order_relaxed) == (pending | slot)) {  // not stuck there
      map_[state.unit].store(nowhere, std::memory_order_relaxed);
      put_free(slot);
    }
  }
  window.pins.clear();
  --windows_;
  if (waiters_ != 0) changed_.notify_all();
}

// What was updated in staging goes home at once. If it cannot, staging has become its slot.
void RowCache::write_staged(Window& window) noexcept {
  auto& requests = window.requests;
  requests.clear();
  std::sort(window.pins.begin(), window.pins.end());
  const auto staged = std::lower_bound(window.pins.begin(), window.pins.end(), shape_.slots);
  if (staged == window.pins.end()) return;
  for (auto slot = staged; slot != window.pins.end(); ++slot)
    requests.push_back({home_of(states_[*slot].unit), slot_address(*slot), layout_.unit_bytes, {}});
  transfer(Direction::Write, requests, Cause::Evict);
  const MutexLock lock{mutex_};
  for (std::size_t i = 0; i < requests.size(); ++i) {
    auto& state = states_[staged[static_cast<std::ptrdiff_t>(i)]];
    if (!requests[i].error) {
      ++counters_.written_units;
      counters_.bytes_out += layout_.unit_bytes;
      continue;
    }
    state.dirty = state.stuck = true;
    write_error_ = requests[i].error;
    ++counters_.write_errors;
    map_[state.unit].store(staged[static_cast<std::ptrdiff_t>(i)], std::memory_order_release);  // (2) -> (1)
  }
}

std::size_t RowCache::prefetch(Window& window, std::span<const RowId> units, bool& full) {
  window.purpose = Purpose::Prefetch;
  begin(window, chunk_);
  units = units.first(std::min(units.size(), prefetch_stretch));
  std::size_t next = 0;
  {
    const MutexLock lock{mutex_};
    full = awaited_ != 0;  // who takes slots now would take them from those that somebody needs now
    for (; next < units.size() && window.fetches.size() < chunk_ && !full; ++next) {
      const auto entry = map_[units[next]].load(std::memory_order_relaxed);
      if (entry != nowhere) {
        auto& state = states_[entry & ~pending];
        if (state.unit == units[next]) state.hold = std::max(state.hold, window.hold);
        continue;
      }
      if (!admits(units[next])) continue;
      const auto slot = take_slot(window, units[next]);
      full = slot == no_slot;
      if (full) break;
      start_fetch(window, units[next], slot);
    }
  }
  // Where the slow tier takes no victim there is no use in trying more. A row that cannot be read is reported to
  // whoever asks for it.
  if (!carry_out(window)) full = true;
  release(window);
  return next;
}

std::size_t RowCache::find_to_write(std::span<const RowId> units, std::span<std::byte*> addresses) noexcept {
  constexpr std::size_t ahead = 16;
  const auto view = direct_view();
  const MutexLock lock{mutex_};
  std::size_t at_home = 0;
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (i + ahead < units.size()) __builtin_prefetch(&map_[units[i + ahead]]);
    if (i + ahead / 2 < units.size()) {
      const auto entry = map_[units[i + ahead / 2]].load(std::memory_order_relaxed);
      if (entry < pending) __builtin_prefetch(&states_[entry], 1);
    }
    addresses[i] = const_cast<std::byte*>(view.find(units[i]));
    if (const auto slot = slot_of(units[i]); slot != no_slot)
      states_[slot].dirty = true;
    else
      ++at_home;
  }
  return at_home;
}

void RowCache::promote(Window& window) {
  window.purpose = Purpose::Prefetch;
  window.hold = 0;
  begin(window, chunk_);
  {
    const MutexLock lock{mutex_};
    const auto logged = logged_.load(std::memory_order_relaxed);
    for (RowId i = 0; i < logged && window.fetches.size() < chunk_; ++i) {
      const auto unit = layout_.unit_of(log_[i]);
      const auto slot = slot_of(unit);
      ask([&](RowPolicy& p) { slot != no_slot ? p.on_hit(unit, slot) : p.on_miss(unit); });
      if (map_[unit].load(std::memory_order_relaxed) != nowhere || !admits(unit)) continue;
      const auto taken = take_slot(window, unit);
      if (taken != no_slot) start_fetch(window, unit, taken);
    }
    logged_.store(0, std::memory_order_relaxed);
  }
  carry_out(window);
  release(window);
}

void RowCache::flush(Window& window) {
  if (in_fork_child_)
    throw TierError{std::make_error_code(std::errc::operation_not_permitted),
                    "a flush of table '" + name_ + "' in the child of a fork"};
  window.purpose = Purpose::Flush;
  begin(window, chunk_);
  std::error_code failure;
  RowId failed = 0;
  const auto slots = static_cast<SlotId>(shape_.slots + shape_.staging);
  for (SlotId slot = 0; slot < slots;) {
    {
      const MutexLock lock{mutex_};
      window.requests.clear();
      for (; slot < slots && window.requests.size() < chunk_; ++slot) {
        auto& state = states_[slot];
        if (!state.dirty) continue;
        state.writing = true;
        pin(window, slot);
        window.requests.push_back({home_of(state.unit), slot_address(slot), layout_.unit_bytes, {}});
      }
    }
    transfer(Direction::Write, window.requests, Cause::Evict);
    const MutexLock lock{mutex_};
    for (std::size_t i = 0; i < window.requests.size(); ++i) {
      const auto error = window.requests[i].error;
      if (error && !failure) failure = error, failed = states_[window.pins[i]].unit;
      settle_written(window.pins[i], error);
      unpin(window.pins[i], window.serial);
    }
    window.pins.clear();
    changed_.notify_all();
  }
  free_written_staging();
  release(window);
  if (failure) throw unit_error(layout_, name_, failed, slow(), failure, "cannot write back");
}

void RowCache::settle_written(SlotId slot, std::error_code error) noexcept {
  auto& state = states_[slot];
  state.writing = false;
  state.dirty = state.stuck = static_cast<bool>(error);
  if (error) {
    write_error_ = error;
    ++counters_.write_errors;
  } else {
    ++counters_.written_units;
    counters_.bytes_out += layout_.unit_bytes;
  }
}

// Units that were stuck in staging have gone home: once nobody reads them there, staging is free again.
void RowCache::free_written_staging() noexcept {
  const auto first = shape_.slots, last = shape_.slots + shape_.staging;
  const auto leaves = [this](SlotId slot) TIER_NO_THREAD_SAFETY_ANALYSIS {
    const auto& state = states_[slot];
    return state.unit < layout_.units && map_[state.unit].load(std::memory_order_relaxed) == slot &&
           !state.dirty;
  };
  std::array<bool, CacheShape::most_staging> left{};
  {
    const MutexLock lock{mutex_};
    for (auto slot = first; slot < last; ++slot) {
      if (!leaves(slot)) continue;
      if (states_[slot].pins != 0) {
        states_[slot].dirty = true;  // somebody uses it: the next flush will see to it
        continue;
      }
      left[slot - first] = true;
      map_[states_[slot].unit].store(nowhere, std::memory_order_release);
    }
  }
  epochs_.synchronize();
  const MutexLock lock{mutex_};
  for (auto slot = first; slot < last; ++slot)
    if (left[slot - first]) put_free(slot);
}

void RowCache::transfer(Direction direction, std::span<IoRequest> requests, Cause cause) noexcept {
  if (requests.empty()) return;
  if (in_fork_child_) {  // what could not leave staging before the fork stays there
    for (auto& request : requests) request.error = std::make_error_code(std::errc::operation_not_permitted);
    return;
  }
  slow().transfer(direction, requests);
  const auto moved = static_cast<std::size_t>(
      std::count_if(requests.begin(), requests.end(), [](const auto& request) { return !request.error; }));
  const auto from = direction == Direction::Read ? home_.tier_index() : Manager::fastest();
  const auto to = direction == Direction::Read ? Manager::fastest() : home_.tier_index();
  manager_.count_moved(from, to, cause, moved * layout_.unit_bytes, moved);
}

void RowCache::before_fork() noexcept {
  gate_.lock();
  mutex_.lock();
  ++waiters_;
  while (windows_ != 0) changed_.wait(mutex_);
  --waiters_;
}

void RowCache::after_fork(bool in_child) noexcept {
  in_fork_child_ = in_child || in_fork_child_;
  mutex_.unlock();
  gate_.unlock();
}

// Batches.

BatchNumber RowCache::open_batch() {
  const MutexLock lock{mutex_};
  for (BatchNumber tried = 0; tried < max_open_batches; ++tried) {
    if (++last_batch_ == 0) ++last_batch_;
    auto& entry = open_[last_batch_ % max_open_batches];
    if (entry == 0) return entry = last_batch_;
  }
  return 0;
}

void RowCache::announce(BatchNumber batch, std::span<const RowId> units) {
  const MutexLock lock{mutex_};
  ask([&](RowPolicy& p) { p.on_announce(batch, units); });
}

void RowCache::end_batch(BatchNumber batch, std::span<const RowId> announced, bool used) noexcept {
  if (batch == 0) return;
  const MutexLock lock{mutex_};
  open_[batch % max_open_batches] = 0;
  for (const auto unit :
       is_direct() ? std::span<const RowId>{} : announced) {  // nothing is fetched for a batch
    const auto slot = slot_of(unit);
    if (slot == no_slot || !states_[slot].prefetched || states_[slot].hold != batch) continue;
    states_[slot].prefetched = false;
    counters_.prefetched_unused += !used;
  }
  if (!announced.empty()) ask([&](RowPolicy& p) { p.on_batch_end(batch, announced); });
}

void RowCache::hold(BatchNumber batch, std::span<const RowId> units) noexcept {
  const MutexLock lock{mutex_};
  for (const auto unit : units) {
    const auto slot = slot_of(unit);
    if (slot != no_slot && !is_held(states_[slot])) states_[slot].hold = batch;
  }
}

void RowCache::note_uses(std::span<const RowId> rows, BatchNumber hold) noexcept {
  if (hold == 0 && logged_.load(std::memory_order_relaxed) == shape_.log) return;
  const MutexLock lock{mutex_};
  if (hold == 0) {
    const auto logged = logged_.load(std::memory_order_relaxed);
    const auto taken = std::min<std::size_t>(rows.size(), shape_.log - logged);
    std::copy_n(rows.begin(), taken, log_ + logged);
    logged_.store(logged + static_cast<RowId>(taken), std::memory_order_relaxed);
    return;
  }
  drain_log();
  for (const auto row : rows) {
    const auto slot = slot_of(layout_.unit_of(row));
    if (slot == no_slot) continue;
    states_[slot].hold = std::max(states_[slot].hold, hold);
    states_[slot].prefetched = false;
    ask([&](RowPolicy& p) { p.on_hit(states_[slot].unit, slot); });
  }
}

void RowCache::drain_log() noexcept {
  const auto logged = logged_.load(std::memory_order_relaxed);
  for (RowId i = 0; i < logged; ++i) {
    const auto unit = layout_.unit_of(log_[i]);
    const auto slot = slot_of(unit);
    if (slot != no_slot) ask([&](RowPolicy& p) { p.on_hit(unit, slot); });
  }
  logged_.store(0, std::memory_order_relaxed);
}

// Checks and reports.

void RowCache::throw_unreadable(const Window& window) const {
  throw unit_error(layout_, name_, window.failed_unit, home_.tier(), window.failure,
                   in_fork_child_ ? "the child of a fork cannot reach" : "cannot read");
}

void RowCache::throw_no_room() const {
  std::size_t stuck = 0;
  for (std::size_t slot = 0; slot < std::size_t{shape_.slots} + shape_.staging; ++slot)
    stuck += states_[slot].stuck;
  throw OutOfTierMemory{
      "table '" + name_ + "' has no slot left in tier " + std::string{storage_.tier().name()} + ": of " +
          std::to_string(shape_.slots) + " slots and " + std::to_string(shape_.staging) + " for staging, " +
          std::to_string(stuck) + " hold rows that tier " + std::string{home_.tier().name()} +
          " does not take back (" + write_error_.message() + ")",
      write_error_};
}

void RowCache::add_statistics(TableStatistics& statistics) const {
  const MutexLock lock{mutex_};
  statistics += counters_;
}
void RowCache::reset_statistics() {
  const MutexLock lock{mutex_};
  counters_ = {};
}

void RowCache::check_invariants() const {
  const auto check = [](bool holds, const char* what) {
    if (!holds) throw std::logic_error{what};
  };
  const MutexLock lock{mutex_};
  const std::size_t slots = std::size_t{shape_.slots} + shape_.staging;
  std::size_t cached = 0, free = 0;
  for (RowId unit = 0; unit < layout_.units; ++unit) {
    const auto entry = map_[unit].load(std::memory_order_relaxed);
    if (entry == nowhere) continue;
    check(entry < slots, "(C3) an entry of the slot map is pending, or no slot");
    check(states_[entry].unit == unit, "(C1) a slot does not hold the unit that the map says");
    check(!is_staging(entry) || states_[entry].dirty, "(C2) a unit stays in staging though it could go home");
    ++cached;
  }
  for (auto list : {free_, free_staging_})
    for (; list != no_slot; list = states_[list].unit) ++free;
  check(cached + free == slots, "(C2) a slot is neither free nor in the map");
  check(pins_ == 0, "a slot is pinned, and nobody uses it");
  for (std::size_t slot = 0; slot < slots; ++slot)
    check(states_[slot].pins == 0, "a slot is pinned on its own");
}

}  // namespace tier::detail
