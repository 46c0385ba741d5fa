// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The uses of each tensor in a trace, known before the replay.
#include <tier/replay/replay.hpp>
#include <tier/trace/trace.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <unordered_map>
#include <vector>

namespace tier::replay {

/// Tells the next use of each tensor as a replay goes on.
/// \threadsafety  Externally synchronised.
class Schedule final : public FutureUses {
 public:
  Schedule(const trace::Trace& trace, unsigned passes);

  /// Notes that a kernel has begun: its operands' next uses are those after it.
  void begin(const trace::Kernel& kernel);
  /// Names the tensor of the next block to be made, because policies ask about it before it has an owner.
  void expect(trace::TensorIndex tensor) { expected_ = tensor; }
  void own(BlockId block, trace::TensorIndex tensor) {
    tensors_[block] = tensor;
    expected_.reset();
  }
  void disown(BlockId block) { tensors_.erase(block); }

  [[nodiscard]] std::uint64_t next_use(BlockId block) const noexcept override;

 private:
  const trace::Trace& trace_;
  std::vector<std::uint32_t> uses_;    // kernels that use a tensor, in order, one tensor after the other
  std::vector<std::uint32_t> first_;   // start of each tensor's uses in uses_; one more at the end
  std::vector<std::uint32_t> next_;    // next use of each tensor, as an index into uses_
  std::vector<std::uint32_t> passed_;  // passes over each tensor's uses that have ended
  unsigned passes_;
  std::unordered_map<BlockId, trace::TensorIndex> tensors_;
  std::optional<trace::TensorIndex> expected_;
};

}  // namespace tier::replay
