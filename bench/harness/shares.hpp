// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  How much of what a program used was in fast memory, how long it waited for the rest, and how much memory it
///        took: from its counts.
#include <cstddef>
#include <cstdint>

namespace tier::bench {

/// The share of what a program used that did not have to be brought: 1 - fetched / accessed, at least 0; of no
/// accesses 1. `TableStatistics::fast_share` is the same of a table.
/// \param fetched   rows, pages or bytes of operands that were brought to fast memory, or used in the slow tier. What
///                  came ahead of its use was fetched, too: it is no hit.
/// \param accessed  the same, each as often as it was used
/// \threadsafety    May be called by any thread, as all of this page.
[[nodiscard]] double fast_share(std::uint64_t fetched, std::uint64_t accessed) noexcept;

/// The share of the accesses that did not wait: 1 - late / accessed, at least 0; of no accesses 1.
/// \param late      of `accessed`: those that had to wait for a transfer, whoever had asked for it
/// \param accessed  whose waiting was looked at
[[nodiscard]] double on_time_share(std::uint64_t late, std::uint64_t accessed) noexcept;

/// The stalled time as a share of the time that all threads had; 0 before any has passed.
/// \param stalled_seconds  of wall time, spent on entry to scopes, in gathers and in allocations waiting for transfers,
///                         summed over threads; if it is NaN, not known, so is the share
/// \param threads          that the program computes on, whether or not they wait
/// \param wall_seconds     that it took
[[nodiscard]] double stalled_share(double stalled_seconds, std::size_t threads, double wall_seconds) noexcept;

/// How much more memory a program took than without libtier: (peak - doubled) / plain_peak - 1.
/// \param peak        the highest sum of bytes in all tiers, staging, metadata and what policies keep included
/// \param doubled     of these: further copies of what another tier has too, which can be dropped at once
/// \param plain_peak  the highest sum of live bytes of the same program on plain memory; not 0
[[nodiscard]] double overhead_share(std::uint64_t peak, std::uint64_t doubled,
                                    std::uint64_t plain_peak) noexcept;

}  // namespace tier::bench
