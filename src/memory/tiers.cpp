// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/error.hpp>
#include <tier/core/request_size.hpp>
#include <tier/core/suggestion.hpp>
#include <tier/memory/discovery.hpp>
#include <tier/memory/tiers.hpp>

#include <utility>

#include "memory/machine/roles.hpp"
#include "memory/system/memory_check.hpp"
#include "memory/system/numa_discovery.hpp"
#include "memory/tiers/dram_tier.hpp"
#include "memory/tiers/emulated_tier.hpp"
#include "memory/tiers/faulty_tier.hpp"
#include "memory/tiers/file_tier.hpp"
#include "memory/tiers/mapped_tier.hpp"
#include "memory/tiers/memkind_tier.hpp"
#include "memory/tiers/numa_tier.hpp"
#include "memory/tiers/pmem_tier.hpp"
#include "memory/tiers/simulated_tier.hpp"
#include "memory/values/dram_model.hpp"
#include "memory/values/node_models.hpp"

namespace tier {
namespace {

using std::chrono::nanoseconds;

/// Returns the model of a local NVMe disk, used if this one has not been measured.
constexpr TierModel file_model(bool addressable) {
  return {2.5e9, 2.5e9, nanoseconds{80'000}, 32, 4_KiB, addressable, false};
}

/// Returns the model of persistent memory: Optane's.
TierModel pmem_model() {
  auto model = *find_model("optane");
  model.persistent = true;
  return model;
}

std::string joined_model_names() {
  std::string text;
  for (const auto name : model_names()) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

TierModel device_model(const TierSpec& spec) {
  if (const auto model = find_model(spec.model)) return *model;
  const auto known = joined_model_names();
  throw ConfigError{"unknown model" + detail::did_you_mean(spec.model, known), spec.model, 0, known};
}

std::vector<NumaNode> measured_nodes(const Machine* machine) {
  return machine != nullptr ? machine->nodes : std::vector<NumaNode>{};
}

TierModel plain_memory(const Machine* machine) {
  return model_of_plain_memory(machine != nullptr ? machine->nodes : find_home_nodes({}));
}

/// Returns the model of a kind, used if the system does not say on which node the memory is.
TierModel memkind_model(const std::string& kind) {
  if (kind.find('/') != std::string::npos) return pmem_model();
  if (kind.starts_with("DAX_KMEM")) return *find_model("optane");
  return kind.starts_with("HIGHEST_CAPACITY") ? *find_model("cxl") : dram_model;
}

std::unique_ptr<Tier> make_memkind(const TierSpec& spec, const Machine* machine) {
  auto system = std::make_shared<NumaSystem>(SystemPaths{}, measured_nodes(machine));
  return make_memkind_tier(spec, memkind_model(spec.model), file_model(true), std::move(system));
}

bool has_pages(TierKind kind) {
  return kind == TierKind::Dram || kind == TierKind::Numa || kind == TierKind::Emulated ||
         kind == TierKind::Role;
}

/// \param machine  the machine on which the tier is made; null: the system is asked for what is needed
std::unique_ptr<Tier> make_sound_tier(const TierSpec& spec, const Machine* machine) {
  switch (spec.kind) {
    case TierKind::Dram:
      return std::make_unique<DramTier>(spec, "dram", plain_memory(machine));
    case TierKind::File:
      return std::make_unique<FileTier>(spec, "file", file_model(false));
    case TierKind::Mapped:
      return std::make_unique<MappedTier>(spec, "mapped", file_model(true));
    case TierKind::Emulated:
      return std::make_unique<EmulatedTier>(spec, "emulated:" + spec.model, device_model(spec));
    case TierKind::Numa:
      return make_numa_tier(spec, measured_nodes(machine));
    case TierKind::Pmem:
      return make_pmem_tier(spec, pmem_model(), file_model(true));
    case TierKind::Memkind:
      return make_memkind(spec, machine);
    case TierKind::Role:
      return make_sound_tier(resolve_role(spec, machine != nullptr ? *machine : discover()), machine);
    case TierKind::Simulated:
      return make_simulated_tier("simulated:" + spec.model, device_model(spec), spec.size);
  }
  throw ConfigError{"kind " + std::to_string(static_cast<unsigned>(spec.kind)) +
                    " of a tier is unknown; functions in tier::tiers make specs of those that there are"};
}

/// Checks only for impossible sizes; the system decides how much a process can have.
void check_size(Bytes size) {
  if (size == 0_B) throw ConfigError{"a tier needs a size above zero"};
  if (size.count > detail::largest_request)
    throw ConfigError{"a tier of " + std::to_string(size.count) + " bytes; allowed: less than 8 EiB"};
}

std::unique_ptr<Tier> make(const TierSpec& spec, const Machine* machine) {
  check_size(spec.size);
  if (spec.pages != PageKind::Huge && !has_pages(spec.kind))
    throw ConfigError{"the option pages is for tiers of memory only: dram, numa, emulated, and roles"};
  const bool asks_its_nodes = spec.kind == TierKind::Numa || spec.kind == TierKind::Memkind;
  if (spec.prefault && !asks_its_nodes) check_memory({&spec, 1});
  auto tier = make_sound_tier(spec, machine);
  if (spec.faults != nullptr) tier = std::make_unique<FaultyTier>(std::move(tier), spec.faults);
  return tier;
}

}  // namespace

std::unique_ptr<Tier> make_tier(const TierSpec& spec) { return make(spec, nullptr); }
std::unique_ptr<Tier> make_tier(const TierSpec& spec, const Machine& machine) { return make(spec, &machine); }

std::unique_ptr<Tier> make_simulated_tier(std::string name, const TierModel& model, Bytes size) {
  check_size(size);
  return std::make_unique<SimulatedTier>(std::move(name), model, size);
}

}  // namespace tier
