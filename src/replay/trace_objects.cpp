// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/trace_objects.hpp"

#include <utility>

namespace tier::replay {

using trace::EventKind;
using trace::TensorIndex;
using trace::TensorKind;
using trace::Trace;

namespace {

/// Returns the tensors that a recording revives later.
std::unordered_set<TensorIndex> revived_later(const Trace& trace) {
  std::unordered_set<TensorIndex> revived;
  for (const auto event : trace.events()) {
    if (event.kind != EventKind::Hint || trace.name(trace.hint(event).hint) != revive_hint) continue;
    const auto tensors = trace.tensors_of(trace.hint(event));
    if (tensors.size() == 2) revived.insert(tensors[1]);
  }
  return revived;
}

}  // namespace

TraceObjects::TraceObjects(const Trace& trace, Manager& manager, Schedule& schedule)
    : trace_{trace},
      manager_{manager},
      schedule_{schedule},
      handles_(trace.tensors().size()),
      revived_later_{revived_later(trace)} {}

ObjectRef TraceObjects::make(TensorIndex tensor) {
  constexpr std::size_t alignment = 64;
  auto& handle = handles_[tensor];
  const auto& t = trace_.tensor(tensor);
  handle = manager_.create_empty(t.size, alignment, trace_.name(t.name));
  schedule_.own(handle.ref().object->block->id, tensor);
  if (t.kind != TensorKind::Parameter && t.kind != TensorKind::Gradient) alive_.push_back(tensor);
  return handle.ref();
}

void TraceObjects::let_go(TensorIndex tensor) {
  auto& handle = handles_[tensor];
  if (!handle) return;
  schedule_.disown(handle.ref().object->block->id);
  handle.reset();
}

void TraceObjects::place(const trace::Placement& placement) {
  auto& handle = handles_[placement.tensor];
  if (handle) return;
  const auto& t = trace_.tensor(placement.tensor);
  schedule_.expect(placement.tensor);
  handle = manager_.create(t.size, placement.alignment.count, trace_.name(t.name));
  schedule_.own(handle.ref().object->block->id, placement.tensor);
}

void TraceObjects::retire(std::span<const TensorIndex> tensors) {
  for (const auto t : tensors) {
    if (handles_[t] && revived_later_.count(t) > 0)
      manager_.retire(handles_[t].ref());
    else
      let_go(t);
  }
}

void TraceObjects::revive(std::span<const TensorIndex> tensors) {
  if (tensors.size() != 2 || !handles_[tensors[1]]) return;
  if (trace_.tensor(tensors[0]).size != trace_.tensor(tensors[1]).size) return;  // no recorder writes this
  handles_[tensors[0]] = std::move(handles_[tensors[1]]);
  schedule_.own(handles_[tensors[0]].ref().object->block->id, tensors[0]);
}

void TraceObjects::end_iteration() {
  for (const auto t : alive_) let_go(t);
  alive_.clear();
}

}  // namespace tier::replay
