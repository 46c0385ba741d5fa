// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Computes from a program's counts how much of what it used was in fast memory, how long it waited for the rest,
///        and how much memory it took.
#include <cstddef>
#include <cstdint>

namespace tier::bench {

/// Returns the share of accesses that did not have to be brought: 1 - fetched / accessed, at least 0; without accesses 1.
/// `TableStatistics::fast_share` is the same for a table.
/// \param fetched   rows, pages or bytes of operands that were brought to fast memory, or used in the slow tier. What came
///                  ahead of its use was fetched, too, and is no hit.
/// \param accessed  the same units, each as often as it was used
/// \threadsafety    May be called by any thread, as everything in this file.
[[nodiscard]] double fast_share(std::uint64_t fetched, std::uint64_t accessed) noexcept;

/// Returns the share of the accesses that did not wait: 1 - late / accessed, at least 0; without accesses 1.
/// \param late      those accesses that had to wait for a transfer, whichever thread had asked for it
/// \param accessed  those whose waiting was observed
[[nodiscard]] double on_time_share(std::uint64_t late, std::uint64_t accessed) noexcept;

/// Returns stalled time as a share of the time of all threads; 0 before any time has passed.
/// \param stalled_seconds  wall time spent waiting for transfers, on entry to scopes, in gathers and in allocations, summed
///                         over threads; if it is unknown (NaN), so is the share
/// \param threads          compute threads of the program, whether or not they wait
/// \param wall_seconds     duration of the program
[[nodiscard]] double stalled_share(double stalled_seconds, std::size_t threads, double wall_seconds) noexcept;

/// Returns a program's additional memory over a run without libtier: (peak - doubled) / plain_peak - 1.
/// \param peak        the highest sum of bytes in all tiers, including staging, metadata and policies' memory
/// \param doubled     part of the peak: further copies of bytes in another tier, which can be dropped at once
/// \param plain_peak  the highest sum of live bytes of the program on plain memory; not 0
[[nodiscard]] double overhead_share(std::uint64_t peak, std::uint64_t doubled,
                                    std::uint64_t plain_peak) noexcept;

}  // namespace tier::bench
