// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The costs of kernels and copies on the tiers of a replay.
#include <tier/copy/virtual_clock.hpp>
#include <tier/replay/replay.hpp>
#include <tier/trace/trace.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/cpus.hpp"

namespace tier::replay {

/// Bytes that a kernel moves to and from the CPU, by tier.
struct Demand {
  std::array<double, max_tiers> read{}, written{};
};

/// Computes the time of kernels and copies on the devices of a replay's tiers, the fastest first.
/// \threadsafety  Immutable; calls may run concurrently.
class Costs {
 public:
  Costs(const trace::Trace& trace, const Machine& machine, std::vector<const Device*> devices);

  [[nodiscard]] Demand demand(const trace::Kernel& kernel, std::span<const TierIndex> tiers) const;
  /// \param tiers     the tier of each operand   \param measured  the time with all operands fast, if a recording has it
  /// \return          ns
  [[nodiscard]] double kernel_ns(const trace::Kernel& kernel, std::span<const TierIndex> tiers,
                                 const Demand& demand, std::optional<double> measured) const;
  /// Returns the least time for the kernel's output: no part of it is written to `tier` at a higher rate than all of it
  /// in this time, wherever the other operands are.
  /// \param alone  the kernel's time with all operands fast, ns   \pre  The kernel writes something.
  [[nodiscard]] double least_ns(const trace::Kernel& kernel, TierIndex tier, double alone) const;
  /// Returns the time by operations and bytes alone, wherever the bytes come from.
  /// \return  ns, no less than what was measured
  [[nodiscard]] double roofline_ns(const trace::Kernel& kernel, const Demand& demand,
                                   std::optional<double> measured) const;
  [[nodiscard]] const OpCost& cost_of(const trace::Kernel& kernel) const { return *op_of(kernel).cost; }
  [[nodiscard]] std::uint64_t copy_ns(TierIndex from, TierIndex to, std::uint64_t bytes,
                                      Carrier carrier) const noexcept;

 private:
  struct Op {
    const OpCost* cost = nullptr;
    std::array<const SlowDown*, max_tiers> slow_downs{};
  };
  [[nodiscard]] double memory_ns(const Demand& demand) const;
  [[nodiscard]] double all_fast_ns(const Demand& demand) const;
  [[nodiscard]] double factor(const trace::Kernel& kernel, const Op& op,
                              std::span<const TierIndex> tiers) const;
  [[nodiscard]] const Op& op_of(const trace::Kernel& kernel) const { return ops_[kernel.op]; }

  const trace::Trace& trace_;
  const Machine& machine_;
  std::vector<const Device*> devices_;
  std::vector<Op> ops_;  // by name in the trace; empty for names that are no operation's
};

/// The clock of a replay.
class Clock final : public VirtualClock {
 public:
  explicit Clock(const Costs& costs, const Machine& machine)
      : costs_{costs}, has_idle_core_{machine.cores > detail::few_cpus || machine.lost_to_mover == 0} {}
  /// \param tiers  in the manager's order
  void know(std::vector<const Tier*> tiers) { tiers_ = std::move(tiers); }
  [[nodiscard]] std::uint64_t copy_ns(const Tier& from, const Tier& to, std::uint64_t bytes,
                                      Carrier carrier) const noexcept override;
  [[nodiscard]] bool has_idle_core() const noexcept override { return has_idle_core_; }

 private:
  [[nodiscard]] TierIndex index(const Tier& tier) const noexcept;
  const Costs& costs_;
  bool has_idle_core_;
  std::vector<const Tier*> tiers_;
};

}  // namespace tier::replay
