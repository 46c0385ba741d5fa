// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Questions and actions of a policy, which calls them under the lock.
#include "manager_core.hpp"

namespace tier {

TierFacts ManagerCore::tier_facts(TierIndex t) const noexcept {
  const auto& state = tiers_[t];
  const auto& model = state.tier->model();
  return {state.tier->name(),
          model.read_bytes_per_second,
          model.write_bytes_per_second,
          static_cast<std::uint64_t>(model.latency.count()),
          model.addressable,
          state.heap.capacity(),
          state.used(),
          state.heap.largest_free()};
}

std::optional<BlockFacts> ManagerCore::block_facts(BlockId id) const noexcept {
  const Block* b = find(id);
  return b == nullptr ? std::nullopt : std::optional{facts(*b)};
}

TierIndex ManagerCore::slower(TierIndex t) const noexcept {
  const auto order = demotion_order(models_, t, 1_MiB);
  return order.empty() ? no_tier : order.front();
}

bool ManagerCore::in_background(TierIndex from, TierIndex to) const noexcept {
  if (options_.movers == 0) return false;
  const auto in_memory = [&](TierIndex t) TIER_NO_THREAD_SAFETY_ANALYSIS {
    if (t >= tiers_.size()) return false;
    const auto& tier = *tiers_[t].tier;
    return tier.has_private_pages() || (!tier.has_bytes() && tier.model().addressable);
  };
  return !in_memory(from) || !in_memory(to) || !engine_.is_crowded();
}

Outcome ManagerCore::copy(BlockId id, TierIndex t, When when) noexcept {
  if (choosing_) return Outcome::Pinned;
  Block* b = find(id);
  if (b == nullptr || t >= tiers_.size() || b->record->primary() == nullptr || closed_ ||
      options_.movers == 0)
    return Outcome::Gone;
  auto& record = *b->record;
  if (record.immovable || record.transfer != nullptr) return Outcome::Pinned;
  if (t <= record.primary()->tier) return Outcome::Gone;
  Region* to = unread_copy(*b, t);
  if (to != nullptr && to->version == b->version.load(std::memory_order_relaxed)) return Outcome::Done;
  std::error_code cause;
  if (to == nullptr) to = allocate_region(t, b->size, record.alignment, cause);
  if (to == nullptr) return Outcome::Full;
  const bool own = to->block == b;
  if (!start_moving(*b)) {
    if (!own) free_region(to);
    return Outcome::Pinned;
  }
  if (own) detach(*b, to);
  Transfer* transfer = begin_transfer(*b, TransferKind::Clean, to, Cause::Plan);
  if (transfer == nullptr) return Outcome::Full;
  transfer->submitted = true;
  engine_.submit(*transfer, when == When::Soon ? Priority::Prefetch : Priority::Idle);
  return Outcome::Done;
}

Outcome ManagerCore::note_brought(BlockId id, Outcome outcome) noexcept {
  if (id == hinted_.block) hinted_.brought = outcome;
  return outcome;
}

Outcome ManagerCore::fetch(BlockId id, TierIndex t, bool force) noexcept {
  if (choosing_) return Outcome::Pinned;
  Block* b = find(id);
  if (b == nullptr || t >= tiers_.size() || b->record->immovable) return Outcome::Gone;
  return note_brought(id, begin_fetch(*b, t, force, Cause::Plan));
}

Outcome ManagerCore::make_primary(BlockId id, TierIndex t) noexcept {
  if (choosing_) return Outcome::Pinned;
  Block* b = find(id);
  return b == nullptr ? Outcome::Gone : note_brought(id, change_primary(*b, t, Cause::Plan));
}

Outcome ManagerCore::change_primary(Block& b, TierIndex t, Cause cause) noexcept {
  const auto* const old = b.record->primary();
  if (old == nullptr) return Outcome::Gone;
  if (old->tier == t) return Outcome::Done;
  Region* region = b.record->in(t);
  const auto stale = [&] { return region->version != b.version.load(std::memory_order_acquire); };
  if (region == nullptr || stale()) return Outcome::Gone;
  if (b.record->immovable || is_read(b) || !start_moving(b)) return Outcome::Pinned;
  // A scope that comes in from here on sees the block as moving and waits for our lock; one may have come and gone.
  if (stale()) {
    b.state.end_move();
    return Outcome::Gone;
  }
  detach(b, region);
  set_primary(b, region);
  announcer_.tell_observers(MigrationEvent{{}, b.id, old->tier, t, {0}, cause, timeline_.now_ns(), 0, true},
                            &Observer::on_migration);
  b.state.end_move();
  return Outcome::Done;
}

Outcome ManagerCore::drop(BlockId id, TierIndex t) noexcept {
  if (choosing_) return Outcome::Pinned;
  Block* b = find(id);
  Region* region = b != nullptr ? b->record->in(t) : nullptr;
  if (region == nullptr) return Outcome::Gone;
  if (b->record->primary() == region) return Outcome::Pinned;
  detach(*b, region);
  free_region(region);
  ++counts_.copies_dropped;
  return Outcome::Done;
}

Outcome ManagerCore::evict(BlockId id, TierIndex t) noexcept {
  if (choosing_) return Outcome::Pinned;
  Block* b = find(id);
  if (t == no_tier && b != nullptr && b->record->primary() != nullptr) {
    auto outcome = Outcome::Gone;
    for (const auto to : order_below(*b)) {
      outcome = evict(id, to);
      if (outcome != Outcome::Full) break;
    }
    return outcome;
  }
  if (b == nullptr || t >= tiers_.size() || b->record->primary() == nullptr || closed_ ||
      options_.movers == 0)
    return Outcome::Gone;
  auto& record = *b->record;
  if (record.primary()->tier >= t) return Outcome::Done;
  if (record.immovable || record.transfer != nullptr || is_read(*b)) return Outcome::Pinned;
  Region* to = unread_copy(*b, t);
  if (to != nullptr && to->version == b->version.load(std::memory_order_acquire)) {
    Region* old = record.primary();
    const auto outcome = change_primary(*b, t, Cause::Evict);
    if (outcome != Outcome::Done) return outcome;
    detach(*b, old);
    free_region(old);
    count_clean_eviction(*b);
    return Outcome::Done;
  }
  std::error_code cause;
  if (to == nullptr) to = allocate_region(t, b->size, record.alignment, cause);
  if (to == nullptr) return Outcome::Full;
  const bool own = to->block == b;
  if (!start_moving(*b)) {
    if (!own) free_region(to);
    return Outcome::Pinned;
  }
  if (own) detach(*b, to);
  Transfer* transfer = begin_transfer(*b, TransferKind::Evict, to, Cause::Evict);
  if (transfer == nullptr) return Outcome::Full;
  transfer->submitted = true;
  engine_.submit(*transfer, Priority::Idle);
  return Outcome::Done;
}

void ManagerCore::rerank(BlockId id) noexcept {
  Block* b = find(id);
  if (choosing_ || b == nullptr || !b->record->is_linked()) return;
  unrank(*b);
  rank(*b);
}

}  // namespace tier
