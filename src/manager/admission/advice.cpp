// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "advice.hpp"

#include <algorithm>
#include <functional>
#include <new>
#include <utility>
#include <vector>

#include "out_of_memory.hpp"

namespace tier {

void Advice::enter(std::span<Operand> batch, const BatchContext& context) {
  const auto self = state_.lifetime.owner();  // all objects may go while room is made
  const std::span<Operand> advised{
      std::stable_partition(batch.begin(), batch.end(), [](const Operand& op) { return !op.advice; }),
      batch.end()};
  try {
    revive_overwritten(advised);
    gate_.enter(batch.first(batch.size() - advised.size()), context);
  } catch (...) {
    Manager::leave(batch);
    throw;
  }
  bring(advised, context);
}

void Advice::hold(Block& b) noexcept {
  const MutexLock lock{state_.monitor.mutex()};
  ++b.record->entering;
}

void Advice::release(Block& b) noexcept {
  const MutexLock lock{state_.monitor.mutex()};
  if (--b.record->entering == 0 && b.record->dying) store_.blocks.release_if_dead(b);
}

/// Revives retired blocks that will be overwritten, and throws for other uses of them. Neither is mere advice: without a
/// place a store has nowhere to go, or goes to bytes that a step mark takes away.
void Advice::revive_overwritten(std::span<const Operand> advised) {
  for (const auto& op : advised) {
    if (op.block == nullptr || op.entered || !op.named) continue;
    Block& b = *op.block;  // the operand may lie in a window, which must not be read under the lock
    const bool revives = op.revives, whole = op.use == Use::Overwrite;
    if (!revives && !b.state.now().is_retired()) continue;
    MutexLock lock{state_.monitor.mutex()};
    if (!revives) throw_retired(name_of(b));
    hints_.drain();
    objects_.revive(b, whole, lock);
  }
}

/// Fetches what fits, many blocks at once, so that a device is busy with all of them.
void Advice::bring(std::span<Operand> advised, const BatchContext& context) noexcept {
  constexpr std::size_t together = 32;
  const BatchContext now{context.scope,  false, context.kernel,
                         context.shapes, true,  context.fault};  // no thread waits for the sake of advice
  const std::span<Operand> wanted{
      advised.begin(), std::stable_partition(advised.begin(), advised.end(), [](const Operand& op) {
        return op.block != nullptr && !op.entered;
      })};
  if (!has_room_for(wanted)) best_first(wanted);
  bool room = true;
  for (auto rest = wanted; !rest.empty();) {
    const auto few = rest.first(std::min(together, rest.size()));
    rest = rest.subspan(few.size());
    room = room && bring_all(few, now);
    for (auto& op : few)
      if (!op.entered) release(*std::exchange(op.block, nullptr));
  }
}

/// True if all operands fit beside what is there already: then any order is as good.
bool Advice::has_room_for(std::span<const Operand> wanted) noexcept {
  std::uint64_t bytes = 0;
  for (const auto& op : wanted) bytes += op.size;
  if (bytes == 0) return true;
  if (budget_.advised.load(std::memory_order_relaxed) + bytes > budget_.limit) return false;
  const MutexLock lock{state_.monitor.mutex()};
  return bytes <= store_.tiers.fastest().heap.capacity().count - store_.tiers.fastest().used().count;
}

/// Puts those first that the policy would evict last: by default, those used last. If memory is short they stay in order
/// of their addresses.
void Advice::best_first(std::span<Operand> wanted) noexcept try {
  std::vector<std::pair<std::uint64_t, Operand>> ranked;
  ranked.reserve(wanted.size());
  for (const auto& op : wanted) {
    ranked.emplace_back(0, op);  // the operand may lie in a window, which must not be read under the lock
    const Block& b = *ranked.back().second.block;
    const MutexLock lock{
        state_.monitor.mutex()};  // taken anew for each block, so that faults are served in between
    if (!b.record->garbage) ranked.back().first = state_.announcer.policy().rank(facts(b));
  }
  std::ranges::stable_sort(ranked, std::greater{}, [](const auto& one) { return one.first; });
  for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = ranked[i].second;
} catch (const std::bad_alloc&) {
}

/// Enters as many as fit, the first ones first.   \return  false if there was no room for all of them
bool Advice::bring_all(std::span<Operand> few, const BatchContext& context) noexcept {
  std::span<Operand> wanted{few.begin(), std::stable_partition(few.begin(), few.end(), [](const Operand& op) {
                              return !op.block->is_passing();
                            })};
  for (auto count = wanted.size(); count > 0 && !wanted.empty();) {
    count = std::min(count, wanted.size());
    if (bring_together(wanted.first(count), context))
      wanted = wanted.subspan(count);
    else
      count /= 2;
  }
  return wanted.empty();
}

/// Enters all of them or none.
bool Advice::bring_together(std::span<Operand> wanted, const BatchContext& context) noexcept {
  std::uint64_t bytes = 0;
  for (const auto& op : wanted) bytes += op.size;
  if (budget_.advised.fetch_add(bytes, std::memory_order_relaxed) + bytes <= budget_.limit) try {
      gate_.enter(wanted, context);
      for (auto& op : wanted)
        if (!Manager::leave_if_passing(op)) release(*op.block);
      return true;
    } catch (const std::exception&) {  // an access to a block that was not brought reports the error
    }
  budget_.advised.fetch_sub(bytes, std::memory_order_relaxed);
  return false;
}

}  // namespace tier
