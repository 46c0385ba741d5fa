// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/error.hpp>
#include <tier/core/request_size.hpp>
#include <tier/core/suggestion.hpp>
#include <tier/memory/discovery.hpp>
#include <tier/memory/tiers.hpp>

#include <array>
#include <tuple>

#include "memory/machine/suggested_tiers.hpp"
#include "memory/system/memory_need.hpp"
#include "memory/tiers/faulty_tier.hpp"
#include "memory/tiers/file_tiers.hpp"
#include "memory/tiers/memkind_tier.hpp"
#include "memory/tiers/memory_tiers.hpp"
#include "memory/tiers/pmem_tier.hpp"
#include "memory/values/dram_model.hpp"
#include "memory/values/node_list.hpp"
#include "memory/values/node_models.hpp"

namespace tier {
namespace {

using std::chrono::nanoseconds;

struct NamedModel {
  std::string_view name;
  TierModel model;
  std::string_view source;
};

constexpr std::array<NamedModel, 4> models{{
    {"optane", {29e9, 12e9, nanoseconds{300}, 16, 64_B, true, false}, "AutoTM's copy rates"},
    {"cxl",
     {25e9, 25e9, nanoseconds{300}, 32, 64_B, true, false},
     "of the order of published CXL 2.0 expanders"},
    {"nvme", {2.5e9, 2.5e9, nanoseconds{80'000}, 32, 4_KiB, false, false}, "a local NVMe disk: our choice"},
    {"redl", {19e9, 19e9, nanoseconds{200}, 16, 64_B, true, false}, "ReDL's slow memory"},
}};

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
  for (const auto& m : models) text.append(text.empty() ? "" : ", ").append(m.name);
  return text;
}

TierModel device_model(const TierSpec& spec) {
  if (const auto model = find_model(spec.model)) return *model;
  const auto known = joined_model_names();
  throw ConfigError{"unknown model" + detail::did_you_mean(spec.model, known), spec.model, 0, known};
}

[[noreturn]] void throw_built_without(const std::string& tier, const char* option, const char* library,
                                      const char* package) {
  throw ConfigError{"tier " + tier + " needs " + library + ", without which this libtier was built: " +
                    option + "=ON (on Debian the package " + package + ")"};
}

std::shared_ptr<const NumaSystem> system_of(const Machine* machine) {
  return std::make_shared<NumaSystem>(SystemPaths{},
                                      machine != nullptr ? machine->nodes : std::vector<NumaNode>{});
}

TierModel plain_memory(const Machine* machine) {
  return model_of_plain_memory(machine != nullptr ? machine->nodes : find_home_nodes({}));
}

std::unique_ptr<Tier> make_numa(const TierSpec& spec, const Machine* machine) {
  std::ignore = parse_node_list(spec.nodes);
  if (!NumaSystem::is_built_in())
    throw_built_without("numa:" + spec.nodes, "TIER_WITH_NUMA", "libnuma", "libnuma-dev");
  return make_numa_tier(spec, system_of(machine));
}

/// Returns the model of a kind, used if the system does not say on which node the memory is.
TierModel memkind_model(const std::string& kind) {
  if (kind.find('/') != std::string::npos) return pmem_model();
  if (kind.starts_with("DAX_KMEM")) return *find_model("optane");
  return kind.starts_with("HIGHEST_CAPACITY") ? *find_model("cxl") : dram_model;
}

std::unique_ptr<Tier> make_memkind(const TierSpec& spec, const Machine* machine) {
  if (!has_memkind()) throw_built_without("memkind", "TIER_WITH_MEMKIND", "memkind", "libmemkind-dev");
  return make_memkind_tier(spec, memkind_model(spec.model), file_model(true), system_of(machine));
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
      return make_numa(spec, machine);
    case TierKind::Pmem:
      if (!has_pmem()) throw_built_without("pmem", "TIER_WITH_PMEM", "libpmem", "libpmem-dev");
      return make_pmem_tier(spec, pmem_model(), file_model(true));
    case TierKind::Memkind:
      return make_memkind(spec, machine);
    case TierKind::Role:
      return make_sound_tier(resolve_role(spec, machine != nullptr ? *machine : discover()), machine);
    case TierKind::Simulated:
      break;
  }
  return make_simulated_tier("simulated:" + spec.model, device_model(spec), spec.size);
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
    throw ConfigError{"pages are an option of tiers of memory: dram, numa, emulated, and roles"};
  const bool asks_its_nodes = spec.kind == TierKind::Numa || spec.kind == TierKind::Memkind;
  if (spec.prefault && !asks_its_nodes) check_memory({&spec, 1});
  auto tier = make_sound_tier(spec, machine);
  if (spec.faults != nullptr) tier = std::make_unique<FaultyTier>(std::move(tier), spec.faults);
  return tier;
}

}  // namespace

namespace tiers {
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
}  // namespace tiers

std::unique_ptr<Tier> make_tier(const TierSpec& spec) { return make(spec, nullptr); }
std::unique_ptr<Tier> make_tier(const TierSpec& spec, const Machine& machine) { return make(spec, &machine); }

std::unique_ptr<Tier> make_simulated_tier(std::string name, const TierModel& model, Bytes size) {
  check_size(size);
  return std::make_unique<SimulatedTier>(std::move(name), model, size);
}

std::vector<std::string_view> model_names() {
  std::vector<std::string_view> names;
  names.reserve(models.size());
  for (const auto& m : models) names.push_back(m.name);
  return names;
}

std::optional<TierModel> find_model(std::string_view name) {
  for (const auto& m : models)
    if (m.name == name) return m.model;
  return std::nullopt;
}

std::string_view model_source(std::string_view name) {
  for (const auto& m : models)
    if (m.name == name) return m.source;
  return {};
}

}  // namespace tier
