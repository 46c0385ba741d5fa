// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "further_copies.hpp"

#include <algorithm>
#include <unordered_map>

#include "times.hpp"

namespace tier::tool::report {

using trace::EventKind;

std::vector<bool> further_copies(const trace::Trace& trace, const Tiers& tiers) {
  const auto events = trace.events();
  std::vector<bool> copies;
  for (const auto event : events)
    if (event.kind == EventKind::Migration)
      copies.resize(std::max<std::size_t>(copies.size(), event.place + 1));
  std::unordered_map<std::uint64_t, TierNumber> seen_next;  // by block, while going backwards
  const auto key = [](trace::TensorIndex tensor, std::uint32_t block) {
    return std::uint64_t{tensor} << 32U | block;
  };
  for (auto i = copies.empty() ? 0 : events.size(); i-- > 0;) {
    if (events[i].kind == EventKind::Migration) {
      const auto& m = trace.migration(events[i]);
      const auto from = tiers.number(m.from), to = tiers.number(m.to);
      auto& next = seen_next.try_emplace(key(m.tensor, m.block), Tiers::unknown).first->second;
      copies[events[i].place] = from != to && next == from;
      next = from;
    } else if (events[i].kind == EventKind::Kernel) {
      const auto* const measured = measurement_of(trace, i);
      if (measured == nullptr) continue;
      const auto operands = trace.operands(trace.kernel(events[i]));
      const auto places = tiers.placement(*measured);
      for (std::size_t n = 0; n < operands.size() && places.size() == operands.size(); ++n)
        if (places[n] < tiers.count()) seen_next[key(operands[n].tensor, trace::whole_tensor)] = places[n];
    }
  }
  return copies;
}

}  // namespace tier::tool::report
