// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Transfers: how a block's bytes get from one region to another, and when the copy counts.
#include <tier/policy/policy.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <system_error>

#include "manager/state/state.hpp"
#include "manager/state/transfer.hpp"
#include "manager/store/store.hpp"
#include "room.hpp"

namespace tier {

/// Is told when a transfer has ended, under the lock.
class TransferListener {
 public:
  /// \param to              the tier where the bytes went   \param became_primary  the block is used there from now on
  virtual void transfer_ended(const Transfer& t, TierIndex to, bool became_primary) noexcept = 0;
  /// Comes last, when threads that wait have been told and the transfer may be gone.
  virtual void after_transfer() noexcept = 0;

 protected:
  ~TransferListener() = default;
};

/// Copies blocks from one region to another, and publishes a copy if its block has not changed meanwhile: as the primary, or
/// as a further current copy. While a block moves, its state says so, and every use of it comes to the lock.
///
/// A transfer is begun here, and then run by its caller (`CopyEngine::run`) or submitted to the movers. Its end is handled by
/// the thread that copied last. A transfer that a writer has ended is *orphaned*: it keeps its target until its device is
/// done, and the block goes on without it.
/// \threadsafety  Under the manager's lock, but for `ended`, which takes it.
class Transfers {
 public:
  Transfers(State& state, Store& store) noexcept : state_{state}, store_{store} {}
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  /// \param listener  outlives the last transfer
  void connect(TransferListener& listener) noexcept { listener_ = &listener; }

  // --- beginning ------------------------------------------------------------------------------------------

  /// Describes a transfer of a block that is marked moving; the caller runs or submits it. Takes `to` in any case.
  /// \return  null if there is no memory for the record; the block is settled again and `to` is free
  [[nodiscard]] Transfer* begin(Block& b, TransferKind kind, Region* to, Cause cause) noexcept;
  /// The same for an eviction to a current copy: no byte moves, but the block's pages leave its window without the lock.
  /// \return  null if there is no memory for the record; nothing has changed
  [[nodiscard]] Transfer* begin_clean(Block& b, Region* to, Cause cause) noexcept;
  /// Hands it to the movers.
  void submit(Transfer& t, Priority priority) noexcept;
  /// Moves a settled, unpinned block to `to`, now. Takes `to` in any case.
  /// \return  false if the block was in use or has changed
  bool relocate(Block& b, Region* to, Cause cause, MutexLock& lock);

  // --- without a copy -------------------------------------------------------------------------------------

  /// Makes the block's current copy in a tier its primary.
  Outcome change_primary(Block& b, TierIndex t, Cause cause) noexcept;
  /// Settles a further copy in the tier where the primary should go: a current one becomes the primary, another is freed.
  /// \return  true if the primary is there now
  bool settle_in(Block& b, TierIndex t, Cause cause) noexcept;
  void count_clean_eviction(Block& b) noexcept;

  // --- waiting and ending ---------------------------------------------------------------------------------

  /// Waits until a transfer has ended or its block has given it up, helping with it. The caller holds a reference.
  void wait_for_end(Transfer& t, MutexLock& lock);
  /// Waits for transfers under way: helps with one that no thread has helped with; otherwise waits until something changes.
  /// \param all  if false, helps only with transfers that make room, unless movers are slow
  void hurry(bool all, MutexLock& lock);
  /// Ends a transfer that no scope waits for, and waits until its room is free.
  void revoke(Transfer& t, MutexLock& lock);
  /// Detaches a block from its transfer, whose device may still be busy: the target stays the transfer's until its end.
  void orphan(Transfer& t) noexcept;
  void unreference(Transfer& t) noexcept {
    if (--t.references == 0) delete &t;
  }
  /// The engine has ended the task.
  void ended(Transfer& t, std::error_code error, bool cancelled) noexcept;
  /// Cancels what the movers have.
  void cancel_submitted() noexcept;

  // --- what is under way ----------------------------------------------------------------------------------

  [[nodiscard]] bool is_idle() const noexcept { return in_flight_.empty() && pending_rooms_ == 0; }
  /// Rooms that are made in the background.
  [[nodiscard]] std::size_t pending_rooms() const noexcept { return pending_rooms_; }
  void room_begins() noexcept { ++pending_rooms_; }
  void room_ends() noexcept { --pending_rooms_; }
  /// Nanoseconds since the first of those in flight began; 0 if there are none.
  [[nodiscard]] std::uint64_t moving_ns() const noexcept;
  /// True if a copy between these tiers makes progress in the background now, at no cost for the program.
  [[nodiscard]] bool in_background(TierIndex from, TierIndex to) const noexcept;

 private:
  void describe(Transfer& t, Region* to) noexcept;
  void deliver(Transfer& t, MutexLock& lock) noexcept;
  void withdraw(Transfer& t, MutexLock& lock) noexcept;
  [[nodiscard]] bool settle(Transfer& t, std::error_code error, bool cancelled) noexcept;
  void publish(Transfer& t, Block& b, bool as_primary) noexcept;
  [[nodiscard]] static bool takes_over(const Transfer& t, const Block& b) noexcept;
  static void let_unprotected(const Transfer& t, Block& b) noexcept;
  void discard_target(Transfer& t, std::error_code error) noexcept;
  void tell_copied(const Transfer& t, TierIndex to, bool primary) noexcept;

  State& state_;
  Store& store_;
  TransferListener* listener_ = nullptr;
  TransferList in_flight_;             // in the order in which they began
  std::uint64_t moving_since_ns_ = 0;  // if any transfers are in flight
  std::size_t pending_rooms_ = 0;
};

}  // namespace tier
