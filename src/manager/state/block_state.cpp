// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/manager/block_state.hpp>

#include "mutants.hpp"
#include "reader_slots.hpp"

namespace tier {

BlockState::Value BlockState::count_slots() noexcept {
  word_.fetch_and(~shared, std::memory_order_seq_cst);  // (6) <-> (5)
  if (!mutated(Mutant::ReadersNotCounted)) {
    ReaderSlots::for_each([&](ReaderSlot& slot) {
      if (!slot.holds(*this)) return;
      // Before the slot says so: from then on the reader may give the pin back.
      word_.fetch_add(one_pin, std::memory_order_acq_rel);
      if (!slot.count(*this)) word_.fetch_sub(one_pin, std::memory_order_acq_rel);
    });
  }
  return now();
}

}  // namespace tier
