// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tier_set.hpp"

#include <tier/core/error.hpp>
#include <tier/core/request_size.hpp>

#include <algorithm>
#include <string>
#include <utility>

#include "memory/system/pages.hpp"

namespace tier {
namespace {

std::vector<std::unique_ptr<Tier>> ordered(std::vector<std::unique_ptr<Tier>> tiers) {
  if (tiers.empty()) throw ConfigError{"a runtime needs at least one tier"};
  if (tiers.size() > max_tiers)
    throw ConfigError{"a runtime has at most " + std::to_string(max_tiers) + " tiers, not " +
                      std::to_string(tiers.size())};
  std::size_t all = 0;  // statistics add their sizes
  for (const auto& t : tiers) {
    const auto sum = detail::checked_sum(all, t->capacity().count);
    if (!sum || *sum > detail::largest_request)
      throw ConfigError{
          "the tiers of a runtime must have less than 8 EiB together; they have more with the " +
          std::to_string(t->capacity().count) + " bytes of " + std::string{t->name()}};
    all = *sum;
  }
  std::ranges::stable_sort(tiers,
                           [](const auto& a, const auto& b) { return is_faster(a->model(), b->model()); });
  if (!tiers.front()->model().addressable)
    throw ConfigError{"none of the tiers can be reached by the CPU: add one such as dram:1GiB"};
  return tiers;
}

}  // namespace

TierSet::TierSet(const State& state, std::vector<std::unique_ptr<Tier>> tiers) {
  auto in_order = ordered(std::move(tiers));
  if (state.options.clock != nullptr)
    for (const auto& t : in_order)
      if (t->has_bytes())
        throw ConfigError{"a virtual clock is for simulated tiers alone, not for " + std::string{t->name()}};
  for (const auto& t : in_order) {
    io_alignment_ = std::max(io_alignment_, t->io_alignment());
    has_unreachable_ |= !t->model().addressable;
  }
  granule_ = std::max(granule_, io_alignment_);  // copies move whole sectors, which must be the region's
  tiers_.reserve(in_order.size());
  for (auto& t : in_order) {
    const Bytes capacity{t->capacity().count / granule_ * granule_};
    RegionHeap heap{capacity, Bytes{granule_}};
    models_.push_back(t->model());
    tiers_.push_back(TierState{.tier = std::move(t), .heap = std::move(heap)});
  }
}

TierSet::~TierSet() {
  for (auto& tier : tiers_) tier.ranked.clear();
}

const TierState& TierSet::largest_addressable() const noexcept {
  const TierState* largest = &tiers_.front();  // the fastest tier is always addressable
  for (const auto& t : tiers_)
    if (t.tier->model().addressable && t.heap.capacity() > largest->heap.capacity()) largest = &t;
  return *largest;
}

std::byte* TierSet::home(const Region& region) const noexcept {
  const auto& state = tiers_[region.tier];
  return state.tier->base() + state.heap.offset(region.slot);
}

bool TierSet::in_a_tier(const std::byte* address) const noexcept {
  return std::ranges::any_of(tiers_, [&](const TierState& state) {
    const auto* const base = state.tier->base();
    return base != nullptr && address >= base && address < base + state.tier->capacity().count;
  });
}

std::size_t TierSet::block_alignment(std::size_t size, std::size_t alignment) const noexcept {
  return std::max(alignment, size >= 4096 ? std::max(io_alignment_, granule_) : granule_);
}

std::uint64_t TierSet::copied_size(const Block& b, TierIndex from, TierIndex to) const noexcept {
  const auto unit = std::max(tiers_[from].tier->io_alignment(), tiers_[to].tier->io_alignment());
  return round_up(b.size, unit);
}

bool TierSet::moves_pages(TierIndex t) const noexcept {
  return windows_ != nullptr && windows_->mode() == WindowMode::Full && tiers_[t].tier->has_private_pages();
}

std::size_t TierSet::preferred_alignment(TierIndex t, std::uint64_t size,
                                         std::size_t alignment) const noexcept {
  return size == huge_page && moves_pages(t) ? std::max(alignment, huge_page) : alignment;
}

void TierSet::track_bare_pages() {
  for (auto& state : tiers_)
    if (state.tier->has_private_pages())
      state.bare.resize(round_up(state.heap.capacity().count, page_size()) / page_size());
}

Bytes TierSet::memory() const noexcept {
  Bytes sum;
  for (const auto& t : tiers_) sum += t.heap.metadata() + t.tier->metadata() + Bytes{t.bare.capacity() / 8};
  return sum;
}

}  // namespace tier
