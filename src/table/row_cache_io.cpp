// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How the bytes of units move: victims out, missed units in, all of them home.
#include <tier/core/error.hpp>

#include <algorithm>
#include <bit>
#include <utility>

#include "table/row_cache.hpp"

namespace tier::detail {
namespace {

// Units looked at in one hold of the lock by a flush.
constexpr RowId flush_stretch = 4096;

/// What the window's user wants of a unit, where units are blocks of rows.
std::span<const RowId> wanted_in(const RowLayout& layout, const Window& window, RowId unit) {
  const auto first = layout.first_row(unit);
  const auto begin = std::lower_bound(window.wanted.begin(), window.wanted.end(), first);
  return {begin, std::lower_bound(begin, window.wanted.end(), first + layout.rows_in(unit))};
}

TierError unit_error(const RowLayout& layout, const std::string& table, RowId unit, Tier& tier,
                     std::error_code error, std::string_view what) {
  std::string message{what};
  message.append(" table '").append(table).append("' row ").append(std::to_string(layout.first_row(unit)));
  if (layout.rows_in(unit) > 1)
    message.append(" to ").append(std::to_string(layout.first_row(unit) + layout.rows_in(unit) - 1));
  return {error, message.append(" in tier ").append(tier.name())};
}

}  // namespace

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
  list_victims(window, {fetches.begin(), clean});
  transfer(Direction::Write, requests, Cause::Evict);

  const MutexLock lock{mutex_};
  auto fetch = fetches.begin();
  for (const auto& request : requests) {
    if (fetch == clean || request.memory != slot_address(fetch->slot)) {
      settle_written(slot_at(request.memory), request.error);  // it had joined
      continue;
    }
    fetch->error = request.error;
    if (fetch->error) {
      undo(window, *fetch);
    } else {
      count_written(fetch->slot);
      map_[fetch->old].store(nowhere, std::memory_order_release);
    }
    ++fetch;
  }
  const auto begun = fetches.size();
  std::erase_if(fetches, [](const auto& failed) { return static_cast<bool>(failed.error); });
  changed_.notify_all();
  return fetches.size() == begun;
}

// Dirty units beside a victim are written with it, and stay: to a device, one large write is little more than a small
// one.
void RowCache::list_victims(Window& window, std::span<const Window::Fetch> victims) {
  auto& requests = window.requests;
  auto room = joins_writes_ ? chunk_ : 0;
  const auto add = [&](RowId unit, SlotId slot) {
    requests.push_back({home_of(unit), slot_address(slot), layout_.unit_bytes, {}});
  };
  const auto join = [&](RowId unit) {
    const auto slot = slot_of(unit);
    states_[slot].writing = true;
    add(unit, slot);
  };
  requests.clear();
  const MutexLock lock{mutex_};
  for (const auto& victim : victims) {
    const auto age = last_batch_ - victim.hold;
    auto first = victim.old;
    for (; room > 0 && may_join(first - 1, age); --room) --first;
    for (; first < victim.old; ++first) join(first);
    add(victim.old, victim.slot);
    for (auto next = victim.old + 1; room > 0 && may_join(next, age); ++next, --room) join(next);
  }
}

// Not what somebody uses or is about to. Nor what will be dirty again before it leaves: what batches have not wanted for
// half as long as the victim is taken to leave soon.
bool RowCache::may_join(RowId unit, BatchNumber age) const noexcept {
  const auto slot = unit < layout_.units ? slot_of(unit) : no_slot;
  if (slot == no_slot) return false;
  const auto& state = states_[slot];
  if (!state.dirty || state.stuck || state.writing || state.pins != 0 || is_held(state)) return false;
  return last_batch_ - state.hold >= age / 2;
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

  const auto row_bytes = layout_.used_row_bytes();
  const MutexLock lock{mutex_};
  for (std::size_t i = 0; i < requests.size(); ++i) {
    auto& fetch = fetches[i];
    fetch.error = requests[i].error;
    if (fetch.error) {
      forget(window, fetch);
      continue;
    }
    counters_.bytes_in += layout_.unit_bytes;
    counters_.bytes_wanted +=
        row_bytes * (layout_.unit_rows == 1 ? 1 : wanted_in(layout_, window, fetch.unit).size());
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

// Where units are rows, that they are dirty says all.
void RowCache::note_changed(const Window& window) noexcept {
  if (layout_.mask_words() == 0) return;
  const MutexLock lock{mutex_};
  for (const auto slot : window.pins) {
    const auto unit = states_[slot].unit;
    for (const auto row : wanted_in(layout_, window, unit)) {
      const auto i = row - layout_.first_row(unit);
      changed(slot)[i / 32] |= std::uint32_t{1} << i % 32;
    }
  }
}

// What was updated in staging goes home at once. If it cannot, staging has become its slot.
void RowCache::write_staged(Window& window) noexcept {
  auto& requests = window.requests;
  requests.clear();
  const auto staged = std::partition(window.pins.begin(), window.pins.end(),
                                     [this](SlotId slot) { return !is_staging(slot); });
  if (staged == window.pins.end()) return;
  std::sort(staged, window.pins.end(),
            [this](SlotId a, SlotId b) { return states_[a].unit < states_[b].unit; });
  for (auto slot = staged; slot != window.pins.end(); ++slot)
    requests.push_back({home_of(states_[*slot].unit), slot_address(*slot), layout_.unit_bytes, {}});
  transfer(Direction::Write, requests, Cause::Evict);
  const MutexLock lock{mutex_};
  for (const auto& request : requests) {
    const auto slot = slot_at(request.memory);
    if (!request.error) {
      count_written(slot);
      continue;
    }
    auto& state = states_[slot];
    state.dirty = state.stuck = true;
    write_error_ = request.error;
    ++counters_.write_errors;
    map_[state.unit].store(slot, std::memory_order_release);  // (2) -> (1)
  }
}

void RowCache::flush(Window& window) {
  if (in_fork_child_)
    throw TierError{std::make_error_code(std::errc::operation_not_permitted),
                    "a flush of table '" + name_ + "' in the child of a fork"};
  window.purpose = Purpose::Flush;
  begin(window, chunk_);
  std::error_code failure;
  RowId failed = 0;
  for (RowId unit = 0; unit < layout_.units;) {
    unit = list_dirty(window, unit);
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

// In the order of their homes, for large writes.   \return  the unit to go on from
RowId RowCache::list_dirty(Window& window, RowId unit) {
  const MutexLock lock{mutex_};
  window.requests.clear();
  const auto end = std::min(layout_.units, unit + flush_stretch);
  while (unit < end && window.requests.size() < chunk_) {
    const auto entry = map_[unit].load(std::memory_order_relaxed);
    const SlotId slot = entry & ~pending;
    if (entry != nowhere && (states_[slot].unit != unit || states_[slot].writing)) {
      if (!window.requests.empty()) break;
      ++waiters_;
      changed_.wait(mutex_);  // somebody else writes it back, and may fail
      --waiters_;
      continue;
    }
    if (entry != nowhere && states_[slot].dirty) {
      states_[slot].writing = true;
      pin(window, slot);
      window.requests.push_back({home_of(unit), slot_address(slot), layout_.unit_bytes, {}});
    }
    ++unit;
  }
  return unit;
}

void RowCache::settle_written(SlotId slot, std::error_code error) noexcept {
  auto& state = states_[slot];
  state.writing = false;
  state.dirty = state.stuck = static_cast<bool>(error);
  if (!error) return count_written(slot);
  write_error_ = error;
  ++counters_.write_errors;
}

void RowCache::count_written(SlotId slot) noexcept {
  ++counters_.written_units;
  counters_.bytes_out += layout_.unit_bytes;
  if (layout_.unit_rows == 1) ++counters_.written_rows;
  for (auto& word : changed(slot))
    counters_.written_rows += static_cast<unsigned>(std::popcount(std::exchange(word, 0)));
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

void RowCache::throw_unreadable(const Window& window) const {
  throw unit_error(layout_, name_, window.failed_unit, home_.tier(), window.failure,
                   in_fork_child_ ? "the child of a fork cannot reach" : "cannot read");
}

}  // namespace tier::detail
