// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "counters.hpp"

namespace tier {

void Counters::add_moved(TierIndex from, TierIndex to, Cause cause, std::uint64_t bytes,
                         std::uint64_t transfers) noexcept {
  auto& moved = moved_[from][to][static_cast<std::size_t>(cause)];
  moved.bytes += bytes;
  moved.transfers += transfers;
}

void Counters::count_wait(const BatchContext& context, std::uint64_t began, StallCause cause) noexcept {
  if (context.fault) cause = StallCause::Fault;
  StallEvent event{{}, context.scope, began, timeline_.now_ns() - began, cause, context.kernel};
  ++totals.stalls;
  totals.stalled_ns += event.duration_ns;
  announcer_.tell(event, &Observer::on_stall);
}

void Counters::count_stall(std::uint64_t ns) noexcept {
  ++totals.stalls;
  totals.stalled_ns += ns;
  announcer_.tell_observers(StallEvent{{}, 0, timeline_.now_ns() - ns, ns, StallCause::Transfer, {}},
                            &Observer::on_stall);
}

void Counters::add_moved_to(Statistics& statistics, std::size_t tiers) const {
  for (std::size_t from = 0; from < tiers; ++from)
    for (std::size_t to = 0; to < tiers; ++to)
      for (std::size_t cause = 0; cause < cause_count; ++cause)
        if (const auto& moved = moved_[from][to][cause]; moved.transfers > 0)
          statistics.moved.push_back({static_cast<TierIndex>(from), static_cast<TierIndex>(to),
                                      static_cast<Cause>(cause), moved.bytes, moved.transfers});
}

}  // namespace tier
