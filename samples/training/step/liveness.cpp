// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "step/liveness.hpp"

#include <algorithm>
#include <optional>

namespace training {
namespace {

/// When a tensor is used, by places of kernels.
struct Uses {
  std::optional<std::size_t> last;
  std::optional<std::size_t> last_forward;
  std::optional<std::size_t> first_later;  ///< after the forward pass
};

std::vector<Uses> uses_of(const Step& step) {
  std::vector<Uses> all(step.tensors.size());
  for (std::size_t k = 0; k < step.kernels.size(); ++k) {
    const auto& kernel = step.kernels[k];
    for (const auto& use : kernel.uses) {
      auto& uses = all[use.tensor];
      uses.last = k;
      if (kernel.phase == Phase::Forward)
        uses.last_forward = k;
      else if (!uses.first_later)
        uses.first_later = k;
    }
  }
  return all;
}

bool dies(const StepTensor& tensor) { return tensor.kind != Kind::Parameter; }

void add_retired(const Step& step, const std::vector<Uses>& uses, std::vector<Hints>& hints) {
  for (TensorId t = 0; t < uses.size(); ++t) {
    if (dies(step.tensors[t]) && uses[t].last) hints[*uses[t].last].retire.push_back(t);
  }
}

/// Used in both passes: in the order of their first use in the later one.
std::vector<TensorId> kept_for_backward(const Step& step, const std::vector<Uses>& uses) {
  std::vector<TensorId> kept;
  for (TensorId t = 0; t < uses.size(); ++t) {
    if (dies(step.tensors[t]) && uses[t].last_forward && uses[t].first_later) kept.push_back(t);
  }
  std::ranges::stable_sort(kept, {}, [&](TensorId t) { return *uses[t].first_later; });
  return kept;
}

/// Walks the later kernels; `next` is the first of `kept` not prefetched yet, `used` the first not used yet.
void add_prefetched(const Step& step, const std::vector<Uses>& uses, const std::vector<TensorId>& kept,
                    std::size_t ahead, std::vector<Hints>& hints) {
  std::size_t next = 0;
  std::size_t used = 0;
  std::size_t held = 0;  // bytes of those between the two
  for (std::size_t k = 0; k < step.kernels.size(); ++k) {
    if (step.kernels[k].phase == Phase::Forward) continue;
    for (; used < kept.size() && *uses[kept[used]].first_later < k; ++used) {
      if (used < next)
        held -= step.tensors[kept[used]].bytes;
      else
        ++next;  // its kernel fetched it itself: it is larger than `ahead`
    }
    for (; next < kept.size() && held + step.tensors[kept[next]].bytes <= ahead; ++next) {
      held += step.tensors[kept[next]].bytes;
      hints[k].prefetch.push_back(kept[next]);
    }
  }
}

}  // namespace

std::vector<Hints> hints_of(const Step& step, std::size_t ahead) {
  std::vector<Hints> hints(step.kernels.size());
  const auto uses = uses_of(step);
  add_retired(step, uses, hints);
  const auto kept = kept_for_backward(step, uses);
  for (const auto t : kept) hints[*uses[t].last_forward].archive.push_back(t);
  add_prefetched(step, uses, kept, ahead, hints);
  return hints;
}

std::size_t peak_bytes(const Step& step) {
  std::size_t live = 0;
  for (const auto& parameter : step.parameters) live += step.tensors[parameter.tensor].bytes;
  std::vector<bool> exists(step.tensors.size());
  const auto hints = hints_of(step, 0);
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

std::size_t largest_kernel_bytes(const Step& step) {
  std::size_t largest = 0;
  for (const auto& kernel : step.kernels) {
    std::size_t bytes = 0;
    for (const auto& use : kernel.uses) bytes += step.tensors[use.tensor].bytes;
    largest = std::max(largest, bytes);
  }
  return largest;
}

}  // namespace training
