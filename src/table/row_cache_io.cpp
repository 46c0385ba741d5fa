// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How the bytes of units move: victims out, missed units in, all of them home.
#include <tier/core/error.hpp>

#include <algorithm>

#include "table/row_cache.hpp"

namespace tier::detail {
namespace {

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

void RowCache::throw_unreadable(const Window& window) const {
  throw unit_error(layout_, name_, window.failed_unit, home_.tier(), window.failure,
                   in_fork_child_ ? "the child of a fork cannot reach" : "cannot read");
}

}  // namespace tier::detail
