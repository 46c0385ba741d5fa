// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "steps/liveness.hpp"

#include <algorithm>

namespace training {
namespace {

/// The indices of the kernels that use each tensor.
using Uses = std::vector<std::vector<std::size_t>>;

Uses uses_of(const Step& step) {
  Uses uses(step.tensors.size());
  for (std::size_t k = 0; k < step.kernels.size(); ++k)
    for (const auto& use : step.kernels[k].uses) uses[use.tensor].push_back(k);
  return uses;
}

bool dies(const StepTensor& tensor) { return tensor.kind != Kind::Parameter; }

/// True for small parameters. They share blocks with others that are in use, and so stay in place.
bool is_small(const StepTensor& tensor) { return !dies(tensor) && tensor.bytes < 64 << 10; }

void add_retired(const Step& step, const Uses& uses, std::vector<Hints>& hints) {
  for (TensorId t = 0; t < uses.size(); ++t)
    if (dies(step.tensors[t]) && !uses[t].empty()) hints[uses[t].back()].retire.push_back(t);
}

/// Two uses, by index of kernel, with kernels between them. Indices of the next step follow those of this one.
struct Gap {
  TensorId tensor;
  std::size_t from, to;
};

/// Returns the gaps that end after the forward pass.
std::vector<Gap> gaps_of(const Step& step, const Uses& uses) {
  std::vector<Gap> gaps;
  for (TensorId t = 0; t < uses.size(); ++t) {
    const auto& of = uses[t];
    if (of.empty() || is_small(step.tensors[t])) continue;
    for (std::size_t i = 1; i < of.size(); ++i)
      if (step.kernels[of[i]].phase != Phase::Forward && of[i] > of[i - 1] + 1)
        gaps.push_back({t, of[i - 1], of[i]});
    if (!dies(step.tensors[t])) gaps.push_back({t, of.back(), of.front() + step.kernels.size()});
  }
  return gaps;
}

/// Returns the live bytes at each kernel: of all tensors from first to last use, except within gaps.
std::vector<std::size_t> load_of(const Step& step, const Uses& uses, const std::vector<Gap>& gaps) {
  const auto n = step.kernels.size();
  std::vector<std::size_t> load(n);
  for (TensorId t = 0; t < uses.size(); ++t) {
    if (uses[t].empty()) continue;
    const bool stays = !dies(step.tensors[t]);
    for (auto k = stays ? 0 : uses[t].front(); k < (stays ? n : uses[t].back() + 1); ++k)
      load[k] += step.tensors[t].bytes;
  }
  for (const auto& gap : gaps)
    for (auto k = gap.from + 1; k < gap.to; ++k) load[k % n] -= step.tensors[gap.tensor].bytes;
  return load;
}

std::size_t budget_at(const Kernel& kernel, Budget budget) {
  return kernel.phase == Phase::Forward ? budget.forward : budget.backward;
}

/// The least distance of a prefetch from its use, in kernels, including the using one. One is too late for the optimiser's
/// state, which is updated right after a kernel that fills the budget.
constexpr std::size_t least_lead = 2;

/// Plans archives and prefetches. Gaps that end soonest get room in the budget first, each from as early as there is room
/// without a break; if it has room from the gap's start, it stays. So the tensors needed soonest stay (Belady's rule). The
/// others come as early as none of those has to leave: at least a kernel ahead, into what is free beyond the budget.
void add_planned(const Step& step, const Uses& uses, std::vector<Gap> gaps, Budget budget,
                 std::vector<Hints>& hints) {
  const auto n = step.kernels.size();
  auto load = load_of(step, uses, gaps);
  std::ranges::stable_sort(gaps, {}, &Gap::to);
  for (const auto& [tensor, from, to] : gaps) {
    const auto bytes = step.tensors[tensor].bytes;
    auto begin = to;
    const auto has_room = [&](std::size_t k) {
      return load[k] + bytes <= budget_at(step.kernels[k], budget);
    };
    while (begin > from + 1 && has_room((begin - 1) % n)) --begin;
    const bool stays = begin == from + 1;
    if (stays || budget.ahead)
      for (auto k = begin; k < to; ++k) load[k % n] += bytes;
    if (stays) continue;
    hints[from % n].archive.push_back(tensor);
    if (!budget.ahead) continue;
    begin = std::min(begin, std::max(to - least_lead, from + 2));
    if (begin < to) hints[begin % n].prefetch.push_back(tensor);
  }
}

}  // namespace

std::vector<Hints> hints_of(const Step& step, Budget budget) {
  std::vector<Hints> hints(step.kernels.size());
  const auto uses = uses_of(step);
  add_retired(step, uses, hints);
  add_planned(step, uses, gaps_of(step, uses), budget, hints);
  return hints;
}

std::size_t peak_bytes(const Step& step) {
  std::size_t live = 0;
  for (const auto& parameter : step.parameters) live += step.tensors[parameter.tensor].bytes;
  std::vector<bool> exists(step.tensors.size());
  const auto hints = hints_of(step, {});
  std::size_t peak = live;
  for (std::size_t k = 0; k < step.kernels.size(); ++k) {
    for (const auto& use : step.kernels[k].uses) {
      if (!dies(step.tensors[use.tensor]) || exists[use.tensor]) continue;
      exists[use.tensor] = true;
      live += step.tensors[use.tensor].bytes;
    }
    peak = std::max(peak, live);
    for (const auto t : hints[k].retire) live -= step.tensors[t].bytes;
  }
  return peak;
}

std::size_t operand_bytes(const Step& step, const Kernel& kernel) {
  std::size_t bytes = 0;
  for (const auto& use : kernel.uses) bytes += step.tensors[use.tensor].bytes;
  return bytes;
}

const Kernel& largest_kernel(const Step& step) {
  return *std::ranges::max_element(step.kernels, {},
                                   [&](const Kernel& kernel) { return operand_bytes(step, kernel); });
}

}  // namespace training
