// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/memory/tier_graph.hpp>

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "machine/machine_text.hpp"

namespace tier::tool {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const std::optional<Bytes>& size) { return size ? Json(size->count) : Json(nullptr); }

Json json_of(const std::optional<std::size_t>& count) { return count ? Json(*count) : Json(nullptr); }

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
          {"measured", json_of(n.measured)},
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
  Json groups = Json::array();
  for (std::size_t i = 0; i < graph.groups().size(); ++i) {
    const auto& group = graph.groups()[i];
    Json copies = Json::array();
    for (std::size_t to = 0; to < graph.groups().size(); ++to)
      copies.push_back(graph.seconds_to_copy(i, to, 1_MiB));
    groups.push_back({{"kind", to_string(group.kind)},
                      {"nodes", group.nodes},
                      {"read_bytes_per_second", group.model.read_bytes_per_second},
                      {"write_bytes_per_second", group.model.write_bytes_per_second},
                      {"latency_ns", group.model.latency.count()},
                      {"speed_is", to_string(group.source)},
                      {"total", group.total.count},
                      {"free", group.free.count},
                      {"seconds_to_copy_1_mib_to", copies}});
  }
  return groups;
}

}  // namespace

nlohmann::ordered_json facility_json(const Facility& facility) {
  Json json{{"usable", facility.usable}};
  if (!facility.usable) json["reason"] = facility.reason;
  return json;
}

nlohmann::ordered_json machine_json(const Machine& m) {
  return {{"kernel", m.kernel},
          {"architecture", m.architecture},
          {"cpus", m.cpus},
          {"page_size", m.page_size.count},
          {"memory_total", m.memory_total.count},
          {"memory_available", m.memory_available.count},
          {"memory_limit", json_of(m.memory_limit)},
          {"memory_left", json_of(m.memory_left)},
          {"nodes", array_of(m.nodes)},
          {"kernel_tiering",
           {{"numa_balancing", m.kernel_tiering.numa_balancing}, {"demotion", m.kernel_tiering.demotion}}},
          {"dax_devices", array_of(m.dax_devices)},
          {"dax_mounts", array_of(m.dax_mounts)},
          {"node_groups", json_of(TierGraph{m})},
          {"transparent_huge_pages", m.transparent_huge_pages},
          {"huge_page_size", m.huge_page_size.count},
          {"huge_pages_reserved", m.huge_pages_reserved},
          {"huge_pages_free", m.huge_pages_free},
          {"io_uring", facility_json(m.io_uring)},
          {"userfaultfd", facility_json(m.userfaultfd)},
          {"placement", facility_json(m.placement)},
          {"locked_memory_limit", json_of(m.locked_memory_limit)},
          {"file_size_limit", json_of(m.file_size_limit)},
          {"open_files_limit", json_of(m.open_files_limit)},
          {"mappings_limit", json_of(m.mappings_limit)},
          {"capabilities", m.capabilities},
          {"root", m.root}};
}

}  // namespace tier::tool
