// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The pages of blocks whose addresses never change.
#include <tier/core/bytes.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "catalog.hpp"
#include "fault_reserve.hpp"
#include "manager/state/transfer.hpp"
#include "memory/windows/window_space.hpp"
#include "region_store.hpp"
#include "tier_set.hpp"

namespace tier {

/// The beginning of the page of an address.
[[nodiscard]] std::byte* page_of(std::byte* address) noexcept;

/// Brings the bytes of blocks to their place in a window and takes them away again.
///
/// A block in a window is *present* (its bytes are mapped at its place) or *absent* (whoever touches it waits until they are).
/// Stores into a window are not announced: while a copy of a block is made its pages are write-protected, and the first store
/// is reported (`let_write`). Where the system pages windows (`WindowMode::Restricted`) blocks stay put, and a tier only
/// counts them.
/// \threadsafety  Under the manager's lock, but for `take_away` and `ended`.
class WindowPages {
 public:
  /// The most that a block of a window may have: a fault on a device waits for the whole block.
  static constexpr std::size_t most_in_a_block = TierSet::huge_page;
  /// Returns the size of the largest block of a window. In a small tier several must fit, or the used ones evict each other.
  /// \param asked  the user's wish; 0: none   \throws  `ConfigError` if it is no power of two from 64 KiB to 2 MiB
  [[nodiscard]] static std::size_t largest_block(Bytes asked, Bytes fastest);

  WindowPages(State& state, TierSet& tiers, RegionStore& regions, Catalog& catalog,
              FaultReserve& reserve) noexcept
      : state_{state}, tiers_{tiers}, regions_{regions}, catalog_{catalog}, reserve_{reserve} {}
  WindowPages(const WindowPages&) = delete;
  WindowPages& operator=(const WindowPages&) = delete;

  /// \param faults  serves the faults of full windows
  void connect(WindowFaults& faults) noexcept { faults_ = &faults; }
  /// Returns the address space of windows; made on first use.
  /// \throws  `TierError` if the system refuses what full windows need, and they must be full
  WindowSpace& space();
  /// Null before the first window.
  [[nodiscard]] WindowSpace* existing_space() const noexcept { return windows_.get(); }
  /// Ends the threads that serve faults.
  void end() noexcept { windows_.reset(); }
  [[nodiscard]] Bytes memory() const noexcept;

  // --- where a block can be used --------------------------------------------------------------------------

  /// True if the system pages the block's window: the bytes stay at their place, whichever tier counts them.
  [[nodiscard]] bool stays_put(const Block& b) const noexcept {
    return b.record->window_address != nullptr && windows_->mode() == WindowMode::Restricted;
  }
  /// True if the CPU can use the block in tier `t`.
  [[nodiscard]] bool reachable(const Block& b, TierIndex t) const noexcept;
  /// The same for where it is; false if it is nowhere.
  [[nodiscard]] bool reachable(const Block& b) const noexcept {
    return b.record->primary() != nullptr && reachable(b, b.record->primary()->tier);
  }
  /// True if the block becomes present as soon as it is in tier `t`.
  [[nodiscard]] bool shows_in(const Block& b, TierIndex t) const noexcept;

  // --- coming and going -----------------------------------------------------------------------------------

  /// Makes the primary's bytes present in the window. If memory is short they stay absent, and the next access asks again.
  /// \param landed      where the bytes are if not in the region; perhaps at their place in the window
  /// \param for_stores  bytes at their place are not protected
  void show(Block& b, const std::byte* landed = nullptr, bool for_stores = false) noexcept;
  /// Takes a region's pages out of the window.   \return  false if its bytes are gone with them
  bool hide(Block& b, Region& region) noexcept;
  /// The pages of a block that is absent, still at its place in the window.
  struct LeftPages {
    std::byte* place;
    std::byte* home;  ///< where they go; null: back to the system
    std::size_t size;
  };
  /// The first half of `hide`.   \pre  the region's pages are in the window
  [[nodiscard]] LeftPages make_absent(Block& b, Region& region) noexcept;
  /// The second half, which asks the system. Any thread; nobody uses the place or the region meanwhile.
  /// \return  true if the pages are at home
  bool take_away(const LeftPages& pages) noexcept;
  /// The same for pages at a place.
  bool take_home(Region& region, std::byte* place, std::size_t size) noexcept;
  /// Takes a buffer where a fetch of the block arrives.   \return  null: the bytes arrive in their region
  [[nodiscard]] std::byte* take_landing(const Block& b, const Region& to, TransferKind kind) noexcept;
  void put_landing(std::byte* landing) noexcept { landings_->free[landings_->free_count++] = landing; }

  // --- stores ---------------------------------------------------------------------------------------------

  /// Notes that stores into the block are reported from here on.   \return  true if the caller must write-protect it first
  [[nodiscard]] bool begin_to_hold_writes(Block& b) noexcept;
  /// Write-protects blocks that are about to move, neighbours in a window by one call: each call interrupts other CPUs.
  void hold_writes(std::span<const BlockId> ids, TierIndex to) noexcept;
  /// Lets stores through again. A copy under way is older than such a store, and is not published.
  void let_write(Block& b) noexcept;
  /// Lets stores to one page through.
  void let_through(std::byte* address) noexcept;
  /// Fills a page of the tier that was never touched before it was moved into the window. While writes are held it must be
  /// protected like the pages that exist; otherwise a store into it would not be reported.
  void fill_hole(const Block& b, std::byte* address) noexcept;

  /// Forbids access to absent blocks in the child of a fork: no thread serves faults there, and absent pages must not read as
  /// zeros.
  void forbid_absent() noexcept;

  // --- ends -----------------------------------------------------------------------------------------------

  /// Number of blocks whose contents are gone. Any thread.
  [[nodiscard]] std::uint64_t ended() const noexcept { return ended_.load(std::memory_order_acquire); }
  void note_end() noexcept { ended_.fetch_add(1, std::memory_order_release); }

 private:
  /// Buffers where small blocks arrive on their way to a window. They are few and reused, so that they cost no page faults.
  struct Landings {
    static constexpr std::size_t count = 32;
    alignas(WindowSpace::unit) std::array<std::array<std::byte, WindowSpace::unit>, count> buffers;
    std::array<std::byte*, count> free;
    std::size_t free_count = 0;
  };

  [[nodiscard]] bool lends(const Block& b) const noexcept;
  [[nodiscard]] LeftPages leave(Region& region, std::byte* place, std::size_t size) noexcept;
  void stay(Block& b, Region& region) noexcept;
  [[nodiscard]] std::unique_ptr<WindowSpace> served_windows();
  [[nodiscard]] std::unique_ptr<WindowSpace> paged_windows() const;

  State& state_;
  TierSet& tiers_;
  RegionStore& regions_;
  Catalog& catalog_;
  FaultReserve& reserve_;
  WindowFaults* faults_ = nullptr;
  std::unique_ptr<Landings> landings_;  // from the first full window on
  std::atomic<std::uint64_t> ended_{0};
  std::unique_ptr<WindowSpace> windows_;  // from the first window on; its threads call the server of faults
};

}  // namespace tier
