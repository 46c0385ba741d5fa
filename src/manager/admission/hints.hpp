// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Hints of the program, and the notes that scopes leave.
#include <tier/manager/manager.hpp>
#include <tier/policy/policy.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "manager/movement/movement.hpp"
#include "manager/state/notes.hpp"
#include "manager/state/state.hpp"
#include "manager/store/store.hpp"

namespace tier {

/// Carries out hints: tells the policy, counts what it does, and begins prefetches. Also carries out the notes that uses,
/// destructors and ends of kernels leave in their thread's ring, at the next call of the manager.
/// \threadsafety  Under the manager's lock, but for what is said to take it, or to be for any thread.
class Hints {
 public:
  Hints(State& state, Store& store, Movement& movement) : state_{state}, store_{store}, movement_{movement} {}
  Hints(const Hints&) = delete;
  Hints& operator=(const Hints&) = delete;

  void apply(Hint hint, const Object& object, std::uint64_t scope) noexcept;
  /// Skips blocks that are gone.
  void apply(Hint hint, BlockRun blocks, std::uint64_t scope) noexcept;
  Outcome prefetch(const Object& object) noexcept;
  Outcome prefetch(Block& b) noexcept;

  // --- notes ----------------------------------------------------------------------------------------------

  /// Carries out the notes that destructors and uses have left, of all threads.
  void drain() noexcept;
  /// The same for the calling thread alone: for frequent calls.
  void drain_own() noexcept;
  /// Leaves a note. Any thread.   \return  false if the thread's ring is full
  [[nodiscard]] bool leave(const Note& note) noexcept { return notes_->leave(note); }
  /// Leaves the note of a hint; if the thread's ring is full, drops and counts it. Any thread.
  void leave_hint(const Note& note) noexcept {
    if (!leave(note)) hints_dropped_.fetch_add(1, std::memory_order_relaxed);
  }
  /// Gives the thread its ring, if possible, so that a destructor which leaves a note finds it. Any thread.
  void prepare() noexcept { notes_->prepare(); }
  /// Reports a use, by a note. If this thread's ring is full, drains it.
  void use(const Block& b, Use use, bool outside) noexcept;
  /// The same without the lock, which it takes if it has to; if another thread holds it, drops the use and counts it.
  void use_unlocked(const Block& b, Use use, bool outside) noexcept;
  void add_statistics(Statistics& statistics) const noexcept;
  [[nodiscard]] Bytes memory() const noexcept { return Bytes{notes_->bytes()}; }

 private:
  class CarryOut;

  void carry_out(const Note& note) noexcept;
  void carry_out_hint(const Note& note) noexcept;
  void apply(Hint hint, Block& b, std::uint64_t scope, ObjectId object) noexcept;
  Outcome prefetch(Block& b, ObjectId object) noexcept;
  void count(bool present, std::optional<Outcome> brought) noexcept;

  State& state_;
  Store& store_;
  Movement& movement_;
  const std::shared_ptr<Notes> notes_ = Notes::make();
  std::atomic<std::uint64_t> uses_dropped_{0}, hints_dropped_{0};
};

}  // namespace tier
