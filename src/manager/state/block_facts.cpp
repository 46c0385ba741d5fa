// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "block_facts.hpp"

#include <ios>
#include <sstream>

#include "mutants.hpp"
#include "transfer.hpp"

namespace tier {

bool dirty(const Block& b) noexcept {
  const auto version = b.version.load(std::memory_order_relaxed);
  const Region* primary = b.record->primary();
  if (version == 0 || primary == nullptr) return false;
  if (mutated(Mutant::DirtyDecidedAtFetch)) return primary->next == nullptr;
  for (const Region* r = primary->next; r != nullptr; r = r->next)
    if (r->tier > primary->tier && (r->version == version || mutated(Mutant::StaleRegionPublished)))
      return false;
  return true;
}

BlockFacts facts(const Block& b) noexcept {
  const auto& record = *b.record;
  const auto state = b.state.glance();
  const auto version = b.version.load(std::memory_order_relaxed);
  BlockFacts f;
  f.id = b.id;
  f.size = {b.size};
  if (const Region* primary = record.primary()) {
    f.tier = primary->tier;
    f.current_copies = 1U << primary->tier;
    for (const Region* r = primary->next; r != nullptr; r = r->next)
      if (r->version == version) f.current_copies |= 1U << r->tier;
  }
  f.dirty = dirty(b);
  f.pinned = state.is_pinned();
  f.moving = state.is_moving();
  f.archived = record.archived;
  f.garbage = record.garbage;
  f.last_use = b.last_use.load(std::memory_order_relaxed);
  f.prefetched = f.last_use == record.prefetched;
  return f;
}

std::string_view name_of(const Block& b) noexcept {
  if (b.record->group != nullptr) return "a group of small objects";
  return b.record->object != nullptr ? std::string_view{b.record->object->name} : "freed object";
}

std::string described(const Block& b) {
  const auto& record = *b.record;
  std::ostringstream text;
  text << ": block " << b.id << " of " << b.size << " bytes, version "
       << b.version.load(std::memory_order_relaxed) << ", state " << std::hex << b.state.glance().word()
       << std::dec << ", regions (tier, version, readers)";
  for (const Region* r = record.regions; r != nullptr; r = r->next)
    text << " (" << int{r->tier} << ", " << r->version << ", " << r->readers << ")";
  if (const Transfer* t = record.transfer)
    text << ", moving for " << to_string(t->cause) << ", kind " << static_cast<int>(t->kind);
  return text.str();
}

bool start_moving(Block& b, std::uint32_t own_pins) noexcept {
  return b.state.try_begin_move(mutated(Mutant::PinIgnored) ? BlockState::any_pins : own_pins);
}

bool is_read(const Block& b) noexcept {
  return b.record->window_address != nullptr && b.record->primary()->readers > 0;
}

}  // namespace tier
