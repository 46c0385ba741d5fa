// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Runs a trace again on a machine whose fast memory is a hardware cache (Intel's memory mode, "2LM"), with no
///        policy or manager.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>
#include <tier/replay/machine.hpp>
#include <tier/replay/replay.hpp>
#include <tier/trace/trace.hpp>

#include <cstdint>
#include <functional>

namespace tier::replay {

/// Options of a replay on a machine whose fast memory is a hardware cache.
struct TwoLevelOptions {
  unsigned passes = 2;  ///< as `Options::passes`
  /// True: dead tensors are freed at once, so that their addresses are used again. False: a collection frees them at the
  /// end of an iteration, and when more than 80 % of slow memory are in use.
  bool frees_early = true;
  Bytes sector{std::size_t{1} << 16};  ///< unit of the simulated cache; stands for lines of 64 B
  /// The share of writes for which hardware reads the tag, and with it the line, from fast memory first. Fitted: the
  /// published reads of DRAM exceed what kernels read by 0.20 to 0.27 of what they write, with and without early freeing.
  double tag_checked_writes = 0.25;
  /// Called after each kernel with its number, the time since the start and the bytes allocated; for figures.
  std::function<void(std::uint64_t kernel, double seconds, Bytes allocated)> after_kernel{};
};

/// Tells how long a program would have taken with fast memory as a hardware cache: replays its trace on such a machine.
/// \code{.cpp}
/// using namespace tier::trace;
/// Trace step;
/// const auto x = step.declare(1, 4_MiB, TensorKind::Input, "x");
/// step.add_kernel("load", Phase::Forward, 1e6, std::array{Operand{4_MiB, x, Role::Creates}});
/// step.add_end_of_iteration();
/// const auto result = tier::replay::run_two_level(step, *tier::replay::find_machine("cachedarrays"),
///                                                 {{"dram", 64_MiB}, {"optane", 1_GiB}});
/// std::printf("%g s, %g of the bytes written found in the cache\n", result.seconds,
///             result.outputs_fast_share);
/// \endcode
///
/// Fast memory is direct-mapped, write-back and write-allocate. Tensors have addresses in slow memory, given out by the
/// heap that tiers have. Passes over operands beyond the first hit. Traffic is that of the hardware: a read takes one
/// read of fast memory, which brings the tag, the data and with it a victim; a miss, of writes too, reads slow memory and
/// writes fast memory; a dirty victim is written to slow memory. A share `tag_checked_writes` of writes reads fast memory
/// first. Kernels are bound by operations or by one of the devices, and slow memory is read and written at the rates of
/// kernels. `Result::traffic` counts all traffic as by kernels; inputs and outputs are fast if they hit.
/// \param tiers  two of the machine's devices with their sizes
/// \throws       `ConfigError` if there are not two tiers, the machine lacks one, or the slow one has 2^31 times the
///               cache or more, and for a trace of more than 64 PiB or 146 years; `OutOfTierMemory` naming the kernel
/// \threadsafety  Calls may run concurrently, and may share a trace.
[[nodiscard]] TIER_EXPORT Result run_two_level(const trace::Trace& trace, const Machine& machine,
                                               const std::vector<SimulatedTier>& tiers,
                                               const TwoLevelOptions& options = {});

}  // namespace tier::replay
