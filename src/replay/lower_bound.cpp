// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/lower_bound.hpp"

#include <algorithm>
#include <cstdint>

namespace tier::replay {

double lower_bound(const trace::Trace& trace, const Costs& costs, const Recorded& recorded,
                   const std::vector<const Device*>& devices, Bytes fastest, Bytes peak) {
  double compute = 0;
  std::vector<TierIndex> fast;
  for (std::uint32_t k = 0; k < trace.kernels().size(); ++k) {
    const auto& kernel = trace.kernels()[k];
    fast.assign(kernel.operands.count, TierIndex{0});
    compute +=
        costs.kernel_ns(kernel, fast, costs.demand(kernel, fast), recorded.measured(k)) + recorded.gap(k);
  }
  compute *= 1e-9;
  if (peak <= fastest || devices.size() < 2) return compute;
  double parameters = 0, read = 0, write = 0;
  for (const auto& t : trace.tensors())
    if (t.kind == trace::TensorKind::Parameter) parameters += static_cast<double>(t.size.count);
  for (std::size_t t = 1; t < devices.size(); ++t) {
    read = std::max(read, std::max(devices[t]->read, devices[t]->copy_read));
    write = std::max(write, std::max(devices[t]->store, devices[t]->copy_write));
  }
  const auto excess = static_cast<double>((peak - fastest).count);
  return std::max({compute, excess / read, std::max(0.0, excess - parameters) / write});
}

}  // namespace tier::replay
