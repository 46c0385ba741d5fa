// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/memory/tier_spec.hpp>

#include <utility>

namespace tier::tiers {
namespace {

TierSpec on_path(TierKind kind, std::string folder, Bytes size) {
  return {.kind = kind, .model = {}, .path = std::move(folder), .size = size, .faults = {}};
}
TierSpec on_path(TierKind kind, NewFile file, Bytes size) {
  auto spec = on_path(kind, std::move(file.path), size);
  spec.new_file = true;
  return spec;
}

}  // namespace

TierSpec dram(Bytes size) {
  return {.kind = TierKind::Dram, .model = {}, .path = {}, .size = size, .faults = {}};
}
TierSpec numa(std::string nodes, Bytes size) {
  auto spec = dram(size);
  spec.kind = TierKind::Numa;
  spec.nodes = std::move(nodes);
  return spec;
}
TierSpec pmem(std::string path, Bytes size) { return on_path(TierKind::Pmem, std::move(path), size); }
TierSpec pmem(NewFile path, Bytes size) { return on_path(TierKind::Pmem, std::move(path), size); }
TierSpec memkind(std::string kind, Bytes size) {
  return {.kind = TierKind::Memkind, .model = std::move(kind), .path = {}, .size = size, .faults = {}};
}
TierSpec role(std::string role, Bytes size) {
  return {.kind = TierKind::Role, .model = std::move(role), .path = {}, .size = size, .faults = {}};
}
TierSpec file(std::string folder, Bytes size) { return on_path(TierKind::File, std::move(folder), size); }
TierSpec file(NewFile path, Bytes size) { return on_path(TierKind::File, std::move(path), size); }
TierSpec mapped(std::string folder, Bytes size) { return on_path(TierKind::Mapped, std::move(folder), size); }
TierSpec mapped(NewFile path, Bytes size) { return on_path(TierKind::Mapped, std::move(path), size); }
TierSpec emulated(std::string model, Bytes size) {
  return {.kind = TierKind::Emulated, .model = std::move(model), .path = {}, .size = size, .faults = {}};
}
TierSpec simulated(std::string model, Bytes size) {
  return {.kind = TierKind::Simulated, .model = std::move(model), .path = {}, .size = size, .faults = {}};
}
}  // namespace tier::tiers
