// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "info.hpp"

#include <tier/core/config.hpp>
#include <tier/core/detail/json_text.hpp>
#include <tier/replay/machine_file.hpp>

#include <nlohmann/json.hpp>

namespace tier::tool {
namespace {

using Json = nlohmann::ordered_json;

void add_abilities(const TierModel& model, Json& json) {
  json["addressable"] = model.addressable;
  json["persistent"] = model.persistent;
}
void add_rates(const TierModel& model, Json& json) {
  json["read_bytes_per_second"] = model.read_bytes_per_second;
  json["write_bytes_per_second"] = model.write_bytes_per_second;
  json["latency_ns"] = model.latency.count();
  json["parallelism"] = model.parallelism;
  json["granularity"] = model.granularity.count;
}

Json json_of(const TierReport& t, const std::vector<TierReport>& all) {
  Json json{{"spec", t.text}, {"capacity", t.spec.size.count}};
  if (!t.error.empty()) {
    json["error"] = t.error;
    return json;
  }
  json["description"] = t.description;
  add_abilities(t.model, json);
  json["emulated"] = t.charges;
  add_rates(t.model, json);
  if (t.direct_io) json["direct_io"] = facility_json(*t.direct_io);
  json["demotes_to"] = t.demotes_to ? Json(all[*t.demotes_to].text) : Json(nullptr);
  json["place"] = t.place != 0 ? Json(t.place) : Json(nullptr);
  json["seconds_to_copy_1_mib_to"] = Json::array();
  for (const auto seconds : t.seconds_to_copy)
    json["seconds_to_copy_1_mib_to"].push_back(seconds > 0 ? Json(seconds) : Json(nullptr));
  return json;
}

Json json_of(const WindowReport& w) {
  Json json{{"mode", w.mode ? Json(to_string(*w.mode)) : Json(nullptr)}};
  if (!w.why.empty()) json["reason"] = w.why;
  if (w.mode == WindowMode::Restricted)
    json["mapped_file_in"] = w.directory.empty() ? Json(nullptr) : Json(w.directory);
  return json;
}

Json models() {
  Json all = Json::array();
  for (const auto name : model_names()) {
    const auto model = *find_model(name);
    Json json{{"name", name}, {"source", model_source(name)}};
    add_abilities(model, json);
    add_rates(model, json);
    all.push_back(std::move(json));
  }
  return all;
}

}  // namespace

std::string to_json(const Info& info) {
  Json json{{"version", TIER_VERSION}, {"machine", machine_json(info.machine)}, {"source", info.source}};
  json["tiers"] = Json::array();
  for (const auto& tier : info.tiers) json["tiers"].push_back(json_of(tier, info.tiers));
  json["memkind"] = Json::array();
  for (const auto& kind : info.memkind) {
    Json one{{"kind", kind.kind}, {"usable", kind.error.empty()}};
    one[kind.error.empty() ? "description" : "reason"] = kind.error.empty() ? kind.description : kind.error;
    json["memkind"].push_back(std::move(one));
  }
  json["windows"] = json_of(info.windows);
  json["models"] = models();
  json["machines"] = Json::array();
  for (const auto name : replay::machine_names())
    json["machines"].push_back(Json::parse(replay::to_json(*replay::find_machine(name))));
  json["copy_kernel"] = {
      {"name", info.copy_kernel.name},
      {"origin", info.copy_kernel.origin},
      {"file", info.copy_kernel.file.empty() ? Json(nullptr) : Json(info.copy_kernel.file)}};
  json["policies"] = info.policies;
  json["missing"] = Json::array();
  for (const auto& [what, why] : info.missing) json["missing"].push_back({{"what", what}, {"why", why}});
  json["warnings"] = info.warnings;
  return detail::json_text(json);
}

}  // namespace tier::tool
