// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "run/tiered_memory.hpp"

#include <utility>

namespace training {
namespace {

tier::RuntimeOptions runtime_options(const TieredOptions& options) {
  std::vector<tier::TierSpec> tiers{tier::tiers::dram(options.fast)};
  if (options.slow) tiers.push_back(*options.slow);
  return {.tiers = std::move(tiers), .policy = options.policy, .threads = options.threads};
}

}  // namespace

TieredMemory::TieredMemory(const TieredOptions& options) : runtime_{runtime_options(options)} {}

Slot TieredMemory::add(std::string name, std::size_t bytes) {
  slots_.push_back({std::move(name), bytes});
  return slots_.size() - 1;
}

void TieredMemory::run(std::string_view kernel, std::span<const SlotUse> uses, const Body& body) {
  sort_by_role(uses);
  const tier::KernelScope scope{kernel, tier::reads(reads_), tier::updates(updates_),
                                tier::overwrites(overwrites_)};
  data_.clear();
  for (const auto& use : uses) {
    auto& tensor = *slots_[use.slot].tensor;
    // oneDNN takes inputs and outputs alike as plain pointers, hence the cast.
    auto* data =
        use.role == Role::Reads ? const_cast<float*>(scope.in(tensor).data()) : scope.out(tensor).data();
    data_.push_back(reinterpret_cast<std::byte*>(data));
  }
  body(data_);
}

void TieredMemory::sort_by_role(std::span<const SlotUse> uses) {
  reads_.clear();
  updates_.clear();
  overwrites_.clear();
  for (const auto& use : uses) {
    auto& [name, bytes, tensor] = slots_[use.slot];
    if (!tensor) tensor.emplace(runtime_, tier::Shape{(bytes + sizeof(float) - 1) / sizeof(float)}, name);
    auto& list = use.role == Role::Reads ? reads_ : use.role == Role::Updates ? updates_ : overwrites_;
    list.push_back(tensor->object());
    used_bytes_ += bytes;
  }
}

Traffic TieredMemory::traffic() const {
  const auto statistics = runtime_.statistics();
  Traffic traffic;
  const auto elsewhere = statistics.fetched_operand_bytes + statistics.in_place_bytes;
  if (used_bytes_ > 0)
    traffic.fast_share = 1 - static_cast<double>(elsewhere) / static_cast<double>(used_bytes_);
  for (const auto& [from, to, cause, bytes, transfers] : statistics.moved)
    traffic.bytes_moved[statistics.tiers[from].name + ">" + statistics.tiers[to].name] += bytes;
  traffic.in_place_bytes = statistics.in_place_bytes;
  traffic.stalled_s = static_cast<double>(statistics.stalled_ns) * 1e-9;
  for (const auto& tier : statistics.tiers) traffic.peak_bytes += tier.high_water.count;
  traffic.overhead_bytes = statistics.metadata.count;
  traffic.peak_bytes += traffic.overhead_bytes;
  return traffic;
}

}  // namespace training
