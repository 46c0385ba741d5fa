// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/costs.hpp"

#include <algorithm>
#include <cmath>

#include "replay/whole.hpp"

namespace tier::replay {
namespace {

using trace::Kernel;
using trace::Operand;
using trace::Role;

constexpr double ns_per_second = 1e9;

bool is_input(const Operand& o) { return o.role == Role::Reads || o.role == Role::Updates; }
bool is_output(const Operand& o) { return o.role != Role::Reads; }

}  // namespace

Costs::Costs(const trace::Trace& trace, const Machine& machine, std::vector<const Device*> devices)
    : trace_{trace}, machine_{machine}, devices_{std::move(devices)} {
  for (const auto& kernel : trace.kernels()) {
    if (ops_.size() <= kernel.op) ops_.resize(kernel.op + std::size_t{1});
    Op& op = ops_[kernel.op];
    if (op.cost != nullptr) continue;
    const auto name = trace.name(kernel.op);
    op.cost = &machine.cost_of(name);
    for (std::size_t t = 1; t < devices_.size(); ++t)
      op.slow_downs[t] = machine.slow_down_of(devices_[t]->name, name);
  }
}

Demand Costs::demand(const Kernel& kernel, std::span<const TierIndex> tiers) const {
  const auto& cost = *op_of(kernel).cost;
  const auto operands = trace_.operands(kernel);
  Demand demand;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const auto bytes = static_cast<double>(operands[i].touched.count);
    if (is_input(operands[i])) demand.read[tiers[i]] += bytes * cost.reads;
    if (is_output(operands[i])) demand.written[tiers[i]] += bytes * cost.writes;
  }
  return demand;
}

/// Devices work side by side, except those on one link.
double Costs::memory_ns(const Demand& demand) const {
  double longest = 0;
  for (std::size_t t = 0; t < devices_.size(); ++t) {
    double taken = 0;
    for (std::size_t other = t; other < devices_.size(); ++other) {
      const Device& d = *devices_[other];
      if (other == t || (!d.link.empty() && d.link == devices_[t]->link))
        taken += demand.read[other] / d.read + demand.written[other] / d.store;
    }
    longest = std::max(longest, taken * ns_per_second);
  }
  return longest;
}

/// Returns the measured slow-down of a kernel, interpolated by the share of its inputs and outputs in each device.
double Costs::factor(const Kernel& kernel, const Op& op, std::span<const TierIndex> tiers) const {
  std::array<double, max_tiers> in{}, out{};
  double inputs = 0, outputs = 0;
  const auto operands = trace_.operands(kernel);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const auto bytes = static_cast<double>(operands[i].touched.count);
    if (is_input(operands[i])) in[tiers[i]] += bytes, inputs += bytes;
    if (is_output(operands[i])) out[tiers[i]] += bytes, outputs += bytes;
  }
  double product = 1;
  for (std::size_t t = 1; t < devices_.size(); ++t) {
    const auto* const slow = op.slow_downs[t];
    if (slow == nullptr) continue;
    const double i = inputs > 0 ? in[t] / inputs : 0, o = outputs > 0 ? out[t] / outputs : 0;
    product *=
        (1 - i) * (1 - o) + i * (1 - o) * slow->inputs + (1 - i) * o * slow->outputs + i * o * slow->both;
  }
  return product;
}

double Costs::all_fast_ns(const Demand& demand) const {
  Demand fast;
  for (std::size_t t = 0; t < devices_.size(); ++t) {
    fast.read[0] += demand.read[t];
    fast.written[0] += demand.written[t];
  }
  return memory_ns(fast);
}

double Costs::kernel_ns(const Kernel& kernel, std::span<const TierIndex> tiers, const Demand& demand,
                        std::optional<double> measured) const {
  const Op& op = op_of(kernel);
  const double compute = kernel.flops / (machine_.operations * op.cost->efficiency) * ns_per_second;
  const double all_fast = all_fast_ns(demand);
  const double alone = measured ? *measured : std::max(compute, all_fast);
  Demand way = demand;  // demand on devices without a measured slow-down
  double factor = 1;
  for (std::size_t t = 1; t < devices_.size(); ++t) {
    if ((demand.read[t] == 0 && demand.written[t] == 0) || op.slow_downs[t] == nullptr) continue;
    way.read[t] = way.written[t] = 0;
    factor = this->factor(kernel, op, tiers);
  }
  const double here = measured ? alone + memory_ns(way) - all_fast : memory_ns(way);
  return std::max(alone * factor, here);
}

double Costs::least_ns(const Kernel& kernel, TierIndex tier, double alone) const {
  const Op& op = op_of(kernel);
  if (const auto* const slow = op.slow_downs[tier]) return alone * std::min(slow->outputs, slow->both);
  const std::vector<TierIndex> fast(kernel.operands.count, TierIndex{0});
  const auto bytes = demand(kernel, fast);
  const double longer = bytes.written[0] / devices_[tier]->store * ns_per_second;
  // If the kernel was measured to take less than its bytes' time, its writes may be cheaper, too.
  return std::max(alone, longer * std::min(1.0, alone / memory_ns(bytes)));
}

double Costs::roofline_ns(const Kernel& kernel, const Demand& demand, std::optional<double> measured) const {
  const double compute = kernel.flops / (machine_.operations * cost_of(kernel).efficiency) * ns_per_second;
  return std::max({compute, memory_ns(demand), measured.value_or(0)});
}

std::uint64_t Costs::copy_ns(TierIndex from, TierIndex to, std::uint64_t bytes,
                             Carrier carrier) const noexcept {
  const Device &source = *devices_[from], &target = *devices_[to];
  const bool shares = from == to || (!source.link.empty() && source.link == target.link);
  const auto all_ns = [&](double read_rate, double write_rate) {
    const double reading = static_cast<double>(bytes) / read_rate,
                 writing = static_cast<double>(bytes) / write_rate;
    return (shares ? reading + writing : std::max(reading, writing)) * ns_per_second;
  };
  const double alone = all_ns(source.mover_read, target.mover_write);
  double taken = carrier == Carrier::Mover ? alone : all_ns(source.copy_read, target.copy_write);
  // Copies come in chunks of 4 MiB, each of which counts a start: for larger copies this is up to a seventh too much.
  if (carrier != Carrier::Mover && source.addressable && target.addressable)
    taken = std::max(taken, std::min(alone, taken + static_cast<double>(machine_.copy_start.count())));
  const double latency = static_cast<double>(source.latency.count()) +
                         static_cast<double>(target.latency.count());  // hidden by the bytes of large ones
  return whole(std::ceil(std::max(taken, latency)));
}

TierIndex Clock::index(const Tier& tier) const noexcept {
  return static_cast<TierIndex>(std::ranges::find(tiers_, &tier) - tiers_.begin());
}

std::uint64_t Clock::copy_ns(const Tier& from, const Tier& to, std::uint64_t bytes,
                             Carrier carrier) const noexcept {
  return costs_.copy_ns(index(from), index(to), bytes, carrier);
}

}  // namespace tier::replay
