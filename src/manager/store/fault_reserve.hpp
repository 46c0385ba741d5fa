// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The room that is kept, so that blocks out of the CPU's reach can be brought when all tiers are full.
#include <tier/core/mutex.hpp>

#include <array>
#include <cstdint>
#include <system_error>

#include "catalog.hpp"
#include "region_store.hpp"
#include "tier_set.hpp"

namespace tier {

/// Keeps room, so that blocks out of the CPU's reach can be brought when all tiers are full.
///
/// An access to an absent page of a window has no caller to throw to, and a scope on a block in a tier that the CPU cannot use
/// must be able to exchange it for another. So whatever takes room asks first whether enough is left (`can_admit`): for four
/// of the largest blocks of windows, if blocks of windows may be absent, and for the largest block that lives, if the CPU
/// cannot use some tier. The sums are of all tiers together; what lies where is for compaction to put right. Besides, the end
/// of each tier is for blocks that can leave at any time (`limit`), and each tier from which windows' blocks are absent
/// keeps a *spare*, by which it can be compacted. README.md tells how this came about.
/// \threadsafety  Under the manager's lock.
class FaultReserve {
 public:
  /// \param window_block  bytes of the largest block of a window
  FaultReserve(State& state, TierSet& tiers, RegionStore& regions, Catalog& catalog,
               std::size_t window_block) noexcept
      : state_{state}, tiers_{tiers}, regions_{regions}, catalog_{catalog}, window_block_{window_block} {}
  FaultReserve(const FaultReserve&) = delete;
  FaultReserve& operator=(const FaultReserve&) = delete;

  /// Blocks of windows may be absent from now on. One block leaves for another, while free room lies in pieces, in two tiers,
  /// with a spare in between: that makes four.
  void keep_for_windows() noexcept { kept_ = 4 * window_block_; }
  /// True if blocks can be out of the CPU's reach, so that room must be left for exchanging them.
  [[nodiscard]] bool is_needed() const noexcept { return tiers_.has_unreachable() || kept_ > 0; }

  // --- what lives -----------------------------------------------------------------------------------------

  /// The block gets its first region.
  void begins(const Block& b) noexcept;
  /// The block's regions go.
  void ends(const Block& b) noexcept { living_ -= round_up(b.size, tiers_.granule()); }
  /// Bytes of the regions of blocks that have a primary.
  [[nodiscard]] std::uint64_t living() const noexcept { return living_; }
  /// Bytes of a tier that never move.
  [[nodiscard]] std::uint64_t placed(TierIndex t) const noexcept { return placed_[t]; }
  void add_placed(TierIndex t, std::uint64_t bytes) noexcept { placed_[t] += bytes; }
  void remove_placed(TierIndex t, std::uint64_t bytes) noexcept { placed_[t] -= bytes; }

  /// Counts bytes of blocks that will live, until they do.
  void promise(std::uint64_t bytes) noexcept { promised_ += bytes; }
  void withdraw(std::uint64_t bytes) noexcept { promised_ -= bytes; }
  /// Counts the bytes that a block will take as living, until it takes them.
  class Promise {
   public:
    Promise(FaultReserve& reserve, std::uint64_t size) noexcept
        : reserve_{reserve}, bytes_{round_up(size, reserve.tiers_.granule())} {
      reserve_.promise(bytes_);
    }
    ~Promise() { reserve_.withdraw(bytes_); }
    Promise(const Promise&) = delete;
    Promise& operator=(const Promise&) = delete;

   private:
    FaultReserve& reserve_;
    std::uint64_t bytes_;
  };
  /// Counts bytes that will be placed in a tier, until they are.
  class PromiseToStay {
   public:
    PromiseToStay(FaultReserve& reserve, TierIndex t, std::uint64_t size) noexcept
        : reserve_{reserve}, tier_{t}, bytes_{round_up(size, reserve.tiers_.granule())} {
      reserve_.add_placed(tier_, bytes_);
    }
    ~PromiseToStay() { reserve_.remove_placed(tier_, bytes_); }
    PromiseToStay(const PromiseToStay&) = delete;
    PromiseToStay& operator=(const PromiseToStay&) = delete;

   private:
    FaultReserve& reserve_;
    TierIndex tier_;
    std::uint64_t bytes_;
  };

  // --- questions ------------------------------------------------------------------------------------------

  /// True if enough room is left once this comes, too.
  /// \param sum      bytes of regions to come
  /// \param largest  bytes of the largest block among them that may move
  /// \param cause    set to what the system refused
  [[nodiscard]] bool can_admit(std::uint64_t sum, std::uint64_t largest, std::error_code& cause) noexcept;
  /// True if the largest block that is out of the CPU's reach can still come to the fastest tier, beside what is placed there
  /// and stays.
  [[nodiscard]] bool fits_beside_placed() noexcept;
  /// True if the block fits the fastest tier beside what is placed there, or comes there by no fault.
  [[nodiscard]] bool can_serve_faults_of(const Block& b) const noexcept;
  /// Returns the offset where a tier's room for faults begins. That end of the tier is for blocks that can leave at any time:
  /// nothing is placed there, advice pins nothing there, and a block that scopes pin goes there only if it has no other room.
  [[nodiscard]] std::uint64_t limit(TierIndex t) const noexcept;
  /// Returns the range that the block asks of a tier first.
  [[nodiscard]] Range range_for(const Block& b, TierIndex t) const noexcept;
  /// True if the block lies in the room for faults and may not be pinned there for long.
  [[nodiscard]] bool is_passing(const Block& b) const noexcept;

  // --- space and spares -----------------------------------------------------------------------------------

  /// Asks the system, without the lock, for the space on disk that the last look at what lives found missing.
  /// \return  false if there was nothing to ask for, or the system has refused before
  bool back_what_lives(MutexLock& lock);
  /// True if the tier needs a spare and has none. Each tier whose blocks are absent from windows keeps room for one of them;
  /// otherwise free room in many pieces could not be brought together when all tiers are full.
  [[nodiscard]] bool lacks_spare(const TierState& state) const noexcept;
  /// Lets compaction use the spares as long as it lives.
  class UsesSpares {
   public:
    explicit UsesSpares(FaultReserve& reserve) noexcept : reserve_{reserve} {
      ++reserve_.compacting_;
      reserve_.give_up_spares();
    }
    ~UsesSpares() {
      std::error_code cause;  // the next allocation reports it
      if (--reserve_.compacting_ == 0) reserve_.keep_spares(cause);
    }
    UsesSpares(const UsesSpares&) = delete;
    UsesSpares& operator=(const UsesSpares&) = delete;

   private:
    FaultReserve& reserve_;
  };

 private:
  [[nodiscard]] bool may_come(std::uint64_t size) const noexcept;
  [[nodiscard]] bool keeps_clear(const Block& b) const noexcept;
  void note_size(const Block& b) noexcept;
  void forget_largest() noexcept;
  [[nodiscard]] bool fits_fastest(std::uint64_t sum, std::uint64_t largest) const noexcept;
  bool keep_nothing() noexcept;
  [[nodiscard]] bool leaves_room(std::uint64_t sum, std::uint64_t largest, std::error_code& cause) noexcept;
  [[nodiscard]] bool fits_beside_what_lives(std::uint64_t sum, std::uint64_t largest,
                                            std::error_code& cause) noexcept;
  bool keep_spares(std::error_code& cause) noexcept;
  void give_up_spares() noexcept;
  void back_spare(TierIndex t, MutexLock& lock);

  State& state_;
  TierSet& tiers_;
  RegionStore& regions_;
  Catalog& catalog_;
  const std::size_t window_block_;
  std::uint64_t kept_ = 0;                         // for faults, in all tiers together
  std::uint64_t living_ = 0;                       // bytes of regions of blocks that have a primary
  std::uint64_t promised_ = 0;                     // bytes for blocks that will live
  std::uint64_t largest_ = 0;                      // no block that lives and may move has more bytes
  bool mixed_ = false;                             // there are, or were, blocks of more than one size
  unsigned compacting_ = 0;                        // threads that compact, and use the spares
  std::array<std::uint64_t, max_tiers> placed_{};  // bytes that never move
};

}  // namespace tier
