// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The manager's objects that stand for a trace's tensors in a replay.
#include <tier/manager/manager.hpp>
#include <tier/trace/trace.hpp>

#include <span>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "replay/schedule.hpp"

namespace tier::replay {

/// The hint with which a recording revives an object: it names the tensor that the object is now, and the one it was.
inline constexpr std::string_view revive_hint = "revive";

/// Makes an object when the trace first needs a tensor, and lets it go when the tensor ends. Tells the schedule which block
/// is which tensor's.
/// \threadsafety  Externally synchronised.
class TraceObjects {
 public:
  /// \param trace, manager, schedule  outlive this
  TraceObjects(const trace::Trace& trace, Manager& manager, Schedule& schedule);

  /// Returns the tensor's object. If there is none, makes it without a place, so that it gets one when it is overwritten.
  [[nodiscard]] ObjectRef get(trace::TensorIndex tensor) {
    const auto& handle = handles_[tensor];
    return handle ? handle.ref() : make(tensor);
  }
  /// Returns the tensor's object; null if there is none.
  [[nodiscard]] ObjectRef find(trace::TensorIndex tensor) const noexcept { return handles_[tensor].ref(); }

  /// Makes an object with a place where a recorded program did, unless there is one. A revived object gets its place from
  /// the scope that overwrites it.
  void place(const trace::Placement& placement);
  /// Releases tensors. If the policy does not free early, they are garbage until the iteration ends. The handle stays if
  /// the recording revives the object later.
  void retire(std::span<const trace::TensorIndex> tensors);
  /// Gives an object to another tensor.   \param tensors  of a `revive_hint`
  void revive(std::span<const trace::TensorIndex> tensors);
  /// Lets go of the tensors that end with an iteration.
  void end_iteration();
  /// Lets go of all tensors.
  void clear() { handles_.clear(); }

 private:
  [[nodiscard]] ObjectRef make(trace::TensorIndex tensor);
  void let_go(trace::TensorIndex tensor);

  const trace::Trace& trace_;
  Manager& manager_;
  Schedule& schedule_;
  std::vector<ObjectHandle> handles_;      // by tensor
  std::vector<trace::TensorIndex> alive_;  // tensors that end with the iteration; some may have ended before
  std::unordered_set<trace::TensorIndex> revived_later_;
};

}  // namespace tier::replay
