// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trainer/tiered_memory.hpp"

#include <algorithm>
#include <utility>

namespace training {

bool moves_ahead(const TieredOptions& options, std::size_t computing, std::size_t cpus) {
  if (options.movers == 0) return false;
  if (!options.slow) return true;      // a recording has the hints of a run with a slow tier
  constexpr std::size_t few_cpus = 4;  // on which movers yield
  using enum tier::TierKind;
  const auto kind = options.slow->kind;
  const bool keeps_a_core_busy = kind != File && kind != Mapped && kind != Pmem;
  return !keeps_a_core_busy || computing < cpus || cpus > few_cpus;
}

tier::RuntimeOptions runtime_options(const TieredOptions& options) {
  std::vector<tier::TierSpec> tiers{tier::tiers::dram(options.fast)};
  if (options.slow) tiers.push_back(*options.slow);
  tiers.insert(tiers.end(), options.more.begin(), options.more.end());
  return {.tiers = std::move(tiers),
          .policy = options.policy,
          .threads = options.threads,
          .movers = options.movers};
}

TieredMemory::TieredMemory(const TieredOptions& options)
    : runtime_{runtime_options(options)}, moves_ahead_{options.movers > 0}, hints_{options.hints} {}

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
    // oneDNN takes inputs and outputs as plain pointers, hence the cast.
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
    auto& entry = slots_[use.slot];
    if (!entry.tensor) make_tensor(entry);
    auto& list = use.role == Role::Reads ? reads_ : use.role == Role::Updates ? updates_ : overwrites_;
    list.push_back(entry.tensor->object());
    ++operands_.count;
    operands_.bytes += entry.bytes;
  }
}

void TieredMemory::make_tensor(Entry& entry) {
  const tier::Shape shape{(entry.bytes + sizeof(float) - 1) / sizeof(float)};
  entry.tensor.emplace(runtime_, shape, entry.name);
}

Traffic traffic_of(const tier::Statistics& statistics, const Operands& operands) {
  Traffic traffic;
  traffic.operands = operands;
  traffic.operands.elsewhere = statistics.fetched_operands + statistics.in_place_operands;
  traffic.operands.bytes_elsewhere = statistics.fetched_operand_bytes + statistics.in_place_bytes;
  for (const auto& [from, to, cause, bytes, transfers] : statistics.moved) {
    traffic.bytes_moved[statistics.tiers[from].name + ">" + statistics.tiers[to].name] += bytes;
    if (from == to) continue;
    if (to == 0) traffic.bytes_in += bytes;
    if (from == 0) traffic.bytes_out += bytes;
  }
  traffic.in_place_bytes = statistics.in_place_bytes;
  traffic.operands.bytes_brought = traffic.bytes_in + traffic.in_place_bytes;
  traffic.stalled_s = static_cast<double>(statistics.stalled_ns) * 1e-9;
  traffic.moving_s = static_cast<double>(statistics.moving_ns) * 1e-9;
  for (const auto& tier : statistics.tiers) traffic.peaks.push_back({tier.name, tier.high_water.count});
  auto& dram = *std::ranges::find(traffic.peaks, "dram", &TierPeak::tier);  // with libtier's descriptors
  dram.overhead_bytes = statistics.metadata.count;
  dram.bytes += dram.overhead_bytes;
  return traffic;
}

}  // namespace training
