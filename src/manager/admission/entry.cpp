// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "entry.hpp"

#include <tier/core/assert.hpp>

#include <algorithm>
#include <new>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

#include "core/say.hpp"
#include "out_of_memory.hpp"

namespace tier {
namespace {

constexpr int most_gathers = 8;  // each one that comes to nothing was another thread's progress

/// True if the operand needs none of the block's bytes and takes its room as it is.
bool needs_no_bytes(const Entrant& e) noexcept {
  return e.op.use == Use::Overwrite || e.block().record->primary() == nullptr;
}

}  // namespace

Entry::Entry(State& state, Store& store, Movement& movement, Hints& hints, PlaceFinder& places,
             WaitingLine& line, std::span<Entrant> entrants, const BatchContext& context, MutexLock& lock)
    : state_{state},
      store_{store},
      movement_{movement},
      hints_{hints},
      line_{line},
      entrants_{entrants},
      context_{context},
      lock_{lock},
      rooms_{state, store, movement, places, entrants, lock},
      admitter_{state, store, movement, places, rooms_, entrants, context, lock} {
  tasks_.reserve(entrants.size());
  for (const auto& e : entrants)
    if (e.block().record == nullptr) throw_destroyed();
  for (auto& e : entrants) {
    ++e.block().record->entering;
    e.told = e.op.entered && state_.announcer.wants_use(e.block().state.glance().is_outside());
  }
}

Entry::~Entry() {
  if (!done_) std::ignore = roll_back();
  if (waiter_.has_closed_door()) {
    line_.open_door(waiter_);
    store_.blocks.open_door();
  }
  if (line_.leave(waiter_)) state_.monitor.changed();
  // Objects destroyed meanwhile are released by the last batch that held their descriptors.
  for (const auto& e : entrants_) {
    Block& b = e.block();
    if (--b.record->entering == 0 && b.record->dying) store_.blocks.release_if_dead(b);
  }
}

void Entry::run() {
  for (;;) {
    switch (take_step()) {
      case Step::Done:
        done_ = true;
        return tell_uses();
      case Step::Again:
        continue;
      case Step::Blocked:
        blocked();
    }
  }
}

// --- the walk --------------------------------------------------------------------------------------------

Entry::Step Entry::take_step() {
  rooms_.forget_report();
  if (context_.root && line_.is_closed_to(waiter_)) return Step::Blocked;
  bool lacking = false;
  if (const auto admitted = admit_all(lacking); admitted != Step::Done) return admitted;
  if (lacking && context_.root && line_.is_behind_others(waiter_)) return Step::Blocked;
  bool repeated = false;
  if (lacking) {
    const auto found = rooms_.find();
    if (found != BatchRooms::Result::Found)
      return found == BatchRooms::Result::Again ? Step::Again : Step::Blocked;
    repeated = std::ranges::any_of(
        entrants_, [](const Entrant& e) { return e.is_outside() && e.room == nullptr && e.repeats; });
  }
  if (!rooms_.take_space()) return Step::Again;
  bool installs = false;
  const Step begun = begin_fetches(installs);
  if (waits()) {
    // Fetches that have begun are run before we look again: others may wait for them while we wait for others.
    const Step carried_out = finish_transfers();
    return repeated || begun == Step::Again || installs ? Step::Again : carried_out;
  }
  if (begun == Step::Again || !install()) return Step::Again;
  return repeated ? Step::Again : Step::Done;
}

/// Lets each operand in that needs no room.
/// \param lacking  set if an operand needs room   \return  `Done`, or `Again` if something has changed meanwhile
Entry::Step Entry::admit_all(bool& lacking) {
  for (auto& e : entrants_) {
    if (!e.is_outside()) continue;
    switch (admitter_.admit(e)) {
      case Admitter::Way::Entered:
      case Admitter::Way::Joined:
        break;
      case Admitter::Way::NeedsRoom:
        if (!lacking) rooms_.note_lack(e);
        lacking = true;
        break;
      case Admitter::Way::Again:
        if (waits()) std::ignore = finish_transfers();  // our own pins may be in the way
        return Step::Again;
    }
  }
  return Step::Done;
}

/// Begins the fetches into the rooms.
/// \param installs  set if an operand takes its room as it is, later   \return  `Again` if a block was busy
Entry::Step Entry::begin_fetches(bool& installs) {
  Step result = Step::Done;
  for (auto& e : entrants_) {
    if (e.room == nullptr) continue;
    if (e.is_outside() && needs_no_bytes(e)) {
      installs = true;
      continue;
    }
    if (e.is_outside()) {
      if (admitter_.begin_fetch(e)) continue;
      result = Step::Again;
    }
    if (e.room != nullptr) admitter_.free_room(e);
  }
  return result;
}

/// Runs the fetches that this batch has begun, and waits for those it has joined.
/// \return  Again if an operand could not be used after all
Entry::Step Entry::finish_transfers() {
  wait_for_transfers();
  Step result = Step::Done;
  const Entrant* unreadable = nullptr;
  bool gone = false;  // an object was destroyed; its descriptor may go, too
  for (auto& e : entrants_) {
    if (e.transfer == nullptr) continue;
    movement_.transfers.unreference(*std::exchange(e.transfer, nullptr));
    e.runs_transfer = false;
    Block& b = e.block();
    const auto state = b.state.now();
    if (!state.has_failed() && !state.is_retired() && store_.pages.reachable(b)) {
      ++state_.counters.totals.fetched_operands;
      state_.counters.totals.fetched_operand_bytes += e.op.size;
      admitter_.admitted(e);
      continue;
    }
    if (state.has_failed()) unreadable = &e;
    if (b.record->dying) gone = true;
    admitter_.leave(e);
    result = Step::Again;
  }
  if (gone) throw_destroyed();
  if (unreadable != nullptr && unreadable->retried)
    throw_unreadable(store_.tiers, unreadable->block(), std::make_error_code(std::errc::io_error));
  return result;
}

void Entry::wait_for_transfers() {
  const auto began = state_.timeline.now_ns();
  tasks_.clear();
  for (auto& e : entrants_)
    if (e.runs_transfer && e.transfer != nullptr) tasks_.push_back(e.transfer);
  if (!tasks_.empty())
    state_.monitor.without_lock(lock_, [&] { state_.engine.run({tasks_.data(), tasks_.size()}); });
  bool waited = !tasks_.empty();
  for (auto& e : entrants_) {
    if (e.transfer == nullptr) continue;
    waited = true;
    movement_.transfers.wait_for_end(*e.transfer, lock_);
  }
  if (waited) state_.counters.count_wait(context_, began, StallCause::Transfer);
}

/// Gives blocks that will be overwritten their room, as the last step before the scope is open: an entry that fails has
/// overwritten nothing. \return  false if a block is busy; then none has changed
bool Entry::install() {
  for (auto& e : entrants_) {
    if (e.room == nullptr || admitter_.mark(e)) continue;
    for (auto& marked : entrants_) {
      if (&marked == &e) break;
      if (marked.room != nullptr) admitter_.unmark(marked);
    }
    admitter_.free_room(e);
    return false;
  }
  for (auto& e : entrants_)
    if (e.room != nullptr) admitter_.install(e);
  return true;
}

/// Reports each use that was not reported as a miss or on the lock-free path. A use reported there and then given back, for
/// want of room, may in the end also be reported as a miss.
void Entry::tell_uses() {
  for (const auto& e : entrants_) {
    const bool outside = e.was_joined || e.tier != 0;
    const bool is_told = e.told || e.asked == Entrant::Asked::Missed;
    if (!is_told && state_.announcer.wants_use(outside)) hints_.use(e.block(), e.op.use, outside);
  }
}

// --- without room ----------------------------------------------------------------------------------------

/// Handles a lack of room: waits, does with less, or throws.
void Entry::blocked() {
  const auto cause = rooms_.report().cause;
  if (roll_back()) return;                               // the lock was released: look again
  const RoomReport report = movement_.evictor.survey();  // this batch pins nothing now
  if (report.again) return;
  const auto began = state_.timeline.now_ns();
  if (report.transient) {  // transfers end by themselves
    movement_.transfers.hurry(false, lock_);
    return state_.counters.count_wait(context_, began, StallCause::Room);
  }
  if (waits_for_others(report, began)) return;
  if (!cause && gathered_++ < most_gathers && (rooms_.gather() || rooms_.report().unlocked)) return;
  if (!cause && context_.root && !rooms_.is_too_large() && !waiter_.has_closed_door()) {
    gathered_ = 0;  // others keep taking the room first
    line_.close_door(waiter_);
    return store_.blocks.close_door();
  }
  if (!cause && rooms_.lift_shields()) return;
  if (fall_back()) return;
  rooms_.throw_out_of_memory(cause);
}

/// Stands in line, and waits if others must go first.   \return  true if it has waited
bool Entry::waits_for_others(const RoomReport& report, std::uint64_t began) {
  if (!context_.root || rooms_.is_too_large()) return false;
  const bool others_first =
      !waiter_.has_closed_door() && (line_.is_behind_others(waiter_) || line_.is_closed());
  if (line_.join(waiter_))
    waiting_since_ = state_.timeline.now_ns();  // batches that lack room later come after us
  if (!report.foreign && !others_first) return false;
  gathered_ = 0;
  state_.monitor.wait(lock_);
  state_.counters.count_wait(context_, began, StallCause::Room);
  report_wait();
  return true;
}

/// Uses operands in place where the CPU can reach them in a slower tier, and fetches others no further than necessary.
bool Entry::fall_back() {
  if (rooms_.takes_any_tier() || context_.advice) return false;
  rooms_.settle_for_any_tier();
  if (store_.tiers.count() < 2 || !store_.tiers.addressable(1)) return false;
  return std::ranges::any_of(entrants_, [](const Entrant& e) {
    const Region* primary = e.block().record->primary();
    return primary == nullptr || primary->tier != 0;
  });
}

/// Lists the holders of pins under the lock and prints them without it: the reader of stderr may be slow.
void Entry::report_wait() try {
  const auto limit = static_cast<std::uint64_t>(state_.options.report_waits_after.count()) * 1'000'000;
  if (state_.timeline.now_ns() - waiting_since_ < limit) return;
  waiting_since_ = state_.timeline.now_ns();
  const auto size = rooms_.lacking().size;
  std::string text{name_of(rooms_.lacking())};
  text += "); pinned:";
  for (const auto& record : store_.catalog.blocks()) {
    const Block& b = *record.block;
    if (b.pins() == 0 || record.immovable) continue;
    text += " \"" + std::string{name_of(b)} + "\" (" + std::to_string(b.size) + " bytes, " +
            std::to_string(b.pins()) + " pins)";
  }
  state_.monitor.without_lock(lock_, [&] {
    detail::say("a scope has waited long for %llu bytes (%s", static_cast<unsigned long long>(size),
                text.c_str());
  });
} catch (const std::bad_alloc&) {  // perhaps the next report succeeds
}

/// Gives back all pins and rooms. \return  true if the lock was released in between
bool Entry::roll_back() {
  bool unlocked = false;
  for (auto& e : entrants_) {
    if (e.room != nullptr) admitter_.free_room(e);
    if (e.runs_transfer && e.transfer != nullptr) {  // begun and not run: run it, then let go
      CopyTask* const task = e.transfer;
      state_.monitor.without_lock(lock_, [&] { state_.engine.run({&task, 1}); });
      unlocked = true;
    }
    if (e.op.entered || e.transfer != nullptr) admitter_.leave(e);
  }
  return unlocked;
}

/// True if a transfer must end before an operand can enter.
bool Entry::waits() const noexcept {
  return std::ranges::any_of(entrants_, [](const Entrant& e) { return e.transfer != nullptr; });
}

}  // namespace tier
