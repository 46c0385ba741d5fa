// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The manager: its floors, its lock, and its calls.
#include <tier/copy/copy_engine.hpp>
#include <tier/core/mutex.hpp>
#include <tier/manager/manager.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "admission/admission.hpp"
#include "companions.hpp"
#include "core/hold_times.hpp"
#include "movement/movement.hpp"
#include "state/state.hpp"
#include "store/store.hpp"

namespace tier {

/// The manager. Its members are its architecture: four floors, each of which knows those below it, and one lock around them.
/// A call takes the lock, carries out the notes that scopes have left, and does its work in a part of some floor; parts
/// release the lock while bytes move or the system is asked. README.md says what each part does, and why.
/// \threadsafety  Internally synchronised.
class ManagerCore final : public Manager {
 public:
  ManagerCore(std::vector<std::unique_ptr<Tier>> tiers, std::unique_ptr<Policy> policy,
              ManagerOptions options);
  ~ManagerCore() override;

  // Objects.
  ObjectHandle create(Bytes size, std::size_t alignment, std::string_view name) override;
  ObjectHandle create_empty(Bytes size, std::size_t alignment, std::string_view name) override;
  PlacedStorage allocate_fixed(Bytes size, std::size_t alignment, TierIndex tier,
                               std::string_view name) override;
  ObjectHandle create_window(Bytes size, std::size_t alignment, std::string_view name) override {
    return make_window(size.count, size.count, alignment, name);
  }
  ObjectHandle reserve_window(Bytes most, std::size_t alignment, std::string_view name) override {
    return make_window(WindowSpace::unit, most.count, alignment, name);
  }
  void grow(ObjectRef object, Bytes size) override;
  void destroy(Object& object) noexcept override;
  void retire(ObjectRef object) noexcept override;
  void retire(BlockId block) noexcept override;
  void revive(ObjectRef object) override;
  void revive(BlockId block) override;

  // Scopes.
  void enter(std::span<Operand> batch, const BatchContext& context) override;
  void hold(Operand& operand) noexcept override;
  void let_go(Operand& operand) noexcept override;
  void locate(std::span<const Operand> batch, std::span<TierIndex> tiers) const noexcept override;
  void kernel_begin(const BatchContext& context, std::span<const Operand> batch) override;
  void kernel_end(std::uint64_t scope, std::uint64_t duration_ns) noexcept override;
  /// Reports a use that took no lock.
  void used(const Block& b, Use use, bool outside) noexcept;
  /// The last pin has gone without the lock.
  void last_unpinned(BlockId id) noexcept;

  // Hints.
  void hint(Hint hint, ObjectRef object, std::uint64_t scope) override;
  void hint(Hint hint, BlockRun blocks, std::uint64_t scope) override;
  void hint_later(Hint hint, ObjectRef object, std::uint64_t scope) noexcept override;
  void hint_later(Hint hint, BlockRun blocks, std::uint64_t scope) noexcept override;
  Outcome prefetch(ObjectRef object) noexcept override;
  Outcome prefetch(BlockId block) noexcept override;

  // The runtime.
  void migrate(std::span<const BlockId> blocks, TierIndex tier) override;
  void end_of_step() override;
  void compact() override;
  void quiesce() noexcept override;
  std::vector<std::string> close() noexcept override;
  void before_fork() noexcept override TIER_NO_THREAD_SAFETY_ANALYSIS;
  void after_fork(bool in_child) noexcept override TIER_NO_THREAD_SAFETY_ANALYSIS;
  void add_companion(const std::shared_ptr<Companion>& companion) override { companions_.add(companion); }
  void add_observer(Observer& observer) override;
  void remove_observer(Observer& observer) noexcept override;
  void set_thread_observer(std::shared_ptr<ThreadObserver> observer) override;
  std::chrono::steady_clock::time_point began() const noexcept override { return state_.timeline.began(); }
  void count_moved(TierIndex from, TierIndex to, Cause cause, std::uint64_t bytes,
                   std::uint64_t transfers) noexcept override;
  void count_stall(std::uint64_t ns) noexcept override;
  std::size_t tier_count() const noexcept override { return tiers_.size(); }
  Tier& tier(TierIndex tier) noexcept override { return *tiers_[tier]; }
  CopyEngine& copies() noexcept override { return engine_; }
  Statistics statistics() const override;
  std::vector<ObjectStatistics> object_statistics() const override;
  void check_invariants() const override;
#if defined(TIER_LOCK_TIMES)
  /// For how long the lock was held, each time.   \pre  nobody else uses the manager
  [[nodiscard]] detail::HoldTimes& hold_times() noexcept { return hold_times_; }
#endif

 private:
  ObjectHandle make_window(std::size_t size, std::size_t most, std::size_t alignment, std::string_view name);
  void publish_wants() noexcept TIER_REQUIRES(mutex_);
  void wait_until_idle(MutexLock& lock) noexcept TIER_REQUIRES(mutex_);
  void enter_in_child(std::span<Operand> batch);
  void refuse_in_child(std::string_view what) const;
  void check_tier(TierIndex t) const;

#if defined(TIER_LOCK_TIMES)
  detail::HoldTimes hold_times_;
#endif
  mutable Mutex mutex_;
  State state_;  // guarded as its parts say
  Store store_ TIER_GUARDED_BY(mutex_);
  Movement movement_ TIER_GUARDED_BY(mutex_);
  Admission admission_;  // most of it takes the lock itself
  std::vector<Tier*> tiers_;
  Companions companions_;       // told before the lock is taken
  bool in_fork_child_ = false;  // set before the child's first own instruction
  CopyEngine engine_;           // last: its movers end before the members that they use
};

}  // namespace tier
