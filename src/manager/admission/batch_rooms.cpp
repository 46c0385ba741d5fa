// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "batch_rooms.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "out_of_memory.hpp"

namespace tier {

/// Keeps the operands that are not in yet from leaving for one another, while it lives.
class BatchRooms::Shields {
 public:
  explicit Shields(BatchRooms& rooms) noexcept : rooms_{rooms} {
    if (!rooms_.shields_) return;
    for (auto& e : rooms_.entrants_) {
      if (!e.is_outside()) continue;
      ++e.block().record->shielded;
      e.shielded = true;
    }
  }
  ~Shields() {
    bool any = false;
    for (auto& e : rooms_.entrants_) {
      if (!std::exchange(e.shielded, false)) continue;
      --e.block().record->shielded;
      any = true;
    }
    if (any) rooms_.state_.monitor.changed();
  }
  Shields(const Shields&) = delete;
  Shields& operator=(const Shields&) = delete;

 private:
  BatchRooms& rooms_;
};

BatchRooms::Result BatchRooms::find() {
  leave_room_for_faults();
  if (report_.unlocked) return Result::Again;
  const Shields shields{*this};
  for (auto& e : entrants_) {
    // Of several operands on one block the first gets the room; the others are looked at again later.
    if (!e.is_outside() || e.room != nullptr || e.repeats) continue;
    if (!find_for(e)) return Result::None;
    if (report_.unlocked) return Result::Again;
  }
  return Result::Found;
}

/// Leaves room for faults before room is looked for. Blocks that have no place anywhere then count as living.
void BatchRooms::leave_room_for_faults() {
  if (!store_.reserve.is_needed()) return;
  store_.reserve.withdraw(std::exchange(promised_, 0));
  std::uint64_t sum = 0, largest = 0;
  for (const auto& e : entrants_) {
    const Block& b = e.block();
    if (b.record->primary() != nullptr || e.repeats) continue;
    note_lack(e);
    sum += round_up(b.size, store_.tiers.granule());
    largest = std::max(largest, b.size);
  }
  if (sum == 0) return;
  const std::string name{name_of(lacking())};  // copied: the object may go meanwhile
  report_.unlocked |= places_.leave_room_for_faults(sum, largest, name, lock_);
  store_.reserve.promise(promised_ = sum);
}

bool BatchRooms::find_for(Entrant& e) {
  Block& b = e.block();
  note_lack(e);
  const auto take = [&](TierIndex t) {
    e.room = movement_.evictor.make_room_for(b, t, report_, lock_);
    return e.room != nullptr;
  };
  const auto wanted = e.target;
  if (take(wanted)) return true;
  // No scope fails because the policy avoids a tier. Slower tiers come last, for blocks that cannot be used where they are.
  const bool reachable = store_.pages.reachable(b);
  for (TierIndex t = 0; t < store_.tiers.count() && store_.pages.reachable(b, t); ++t) {
    if (t == wanted || (t > wanted && (reachable || !takes_any_tier_))) continue;
    e.target = t;
    if (movement_.transfers.settle_in(b, t, Cause::Miss)) return report_.unlocked = true;  // a copy was there
    if (take(t)) return true;
  }
  e.target = wanted;
  return false;
}

bool BatchRooms::take_space() {
  bool asked = false;
  for (auto& e : entrants_) {
    if (e.room != nullptr && store_.pages.stays_put(e.block())) store_.regions.note_space(*e.room);
    if (e.room == nullptr || e.room->has_space) continue;
    store_.regions.take_space(e.room, report_.cause, lock_);
    asked = true;
  }
  return !asked;
}

bool BatchRooms::gather() {
  forget_report();
  return gather(Closeness::Preferred) || gather(Closeness::Tight);
}

bool BatchRooms::gather(Closeness closeness) {
  const auto alignment_of = [&](const Block& b) {
    const auto own = b.record->alignment;
    return closeness == Closeness::Tight ? own : store_.tiers.preferred_alignment(0, b.size, own);
  };
  Range range;
  for (const auto& e : entrants_) {
    if (e.repeats) continue;
    const Block& b = e.block();
    range.alignment = std::max(range.alignment, alignment_of(b));
    range.size = round_up(range.size, alignment_of(b)) + round_up(b.size, store_.tiers.granule());
    range.in_window |= b.record->window_address != nullptr;
  }
  Region* all = movement_.evictor.make_room(0, range, 0, report_, lock_);
  if (all == nullptr) return false;
  store_.regions.free(all);
  for (auto& e : entrants_) {
    const Block& b = e.block();
    const bool is_there = b.record->primary() != nullptr && b.record->primary()->tier == 0;
    if (e.repeats || is_there || e.target != 0) continue;
    e.room = store_.regions.allocate_at(0, b.size, alignment_of(b), report_.cause);
  }
  return true;
}

bool BatchRooms::is_too_large() const noexcept {
  std::array<std::uint64_t, max_tiers> sum{};
  for (const auto& e : entrants_)
    if (!e.repeats && e.target < max_tiers) sum[e.target] += e.block().size;
  for (TierIndex t = 0; t < store_.tiers.count(); ++t) {
    const auto& heap = store_.tiers[t].heap;
    if (sum[t] > heap.capacity().count - heap.condemned().count - store_.reserve.placed(t)) return true;
  }
  return false;
}

void BatchRooms::throw_out_of_memory(std::error_code cause) const {
  std::uint64_t size = 0;
  std::size_t blocks = 0;
  for (const auto& e : entrants_) {
    if (e.repeats) continue;
    size += e.block().size;
    ++blocks;
  }
  const auto name = name_of(lacking()).substr(0, 60);
  if (blocks == 1) tier::throw_out_of_memory(store_.tiers, size, name, cause);
  std::array<char, 100> all{};  // must not allocate now
  std::snprintf(all.data(), all.size(), "%.*s and %zu more", static_cast<int>(name.size()), name.data(),
                blocks - 1);
  tier::throw_out_of_memory(store_.tiers, size, all.data(), cause);
}

}  // namespace tier
