// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Windows of objects, and those of freed objects that wait for the next object of their size.
#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>

#include "manager/state/records.hpp"
#include "region_store.hpp"
#include "tier_set.hpp"
#include "window_pages.hpp"

namespace tier {

/// Owns the windows of objects. Windows of freed objects keep their pages for the next objects of their size: giving pages
/// back and getting new ones costs far more than the work of a growing container in between. What is cached counts as free:
/// whoever finds no room in the fastest tier gets all of it.
/// \threadsafety  Under the manager's lock.
class WindowCache {
 public:
  /// Also becomes the store's answer to a shortage in the fastest tier.
  WindowCache(State& state, TierSet& tiers, RegionStore& regions, WindowPages& pages);
  WindowCache(const WindowCache&) = delete;
  WindowCache& operator=(const WindowCache&) = delete;

  /// Adds a window without addresses; the caller counts as one of its blocks.   \throws  `std::bad_alloc`
  [[nodiscard]] ObjectWindow* add();
  /// Takes a cached window; the caller counts as one of its blocks.   \return  null if none fits
  [[nodiscard]] ObjectWindow* take(std::size_t whole, std::size_t end, std::size_t alignment) noexcept;
  /// Counts off a block of the window. With the last one the window goes, or is cached.
  void let_go(ObjectWindow& window) noexcept;
  /// Gives up the block's part of its window.
  void leave(Block& b) noexcept;

  /// Keeps the pages of a block whose object is gone as a region of its window, if they may be written unnoticed.
  /// \return  false if the pages must be given back
  bool cache_pages(Block& b) noexcept;
  /// Takes the region whose cached pages are at the block's place.
  /// \param t  the block's tier: if it is another one, or the window was cut differently, the cached pages are given back
  /// \return   null if there is none
  [[nodiscard]] Region* take_region(const Block& b, TierIndex t) noexcept;
  void drop_pages(ObjectWindow& window) noexcept;
  /// Gives up everything that is cached.   \return  true if there was anything
  bool drop_all() noexcept;

  [[nodiscard]] Bytes memory() const noexcept { return Bytes{count_ * sizeof(ObjectWindow)}; }

 private:
  [[nodiscard]] bool cache(ObjectWindow& window) noexcept;
  void give_up(ObjectWindow& window) noexcept;

  State& state_;
  TierSet& tiers_;
  RegionStore& regions_;
  WindowPages& pages_;
  const std::uint64_t limit_;                            // bytes of the fastest tier that may be cached
  std::size_t count_ = 0;                                // of windows
  boost::intrusive::list<ObjectWindow> cached_windows_;  // the latest first
  // Windows of which some blocks are gone and cached, and others are still used or held.
  boost::intrusive::list<ObjectWindow> partly_cached_;
};

}  // namespace tier
