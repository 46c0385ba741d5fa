// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A trace run again on a machine whose fast memory is a hardware cache (Intel's memory mode, "2LM"): nobody decides
///        anything there, and no manager is at work.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>
#include <tier/replay/machine.hpp>
#include <tier/replay/replay.hpp>
#include <tier/trace/trace.hpp>

#include <cstdint>
#include <functional>

namespace tier::replay {

struct TwoLevelOptions {
  unsigned passes = 2;  ///< as `Options::passes`
  /// What is dead is freed at once, so that its addresses are used again. Else a collection frees it: at the end of an
  /// iteration, and when more than 80 % of slow memory are in use.
  bool frees_early = true;
  Bytes sector{std::size_t{1} << 16};  ///< stands for the lines of 64 B that hardware has
  /// The share of writes for which hardware reads the tag, and with it the line, from fast memory first. Fitted: the published
  /// reads of DRAM exceed what kernels read by 0.20 to 0.27 of what they write, with and without early freeing.
  double tag_checked_writes = 0.25;
  /// Called after each kernel with its number, the time since the start and the bytes allocated; for figures.
  std::function<void(std::uint64_t kernel, double seconds, Bytes allocated)> after_kernel{};
};

/// Fast memory is direct-mapped, write-back and write-allocate; tensors have addresses in slow memory, given out by the
/// heap that tiers have. Passes over operands beyond the first hit. Traffic is what the hardware makes of it: a read takes one
/// read of fast memory, which brings the tag, the data and with it a victim; a miss, of writes too, reads slow memory and
/// writes fast memory; a dirty victim is written to slow memory. Of the writes `tag_checked_writes` read fast memory
/// first. Kernels are bound by operations or by one of the devices, where slow memory is read and written at the rates of
/// kernels. `Result::traffic` counts all of it as by kernels; inputs and outputs are fast where they hit.
/// \param tiers  two of the machine's devices with their sizes
/// \throws       `ConfigError` if it is not two, or of another machine, or if the slow one has 2^31 times the cache or more, and
///               for a trace of more than 64 PiB or 146 years; `OutOfTierMemory` naming the kernel
/// \threadsafety  Safe at once; a trace may be shared.
[[nodiscard]] TIER_EXPORT Result run_two_level(const trace::Trace& trace, const Machine& machine,
                                               const std::vector<SimulatedTier>& tiers,
                                               const TwoLevelOptions& options = {});

}  // namespace tier::replay
