// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "residency.hpp"

#include <tier/trace/tables.hpp>

#include <algorithm>
#include <bit>
#include <tuple>

#include "times.hpp"

namespace tier::tool::report {

using trace::EventKind;
using trace::TensorIndex;
using trace::TensorKind;
using trace::whole_tensor;

Residency::Residency(const trace::Trace& trace, const Tiers& tiers, bool timed)
    : trace_{trace},
      tiers_{tiers},
      timed_{timed},
      recorded_{trace.header("recorded") == "1"},
      objects_(trace.tensors().size()),
      copies_{further_copies(trace, tiers)},
      homes_{trace::homes_of_rows(trace)},
      placed_(trace.tensors().size()) {
  for (const auto event : trace.events()) {
    if (event.kind == EventKind::Migration) {
      const auto& m = trace.migration(event);
      see_block(m.tensor, m.block, m.size);
    } else if (event.kind == EventKind::Placement) {
      const auto& p = trace.placement(event);
      see_block(p.tensor, p.block, {});
      placed_[p.tensor] = true;
    }
  }
}

void Residency::see_block(TensorIndex tensor, std::uint32_t block, Bytes moved) {
  if (block == whole_tensor) return;
  auto& sizes = block_sizes_[tensor];
  auto& largest = sizes.moved[block];
  largest = std::max<std::uint64_t>(largest, moved.count);
  sizes.largest = std::max<std::uint64_t>(sizes.largest, moved.count);
  sizes.count = std::max(sizes.count, block + 1);
}

void Residency::apply(std::size_t event_number, Time time) {
  const auto event = trace_.events()[event_number];
  switch (event.kind) {
    case EventKind::Declaration:
      if (trace_.tensor(event.place).kind == TensorKind::Parameter && !(timed_ && placed_[event.place]))
        begin(event.place, timed_ && recorded_ ? time : 0);
      return;
    case EventKind::Kernel:
      return kernel(event_number, time);
    case EventKind::Retire:
      for (const auto tensor : trace_.tensors_of(event)) end(tensor, time);
      return;
    case EventKind::EndOfIteration:
      return end_iteration(time);
    case EventKind::Migration:
      return migrate(trace_.migration(event), copies_[event.place]);
    case EventKind::Placement:
      return place(trace_.placement(event), time);
    case EventKind::Archive:
    case EventKind::Measurement:
    case EventKind::Stall:
    case EventKind::Hint:
    case EventKind::Fault:
    case EventKind::RowAccess:
    case EventKind::Setting:
      return;
  }
}

void Residency::kernel(std::size_t event, Time time) {
  const auto operands = trace_.operands(trace_.kernel(trace_.events()[event]));
  const auto* const measured = measurement_of(trace_, event);
  const auto places = measured ? tiers_.placement(*measured) : std::span<const TierNumber>{};
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const auto tensor = operands[i].tensor;
    begin(tensor, time);
    if (places.size() != operands.size() || places[i] >= tiers_.count()) continue;
    locate(tensor, objects_[tensor].rest, places[i]);
  }
}

void Residency::begin(TensorIndex tensor, Time time) {
  auto& object = objects_[tensor];
  if (object.alive) return;
  const auto& made = trace_.tensor(tensor);
  object = {.alive = true,
            .rest = {static_cast<std::int64_t>(made.size.count), time, Tiers::unknown},
            .blocks = {}};
  if (made.kind != TensorKind::Parameter && made.kind != TensorKind::Gradient)
    of_this_iteration_.push_back(tensor);
}

void Residency::end(TensorIndex tensor, Time time) {
  auto& object = objects_[tensor];
  if (!object.alive) return;
  const auto leave = [&](Part& part) {
    locate(tensor, part, static_cast<TierNumber>(tiers_.count()));
    change(std::max(time, part.since), part.tier, tensor, -part.bytes);
  };
  leave(object.rest);
  for (auto& [number, block] : object.blocks) leave(block);
  object = {};
}

void Residency::end_iteration(Time time) {
  for (const auto tensor : of_this_iteration_) end(tensor, time);
  of_this_iteration_.clear();
}

void Residency::place(const trace::Placement& p, Time time) {
  begin(p.tensor, time);
  auto& rest = objects_[p.tensor].rest;
  if (rest.tier == Tiers::unknown) rest.since = std::max(rest.since, time);  // blocks come one by one
  std::ignore = part(p.tensor, p.block, tiers_.number(p.tier));
}

void Residency::migrate(const trace::Migration& m, bool copies) {
  if (!objects_[m.tensor].alive || homes_[m.tensor]) return;
  auto& moved = part(m.tensor, m.block, tiers_.number(m.from));
  if (!copies) move(m.tensor, moved, tiers_.number(m.to), end_of(m.start, m.duration));
}

/// Returns the part for a block, or for the rest of the object. It is in `tier` unless another tier is known.
Residency::Part& Residency::part(TensorIndex tensor, std::uint32_t block, TierNumber tier) {
  auto& object = objects_[tensor];
  if (block == whole_tensor) {
    locate(tensor, object.rest, tier);
    return object.rest;
  }
  const auto [found, is_new] = object.blocks.try_emplace(block);
  if (is_new) {
    found->second = object.rest;
    found->second.bytes = std::min(object.rest.bytes, size_of_block(tensor, block));
    object.rest.bytes -= found->second.bytes;
    locate(tensor, found->second, tier);
  }
  return found->second;
}

std::int64_t Residency::size_of_block(TensorIndex tensor, std::uint32_t block) const {
  const std::uint64_t size = trace_.tensor(tensor).size.count;
  const auto& sizes = block_sizes_.at(tensor);
  const auto share = size / sizes.count + (size % sizes.count != 0 ? 1 : 0);
  const auto moved = sizes.moved.find(block);
  auto bytes = moved == sizes.moved.end() ? 0 : moved->second;
  // A window is cut at multiples of a power of two, unless it has grown; its last block holds the remainder.
  const auto cut = std::bit_ceil(std::max<std::uint64_t>(share, 1));
  const bool fits = sizes.count == 1 || cut <= (size - 1) / (sizes.count - 1);
  if (fits && block <= (size - std::min<std::uint64_t>(size, 1)) / cut)
    bytes = std::max(bytes, std::min(cut, size - block * cut));
  else if (bytes == 0)
    bytes = sizes.largest != 0 ? sizes.largest : share;
  return static_cast<std::int64_t>(std::min(bytes, size));
}

void Residency::locate(TensorIndex tensor, Part& part, TierNumber tier) {
  if (part.tier != Tiers::unknown) return;
  part.tier = tier;
  change(part.since, tier, tensor, part.bytes);
}

void Residency::move(TensorIndex tensor, Part& part, TierNumber tier, Time time) {
  part.since = std::max(time, part.since);
  if (part.tier == tier) return;
  change(part.since, part.tier, tensor, -part.bytes);
  part.tier = tier;
  change(part.since, tier, tensor, part.bytes);
}

void Residency::change(Time time, TierNumber tier, TensorIndex tensor, std::int64_t bytes) {
  if (bytes != 0) changes_.push_back({time, tier, trace_.tensor(tensor).kind, bytes});
}

std::vector<Change> Residency::finish() && {
  for (TensorIndex tensor = 0; tensor < objects_.size(); ++tensor) {
    auto& object = objects_[tensor];
    if (!object.alive) continue;
    const auto nowhere = static_cast<TierNumber>(tiers_.count());
    locate(tensor, object.rest, nowhere);
    for (auto& [number, block] : object.blocks) locate(tensor, block, nowhere);
  }
  std::ranges::stable_sort(changes_, {}, &Change::time);
  return std::move(changes_);
}

std::vector<Change> changes_of(const trace::Trace& trace, const Tiers& tiers, std::span<const Time> times,
                               bool timed) {
  Residency residency{trace, tiers, timed};
  for (std::size_t event = 0; event < times.size(); ++event) residency.apply(event, times[event]);
  return std::move(residency).finish();
}

}  // namespace tier::tool::report
