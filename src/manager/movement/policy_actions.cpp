// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "policy_actions.hpp"

namespace tier {

TierFacts PolicyActions::tier_facts(TierIndex t) const noexcept {
  const auto& state = store_.tiers[t];
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

std::optional<BlockFacts> PolicyActions::block_facts(BlockId id) const noexcept {
  const Block* b = store_.catalog.find(id);
  return b == nullptr ? std::nullopt : std::optional{facts(*b)};
}

TierIndex PolicyActions::slower(TierIndex t) const noexcept {
  const auto order = demotion_order(store_.tiers.models(), t, 1_MiB);
  return order.empty() ? no_tier : order.front();
}

Outcome PolicyActions::copy(BlockId id, TierIndex t, When when) noexcept {
  if (finder_.is_choosing()) return Outcome::Pinned;
  Block* b = store_.catalog.find(id);
  if (b == nullptr || t >= store_.tiers.count() || b->record->primary() == nullptr ||
      state_.lifetime.is_closed() || state_.options.movers == 0)
    return Outcome::Gone;
  auto& record = *b->record;
  if (record.immovable || record.transfer != nullptr) return Outcome::Pinned;
  if (t <= record.primary()->tier) return Outcome::Gone;
  const Region* const to = store_.regions.unread_copy(*b, t);
  if (to != nullptr && to->version == b->version.load(std::memory_order_relaxed)) return Outcome::Done;
  return send(*b, t, TransferKind::Clean, Cause::Plan,
              when == When::Soon ? Priority::Prefetch : Priority::Idle);
}

Outcome PolicyActions::fetch(BlockId id, TierIndex t, bool force) noexcept {
  if (finder_.is_choosing()) return Outcome::Pinned;
  Block* b = store_.catalog.find(id);
  if (b == nullptr || t >= store_.tiers.count() || b->record->immovable) return Outcome::Gone;
  return note_brought(id, prefetcher_.begin(*b, t, force, Cause::Plan));
}

Outcome PolicyActions::make_primary(BlockId id, TierIndex t) noexcept {
  if (finder_.is_choosing()) return Outcome::Pinned;
  Block* b = store_.catalog.find(id);
  return b == nullptr ? Outcome::Gone : note_brought(id, transfers_.change_primary(*b, t, Cause::Plan));
}

Outcome PolicyActions::drop(BlockId id, TierIndex t) noexcept {
  if (finder_.is_choosing()) return Outcome::Pinned;
  Block* b = store_.catalog.find(id);
  Region* region = b != nullptr ? b->record->in(t) : nullptr;
  if (region == nullptr) return Outcome::Gone;
  if (b->record->primary() == region) return Outcome::Pinned;
  store_.regions.detach(*b, region);
  store_.regions.free(region);
  ++state_.counters.totals.copies_dropped;
  return Outcome::Done;
}

Outcome PolicyActions::evict(BlockId id, TierIndex t) noexcept {
  if (finder_.is_choosing()) return Outcome::Pinned;
  Block* b = store_.catalog.find(id);
  if (t == no_tier && b != nullptr && b->record->primary() != nullptr) {
    auto outcome = Outcome::Gone;
    for (const auto to : finder_.order_below(*b)) {
      outcome = evict(id, to);
      if (outcome != Outcome::Full) break;
    }
    return outcome;
  }
  if (b == nullptr || t >= store_.tiers.count() || b->record->primary() == nullptr ||
      state_.lifetime.is_closed() || state_.options.movers == 0)
    return Outcome::Gone;
  auto& record = *b->record;
  if (record.primary()->tier >= t) return Outcome::Done;
  if (record.immovable || record.transfer != nullptr || is_read(*b)) return Outcome::Pinned;
  const Region* const to = store_.regions.unread_copy(*b, t);
  if (to != nullptr && to->version == b->version.load(std::memory_order_acquire)) {
    Region* old = record.primary();
    const auto outcome = transfers_.change_primary(*b, t, Cause::Evict);
    if (outcome != Outcome::Done) return outcome;
    store_.regions.detach(*b, old);
    store_.regions.free(old);
    transfers_.count_clean_eviction(*b);
    return Outcome::Done;
  }
  return send(*b, t, TransferKind::Evict, Cause::Evict, Priority::Idle);
}

Outcome PolicyActions::send(Block& b, TierIndex t, TransferKind kind, Cause cause,
                            Priority priority) noexcept {
  Region* to = b.record->in(t);
  std::error_code refused;
  if (to == nullptr) to = store_.regions.allocate(t, b.size, b.record->alignment, refused);
  if (to == nullptr) return Outcome::Full;
  const bool own = to->block == &b;
  if (!start_moving(b)) {
    if (!own) store_.regions.free(to);
    return Outcome::Pinned;
  }
  if (own) store_.regions.detach(b, to);
  Transfer* transfer = transfers_.begin(b, kind, to, cause);
  if (transfer == nullptr) return Outcome::Full;
  transfers_.submit(*transfer, priority);
  return Outcome::Done;
}

void PolicyActions::rerank(BlockId id) noexcept {
  Block* b = store_.catalog.find(id);
  if (b != nullptr && !finder_.is_choosing()) store_.blocks.rerank(*b);
}

Outcome PolicyActions::note_brought(BlockId id, Outcome outcome) noexcept {
  if (id == watched_.block) watched_.brought = outcome;
  return outcome;
}

}  // namespace tier
