// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/memory/device_models.hpp>

#include <array>

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

}  // namespace

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
