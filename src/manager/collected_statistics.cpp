// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collected_statistics.hpp"

#include <string>

#include "core/metadata_bytes.hpp"

namespace tier {

Statistics collect_statistics(const State& state, const Store& store, const Movement& movement) {
  Statistics s = state.counters.totals;
  s.moving_ns += movement.transfers.moving_ns();
  for (const auto& t : store.tiers)
    s.tiers.push_back({std::string{t.tier->name()},
                       t.heap.capacity(),
                       t.used(),
                       {t.high_water},
                       t.heap.largest_free(),
                       t.heap.condemned(),
                       t.regions()});
  state.counters.add_moved_to(s, store.tiers.count());
  s.objects = store.catalog.objects().size();
  s.blocks = store.catalog.blocks().size();
  if (const auto* const space = store.pages.existing_space()) s.windows = space->mode();
  s.metadata = store.small_objects.memory() + store.catalog.memory() + store.tiers.memory() +
               store.regions.memory() + store.windows.memory() + store.pages.memory() +
               state.announcer.policy().memory() + state.engine.memory() + Bytes{detail::metadata_bytes()};
  return s;
}

std::vector<ObjectStatistics> collect_object_statistics(const Catalog& catalog) {
  std::vector<ObjectStatistics> all;
  for (const auto& object : catalog.objects()) {
    const auto f = facts(*object.block);
    const auto& record = *object.block->record;
    all.push_back({object.id,
                   object.name,
                   {object.size},
                   f.tier,
                   f.pinned,
                   f.dirty,
                   record.fetches,
                   record.evictions,
                   record.bytes_moved});
  }
  return all;
}

}  // namespace tier
