// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "info.hpp"

#include <tier/core/config.hpp>
#include <tier/memory/tier_graph.hpp>

#include <nlohmann/json.hpp>

#include "machine_file.hpp"

namespace tier::tool {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Facility& facility) {
  Json json{{"usable", facility.usable}};
  if (!facility.usable) json["reason"] = facility.reason;
  return json;
}
Json json_of(const std::optional<Bytes>& size) { return size ? Json(size->count) : Json(nullptr); }

Json json_of(const NodeSpeed& s) {
  return {{"read_bytes_per_second", s.read_bytes_per_second},
          {"write_bytes_per_second", s.write_bytes_per_second},
          {"read_latency_ns", s.read_latency.count()},
          {"write_latency_ns", s.write_latency.count()}};
}

Json json_of(const NumaNode& n) {
  return {{"id", n.id},
          {"cpus", n.cpus},
          {"total", n.total.count},
          {"free", n.free.count},
          {"kind", to_string(n.kind)},
          {"speed", json_of(n.speed)},
          {"initiators", n.initiators},
          {"distances", n.distances},
          {"memory_tier", n.memory_tier ? Json(*n.memory_tier) : Json(nullptr)},
          {"allowed", n.allowed}};
}

Json json_of(const DaxDevice& d) {
  return {{"path", d.path},
          {"size", d.size.count},
          {"node", d.node ? Json(*d.node) : Json(nullptr)},
          {"persistent", d.is_persistent},
          {"is_memory", d.is_memory}};
}

Json json_of(const DaxMount& m) {
  return {{"directory", m.directory}, {"device", m.device}, {"size", m.size.count}, {"free", m.free.count}};
}

template <typename T>
Json array_of(const std::vector<T>& values) {
  Json json = Json::array();
  for (const auto& value : values) json.push_back(json_of(value));
  return json;
}

Json json_of(const TierGraph& graph) {
  Json places = Json::array();
  const auto index = [](std::optional<std::size_t> place) { return place ? Json(*place) : Json(nullptr); };
  for (std::size_t i = 0; i < graph.places().size(); ++i) {
    const auto& place = graph.places()[i];
    Json copies = Json::array();
    for (std::size_t to = 0; to < graph.places().size(); ++to)
      copies.push_back(graph.seconds_to_copy(i, to, 1_MiB));
    places.push_back({{"kind", to_string(place.kind)},
                      {"nodes", place.nodes},
                      {"read_bytes_per_second", place.model.read_bytes_per_second},
                      {"write_bytes_per_second", place.model.write_bytes_per_second},
                      {"latency_ns", place.model.latency.count()},
                      {"declared", place.declared},
                      {"total", place.total.count},
                      {"free", place.free.count},
                      {"seconds_to_copy_1_mib_to", copies},
                      {"demotes_to", index(graph.demotion_target(i))},
                      {"promotes_to", index(graph.promotion_target(i))}});
  }
  return places;
}

Json json_of(const Machine& m) {
  return {{"kernel", m.kernel},
          {"architecture", m.architecture},
          {"cpus", m.cpus},
          {"page_size", m.page_size.count},
          {"memory_total", m.memory_total.count},
          {"memory_available", m.memory_available.count},
          {"memory_limit", json_of(m.memory_limit)},
          {"nodes", array_of(m.nodes)},
          {"dax_devices", array_of(m.dax_devices)},
          {"dax_mounts", array_of(m.dax_mounts)},
          {"places", json_of(TierGraph{m})},
          {"transparent_huge_pages", m.transparent_huge_pages},
          {"huge_page_size", m.huge_page_size.count},
          {"huge_pages_reserved", m.huge_pages_reserved},
          {"huge_pages_free", m.huge_pages_free},
          {"io_uring", json_of(m.io_uring)},
          {"userfaultfd", json_of(m.userfaultfd)},
          {"locked_memory_limit", json_of(m.locked_memory_limit)},
          {"file_size_limit", json_of(m.file_size_limit)},
          {"root", m.root}};
}

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

Json json_of(const TierReport& t) {
  Json json{{"spec", t.text}, {"capacity", t.spec.size.count}};
  if (!t.error.empty()) {
    json["error"] = t.error;
    return json;
  }
  json["description"] = t.description;
  add_abilities(t.model, json);
  json["emulated"] = t.charges;
  add_rates(t.model, json);
  if (t.direct_io) json["direct_io"] = json_of(*t.direct_io);
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
  Json json{{"version", TIER_VERSION}, {"machine", json_of(info.machine)}, {"source", info.source}};
  json["tiers"] = Json::array();
  for (const auto& tier : info.tiers) json["tiers"].push_back(json_of(tier));
  json["windows"] = json_of(info.windows);
  json["models"] = models();
  json["machines"] = Json::array();
  for (const auto name : replay::machine_names())
    json["machines"].push_back(to_json(*replay::find_machine(name)));
  json["policies"] = info.policies;
  json["missing"] = Json::array();
  for (const auto& [what, why] : info.missing) json["missing"].push_back({{"what", what}, {"why", why}});
  return json.dump(2);
}

}  // namespace tier::tool
