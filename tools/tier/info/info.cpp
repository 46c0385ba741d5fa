// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "info.hpp"

#include <tier/core/error.hpp>
#include <tier/manager/demotion.hpp>
#include <tier/memory/spec.hpp>
#include <tier/replay/machine_file.hpp>
#include <tier/runtime/policies.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <tuple>

namespace tier::tool {
namespace {

using namespace literals;

constexpr Bytes sample = 16_MiB;

std::string directory_of(const std::string& path) {
  if (std::error_code error; std::filesystem::is_directory(path, error)) return path;
  const auto parent = std::filesystem::path{path}.parent_path();
  return parent.empty() ? "." : parent.string();
}

TierReport look_at(TierSpec spec, const Machine& machine) {
  TierReport report;
  report.text = to_string(spec);
  spec.prefault = false;
  report.spec = spec;
  try {
    const auto tier = make_tier(spec, machine);
    // Reserves a sample, so that the description can say which pages the system gives. Without one it says nothing of them.
    if (tier->has_private_pages()) std::ignore = tier->reserve(0, std::min(tier->capacity(), sample).count);
    report.model = tier->model();
    report.description = tier->description();
    report.charges = tier->charges();
    report.has_private_pages = tier->has_private_pages();
    report.directory = tier->directory();
    if (spec.kind == TierKind::File || spec.kind == TierKind::Mapped)
      report.direct_io = discover_direct_io(directory_of(spec.path));
  } catch (const TierError& e) {
    report.error = e.what();
  } catch (const ConfigError& e) {
    report.error = e.what();
  }
  return report;
}

std::vector<MemkindReport> look_at_memkind(const Machine& machine) {
  std::vector<MemkindReport> reports;
  for (const auto kind : memkind_kinds()) {
    auto spec = tiers::memkind(std::string{kind}, 2_MiB);
    spec.prefault = false;
    const auto report = look_at(spec, machine);
    reports.push_back({std::string{kind}, report.description, report.error});
  }
  return reports;
}

std::optional<std::string> variable(const char* name) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::optional<std::string>{text} : std::nullopt;
}

/// Calls `read` and prefixes its errors with the name of the variable.
template <class Read>
auto of_variable(const char* name, Read&& read) {
  try {
    return read();
  } catch (const std::exception& error) {
    throw ConfigError{std::string{name} + ": " + error.what()};
  }
}

std::optional<WindowMode> asked_windows() {
  const auto environment = variable("TIER_WINDOWS");
  if (!environment) return {};
  if (const auto mode = window_mode_of(*environment)) return mode;
  throw ConfigError{"TIER_WINDOWS: \"" + *environment + "\" is neither full nor restricted"};
}

/// Returns the tiers that can be made, fastest first, in the order of a manager.
template <class Reports>
auto by_speed(Reports& tiers) {
  std::vector<decltype(&tiers.front())> sorted;
  for (auto& tier : tiers)
    if (tier.error.empty()) sorted.push_back(&tier);
  std::ranges::stable_sort(sorted, is_faster, [](const TierReport* t) { return t->model; });
  return sorted;
}

/// Fills in where blocks move, unless there are more tiers than a runtime can have.
void find_moves(std::vector<TierReport>& tiers) {
  const auto sorted = by_speed(tiers);
  if (sorted.size() > max_tiers) return;
  std::vector<TierModel> models;
  for (const auto* tier : sorted) models.push_back(tier->model);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    auto& tier = *sorted[i];
    tier.place = i + 1;
    for (const auto& other : tiers)
      tier.seconds_to_copy.push_back(other.error.empty() ? seconds_to_copy(tier.model, other.model, 1_MiB)
                                                         : 0);
    if (const auto order = demotion_order(models, static_cast<TierIndex>(i), 1_MiB); !order.empty())
      tier.demotes_to = static_cast<std::size_t>(sorted[order.front()] - tiers.data());
  }
}

/// Returns why windows over tiers cannot be full; empty if they can. \pre  the CPU can address one of the tiers
std::string why_not_full(const Machine& machine, const TierReport& fastest) {
  if (!fastest.has_private_pages)
    return "the fastest tier, " + fastest.text + ", has no pages that windows could take";
  return machine.userfaultfd.reason;
}

WindowReport windows_over(const std::vector<TierReport>& tiers, const Machine& machine,
                          std::optional<WindowMode> asked) {
  const auto sorted = by_speed(tiers);
  if (sorted.empty() || !sorted.front()->model.addressable) return {.why = "the CPU can reach no tier"};
  auto why = why_not_full(machine, *sorted.front());
  if (asked == WindowMode::Full && !why.empty())
    return {.why = "TIER_WINDOWS asks for full windows, which are not possible: " + why};
  if (asked == WindowMode::Restricted) why = "TIER_WINDOWS asks for it";
  if (why.empty()) return {.mode = WindowMode::Full};
  WindowReport report{.mode = WindowMode::Restricted, .why = why};
  for (const auto* tier : sorted)
    if (!tier->directory.empty()) report.directory = tier->directory, report.beside = tier->text;
  return report;
}

std::vector<Missing> missing_on(const Info& info) {
  auto missing = machine_missing(info.machine);
  for (const auto& tier : info.tiers)
    if (tier.direct_io && !tier.direct_io->usable)
      missing.push_back({"direct I/O for " + tier.text, tier.direct_io->reason});
  const auto unreachable = [](const TierReport& t) { return !t.error.empty() || !t.model.addressable; };
  if (std::all_of(info.tiers.begin(), info.tiers.end(), unreachable))
    missing.push_back(
        {"a tier that the CPU can reach: no runtime can be made of these", "add one such as dram:1GiB"});
  return missing;
}

bool has_file(const TierSpec& spec) {
  return spec.kind == TierKind::File || spec.kind == TierKind::Mapped || spec.kind == TierKind::Pmem;
}

/// Warns of file tiers that lie in memory or exceed their disk, and of tiers that need more memory than there is.
std::vector<std::string> tier_warnings(const std::vector<TierSpec>& specs) {
  std::vector<std::string> warnings;
  for (const auto& spec : specs) {
    if (!has_file(spec)) continue;
    const auto directory = directory_of(spec.path);
    if (lies_in_memory(directory)) {
      warnings.push_back(to_string(spec) + ": " + directory +
                         " lies in memory (tmpfs): the tier takes the memory that it "
                         "should spare; name a directory on a disk");
      continue;
    }
    std::error_code error;
    const auto space = std::filesystem::space(directory, error);
    if (!error && spec.size.count > space.available)
      warnings.push_back(to_string(spec) + ": the disk behind " + directory + " has " +
                         to_human(Bytes{space.available}) + " free of " + to_human(Bytes{space.capacity}) +
                         ": allocations fail when it is full; ask for less, or name another disk");
  }
  if (const auto lacking = lacking_memory(specs); !lacking.empty())
    warnings.push_back("a runtime of these tiers is refused: " + lacking);
  return warnings;
}

}  // namespace

Info collect(const std::optional<std::string>& tiers, const std::optional<std::string>& measured) {
  Info info;
  const auto asked = asked_windows();
  info.machine = discover();
  const auto environment = variable("TIER_TIERS"), measured_by_variable = variable("TIER_MEASURED");
  if (measured)
    replay::read_measured(*measured, info.machine);
  else if (measured_by_variable)
    of_variable("TIER_MEASURED", [&] { replay::read_measured(*measured_by_variable, info.machine); });
  info.source = tiers ? "--tiers" : environment ? "TIER_TIERS" : "found";
  const auto specs = tiers         ? parse_tiers(*tiers)
                     : environment ? of_variable("TIER_TIERS", [&] { return parse_tiers(*environment); })
                                   : suggest_tiers(info.machine);
  for (const auto& spec : specs) info.tiers.push_back(look_at(spec, info.machine));
  find_moves(info.tiers);
  info.memkind = look_at_memkind(info.machine);
  info.windows = windows_over(info.tiers, info.machine, asked);
  info.copy_kernel = copy_kernel();
  info.policies = policy_names();
  info.missing = missing_on(info);
  info.warnings = machine_warnings(info.machine, info.windows.mode == WindowMode::Full);
  std::ranges::copy(tier_warnings(specs), std::back_inserter(info.warnings));
  return info;
}

}  // namespace tier::tool
