// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/lower_bound.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace tier::replay {
namespace {

/// Returns the bytes that no pass need write to a slower tier, because they may be there from the pass before.
Bytes survivors(const trace::Trace& trace) {
  Bytes bytes;
  for (const auto& t : trace.tensors())
    if (t.kind == trace::TensorKind::Parameter || t.kind == trace::TensorKind::Gradient) bytes += t.size;
  return bytes;
}

double written(const trace::Trace& trace, const trace::Kernel& kernel) {
  double bytes = 0;
  for (const auto& o : trace.operands(kernel))
    if (o.role != trace::Role::Reads) bytes += static_cast<double>(o.touched.count);
  return bytes;
}

}  // namespace

double lower_bound(const trace::Trace& trace, const Costs& costs, const Recorded& recorded,
                   const std::vector<const Device*>& devices, Bytes fastest, const std::vector<Bytes>& peaks,
                   Bytes in_parts) {
  constexpr double ns = 1e-9;
  const auto may_stay = fastest + survivors(trace) + in_parts;
  double excess = 0;
  for (const auto peak : peaks) excess += static_cast<double>((peak - std::min(peak, may_stay)).count);
  // The most bytes that reach a slower tier in a ns: by kernels, or copies that they wait for; and by a mover beside.
  std::vector<double> rates(devices.size());
  double mover = 0;
  for (std::size_t t = 1; t < devices.size(); ++t) {
    rates[t] = std::max(devices[t]->store, devices[t]->copy_write) * ns;
    mover = std::max(mover, devices[t]->mover_write * ns);
  }
  double compute = 0;
  std::vector<TierIndex> fast;
  for (std::uint32_t k = 0; k < trace.kernels().size(); ++k) {
    const auto& kernel = trace.kernels()[k];
    fast.assign(kernel.operands.count, TierIndex{0});
    const double alone = costs.kernel_ns(kernel, fast, costs.demand(kernel, fast), recorded.measured(k));
    compute += alone + recorded.gap(k);
    const double bytes = excess > 0 ? written(trace, kernel) : 0;
    for (TierIndex t = 1; t < rates.size() && bytes > 0; ++t)
      rates[t] = std::max(rates[t], bytes / costs.least_ns(kernel, t, alone));
  }
  const double rate = std::accumulate(rates.begin(), rates.end(), mover);
  return std::max(compute, excess > 0 && rate > 0 ? excess / rate : 0) * ns;
}

}  // namespace tier::replay
