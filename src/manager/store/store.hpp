// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The second floor of the manager: what there is, and where it lies.
#include <memory>
#include <utility>
#include <vector>

#include "block_store.hpp"
#include "catalog.hpp"
#include "fault_reserve.hpp"
#include "region_store.hpp"
#include "small_objects.hpp"
#include "tier_set.hpp"
#include "window_cache.hpp"
#include "window_pages.hpp"

namespace tier {

/// The parts of the second floor, in order.
struct Store {
  /// \param manager  the owner of the blocks   \param all  in any order
  Store(State& state, Manager* manager, std::vector<std::unique_ptr<Tier>> all)
      : catalog{manager},
        tiers{state, std::move(all)},
        window_block{
            WindowPages::largest_block(state.options.window_blocks, tiers.fastest().heap.capacity())},
        regions{state, tiers},
        reserve{state, tiers, regions, catalog, window_block},
        pages{state, tiers, regions, catalog, reserve},
        windows{state, tiers, regions, pages},
        blocks{state, tiers, regions, catalog, small_objects, reserve, pages, windows} {}

  Catalog catalog;
  TierSet tiers;
  const std::size_t window_block;  // bytes of the largest block of a window
  RegionStore regions;
  SmallObjects small_objects;
  FaultReserve reserve;
  WindowPages pages;
  WindowCache windows;
  BlockStore blocks;
};

}  // namespace tier
