// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/values/node_models.hpp"

#include <tier/memory/device_models.hpp>

#include <optional>

#include "memory/values/dram_model.hpp"

namespace tier {
namespace {

TierModel usual_model(NodeKind kind) {
  switch (kind) {
    case NodeKind::Dram:
      return dram_model;
    case NodeKind::Hbm:
      return {400e9, 400e9, std::chrono::nanoseconds{120}, 64, 64_B, true, false};
    case NodeKind::Cxl:
      return *find_model("cxl");
    case NodeKind::Persistent:
      break;
  }
  auto model = *find_model("optane");
  model.persistent = false;  // the system uses it as its own memory
  return model;
}

TierModel with_speed(TierModel model, const NodeSpeed& speed) {
  if (speed.read_bytes_per_second > 0) model.read_bytes_per_second = speed.read_bytes_per_second;
  if (speed.write_bytes_per_second > 0) model.write_bytes_per_second = speed.write_bytes_per_second;
  if (speed.read_latency.count() > 0) model.latency = speed.read_latency;
  return model;
}

bool is_complete(const NodeSpeed& speed) {
  return speed.read_bytes_per_second > 0 && speed.write_bytes_per_second > 0 &&
         speed.read_latency.count() > 0;
}

}  // namespace

TierModel model_of(const NumaNode& node) {
  return with_speed(with_speed(usual_model(node.kind), node.measured), node.speed);
}

SpeedSource speed_source_of(const NumaNode& node) {
  if (is_complete(node.speed)) return SpeedSource::Declared;
  return is_complete(node.measured) ? SpeedSource::Measured : SpeedSource::Assumed;
}

TierModel model_of_plain_memory(std::span<const NumaNode> nodes) {
  std::optional<TierModel> slowest;
  for (const auto& node : nodes) {
    if (!node.allowed || node.kind != NodeKind::Dram) continue;
    const auto model = model_of(node);
    if (!slowest || is_faster(*slowest, model)) slowest = model;
  }
  return slowest.value_or(dram_model);
}

}  // namespace tier
