// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "step/liveness.hpp"

#include <algorithm>
#include <optional>

namespace training {
namespace {

/// When a tensor is used, by places of kernels.
struct Uses {
  std::optional<std::size_t> first;
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
      if (!uses.first) uses.first = k;
      if (kernel.phase == Phase::Forward)
        uses.last_forward = k;
      else if (!uses.first_later)
        uses.first_later = k;
    }
  }
  return all;
}

bool dies(const StepTensor& tensor) { return tensor.kind != Kind::Parameter; }

/// Small ones share blocks, of which others are in use: they stay where they are.
bool is_small(const StepTensor& tensor) { return !dies(tensor) && tensor.bytes < 64 << 10; }

void add_retired(const Step& step, const std::vector<Uses>& uses, std::vector<Hints>& hints) {
  for (TensorId t = 0; t < uses.size(); ++t) {
    if (dies(step.tensors[t]) && uses[t].last) hints[*uses[t].last].retire.push_back(t);
  }
}

/// Two uses with a pass between them, by places of kernels; those of the next step follow those of this one.
struct Gap {
  TensorId tensor;
  std::size_t from, to;
};

std::vector<Gap> gaps_of(const Step& step, const std::vector<Uses>& uses) {
  std::vector<Gap> gaps;
  for (TensorId t = 0; t < uses.size(); ++t) {
    const auto& [first, last, last_forward, first_later] = uses[t];
    if (!last || is_small(step.tensors[t])) continue;
    if (last_forward && first_later) gaps.push_back({t, *last_forward, *first_later});
    if (!dies(step.tensors[t])) gaps.push_back({t, *last, *first + step.kernels.size()});
  }
  return gaps;
}

/// Walks two steps, the second as every later one. `next` is the first gap whose tensor is not prefetched yet, `used` the
/// first whose is not used yet.
void add_prefetched(const Step& step, const std::vector<Gap>& gaps, std::size_t ahead,
                    std::vector<Hints>& hints) {
  const auto n = step.kernels.size();
  std::vector<Gap> all;
  for (const std::size_t begin : {std::size_t{0}, n, 2 * n})
    for (const auto& [tensor, from, to] : gaps) all.push_back({tensor, from + begin, to + begin});
  std::ranges::stable_sort(all, {}, &Gap::to);
  const auto bytes_of = [&](std::size_t gap) { return step.tensors[all[gap].tensor].bytes; };
  std::size_t next = 0;
  std::size_t used = 0;
  std::size_t held = 0;  // bytes of those between the two
  for (std::size_t k = 0; k < 2 * n; ++k) {
    for (; used < all.size() && all[used].to < k; ++used) {
      if (used < next)
        held -= bytes_of(used);
      else
        ++next;  // its kernel fetched it itself: it is larger than `ahead`
    }
    for (; next < all.size() && all[next].from < k && held + bytes_of(next) <= ahead; ++next) {
      held += bytes_of(next);
      if (k >= n) hints[k - n].prefetch.push_back(all[next].tensor);
    }
  }
}

}  // namespace

std::vector<Hints> hints_of(const Step& step, std::size_t ahead) {
  std::vector<Hints> hints(step.kernels.size());
  const auto uses = uses_of(step);
  add_retired(step, uses, hints);
  const auto gaps = gaps_of(step, uses);
  for (const auto& gap : gaps) hints[gap.from].archive.push_back(gap.tensor);
  add_prefetched(step, gaps, ahead, hints);
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
