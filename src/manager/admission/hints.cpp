// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hints.hpp"

#include <tier/core/mutex.hpp>

#include "manager/movement/watermarks.hpp"

namespace tier {

/// Carries out notes. Uses told together share a time, because reading the clock costs more than telling one use.
class Hints::CarryOut {
 public:
  explicit CarryOut(Hints& hints) noexcept : hints_{hints} {}
  void operator()(const Note& note) noexcept {
    if (note.kind == Note::Kind::Use && !std::exchange(timed_, true)) hints_.state_.announcer.note_time();
    hints_.carry_out(note);
  }

 private:
  Hints& hints_;
  bool timed_ = false;
};

void Hints::use(const Block& b, Use use, bool outside) noexcept {
  const Note note{Note::Kind::Use, {}, use, outside, 0, b.id, 0};
  if (notes_->leave(note)) return;
  drain_own();
  CarryOut{*this}(note);
}

void Hints::use_unlocked(const Block& b, Use use, bool outside) noexcept TIER_NO_THREAD_SAFETY_ANALYSIS {
  const Note note{Note::Kind::Use, {}, use, outside, 0, b.id, 0};
  if (notes_->leave(note)) return;
  Mutex& mutex = state_.monitor.mutex();
  if (!mutex.try_lock()) {
    uses_dropped_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  drain_own();
  CarryOut{*this}(note);
  mutex.unlock();
}

void Hints::drain() noexcept {
  if (state_.lifetime.is_in_child()) return;  // the parent does it
  notes_->take(CarryOut{*this});
}

void Hints::drain_own() noexcept {
  if (state_.lifetime.is_in_child()) return;
  notes_->take_own(CarryOut{*this});
}

void Hints::add_statistics(Statistics& statistics) const noexcept {
  statistics.hints_dropped = hints_dropped_.load(std::memory_order_relaxed);
  statistics.uses_dropped = uses_dropped_.load(std::memory_order_relaxed);
}

void Hints::carry_out(const Note& note) noexcept {
  switch (note.kind) {
    case Note::Kind::KernelEnd:
      return state_.announcer.end_kernel(note.id, note.value);
    case Note::Kind::Hint:
      return carry_out_hint(note);
    case Note::Kind::Use:
      if (!note.outside) ++state_.counters.totals.hits;
      state_.announcer.tell_use(note);
  }
}

/// \param object  the block's object; 0 if it is unknown and several share the block
void Hints::apply(Hint hint, Block& b, std::uint64_t scope, ObjectId object) noexcept {
  auto& record = *b.record;
  if (record.immovable || record.dying) return;
  HintEvent event{{}, hint, b.id, scope, object};
  state_.announcer.tell(event, &Observer::on_hint);
  // A group can only be archived as a whole, and no hint is for a whole group.
  if (hint == Hint::Archive && record.group != nullptr) return;
  record.archived = hint == Hint::Archive;
  if (record.archived) record.prefetched = 0;
  store_.blocks.refresh(b);
  const auto* const transfer = record.transfer;
  const bool comes = transfer != nullptr && transfer->kind == TransferKind::Fetch;
  const bool present = comes || (record.primary() != nullptr && record.primary()->tier == 0);
  movement_.actions.watch(b.id);
  state_.announcer.ask([&](Policy& p, PolicyContext& context) { p.on_hint(event, context); });
  const auto brought = movement_.actions.end_watch();
  if (hint != Hint::Archive) count(present, brought);
  movement_.actions.rerank(b.id);
}

void Hints::count(bool present, std::optional<Outcome> brought) noexcept {
  auto& counts = state_.counters.totals.hints;
  if (present)
    ++counts.present;
  else if (!brought)
    ++counts.passed_over;
  else if (*brought == Outcome::Done)
    ++counts.begun;
  else
    ++(*brought == Outcome::Full ? counts.full : counts.busy);
}

/// Skips blocks that are gone.
void Hints::apply(Hint hint, BlockRun blocks, std::uint64_t scope) noexcept {
  for (auto id = blocks.first; id < blocks.first + blocks.count; ++id)
    if (Block* const b = store_.catalog.find(id))
      apply(hint, *b, scope, b->record->object != nullptr ? b->record->object->id : 0);
}

/// A hint on an object in a window is for all blocks that it has by now.
void Hints::carry_out_hint(const Note& note) noexcept {
  if (note.count > 0) return apply(note.hint, BlockRun{note.id, note.count}, note.value);
  Block* const first = store_.catalog.find(note.id);
  if (first == nullptr) return;
  const Object* const object = first->record->object;
  if (object == nullptr) return apply(note.hint, *first, note.value, 0);  // several share the block
  for_each_block(*object, [&](Block& b) { apply(note.hint, b, note.value, object->id); });
}

void Hints::apply(Hint hint, const Object& object, std::uint64_t scope) noexcept {
  for_each_block(object, [&](Block& b) { apply(hint, b, scope, object.id); });
}

Outcome Hints::prefetch(const Object& object) noexcept {
  Outcome outcome = Outcome::Done;
  for_each_block(object, [&](Block& b) {
    if (const auto one = prefetch(b, object.id); one != Outcome::Done) outcome = one;
  });
  check_watermarks(state_, store_);
  return outcome;
}

Outcome Hints::prefetch(Block& b) noexcept {
  const auto* const object = b.record->object;
  const auto outcome = prefetch(b, object != nullptr ? object->id : 0);
  check_watermarks(state_, store_);
  return outcome;
}

Outcome Hints::prefetch(Block& b, ObjectId object) noexcept {
  HintEvent event{{}, Hint::Prefetch, b.id, 0, object};
  state_.announcer.tell(event, &Observer::on_hint);
  b.record->archived = false;
  const auto stamp = state_.clock.stamp();
  b.last_use.store(stamp, std::memory_order_relaxed);  // otherwise it would be the first to leave
  if (b.record->window_address == nullptr)
    b.record->prefetched = stamp;  // uses of blocks in windows are not stamped
  state_.announcer.ask([&](Policy& p, PolicyContext& context) { p.on_hint(event, context); });
  auto outcome = movement_.prefetcher.begin(b, 0, false, Cause::Hint);
  if (outcome == Outcome::Full) outcome = movement_.prefetcher.begin_later(b);
  if (outcome != Outcome::Done) {
    ++state_.counters.totals.prefetches_refused;
    movement_.compactor.compact_in_background();  // for the next prefetch: no transfer will end and call this
  }
  return outcome;
}

}  // namespace tier
