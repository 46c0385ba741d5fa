// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/schedule.hpp"

namespace tier::replay {

Schedule::Schedule(const trace::Trace& trace, unsigned passes)
    : trace_{trace},
      first_(trace.tensors().size() + 1),
      next_(trace.tensors().size()),
      passed_(trace.tensors().size()),
      passes_{passes} {
  for (const auto& kernel : trace.kernels())
    for (const auto& operand : trace.operands(kernel)) ++first_[operand.tensor + 1];
  for (std::size_t t = 0; t + 1 < first_.size(); ++t) first_[t + 1] += first_[t];
  uses_.resize(first_.back());
  for (std::size_t t = 0; t < next_.size(); ++t) next_[t] = first_[t];
  for (std::uint32_t k = 0; k < trace.kernels().size(); ++k)
    for (const auto& operand : trace.operands(trace.kernels()[k])) uses_[next_[operand.tensor]++] = k;
  for (std::size_t t = 0; t < next_.size(); ++t) next_[t] = first_[t];
}

void Schedule::begin(const trace::Kernel& kernel) {
  for (const auto& operand : trace_.operands(kernel)) {
    auto& next = next_[operand.tensor];
    if (++next < first_[operand.tensor + 1]) continue;
    next = first_[operand.tensor];
    ++passed_[operand.tensor];
  }
}

std::uint64_t Schedule::next_use(BlockId block) const noexcept {
  const auto found = tensors_.find(block);
  if (found == tensors_.end() && !expected_) return never_used;
  const auto t = found == tensors_.end() ? *expected_ : found->second;
  if (first_[t] == first_[t + 1] || passed_[t] >= passes_) return never_used;
  return std::uint64_t{passed_[t]} * trace_.kernels().size() + uses_[next_[t]];
}

}  // namespace tier::replay
