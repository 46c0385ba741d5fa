// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/detail/json_text.hpp>
#include <tier/core/error.hpp>
#include <tier/core/input_file.hpp>
#include <tier/core/output_file.hpp>
#include <tier/replay/machine_file.hpp>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "memory/system/numa_discovery.hpp"

namespace tier::replay {
namespace {

using Json = nlohmann::ordered_json;

/// Rounds a time. A value out of range stays so, and `Machine::check` refuses it.
std::chrono::nanoseconds whole_ns(double time) {
  return std::chrono::nanoseconds{std::llround(std::clamp(time, -1.0, 1e15 + 1))};
}

/// Reads the members of one JSON object, each of which must be known, and of the right kind.
class Members {
 public:
  Members(const Json& json, std::string where) : json_{json}, where_{std::move(where)} {
    if (!json.is_object()) fail("is not an object");
  }

  template <class T>
  void read(const char* name, T& value) {
    if (const Json* const found = find(name)) take(name, *found, value);
  }
  template <class T>
  void require(const char* name, T& value) {
    const Json* const found = find(name);
    if (found == nullptr) fail(std::string{"lacks "} + name);
    take(name, *found, value);
  }
  /// Calls `each` with every element of a list, which may be missing.
  void for_each(const char* name, auto&& each) {
    const Json* const found = find(name);
    if (found == nullptr) return;
    if (!found->is_array()) fail(std::string{name} + " is not a list");
    for (std::size_t i = 0; i < found->size(); ++i)
      each(Members{(*found)[i], where_ + "." + name + "[" + std::to_string(i) + "]"});
  }
  /// \throws  if there are members that were not asked for
  void end() const {
    for (const auto& [name, value] : json_.items())
      if (known_.count(name) == 0) fail("has an unknown member " + name);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw ConfigError{where_ + ' ' + what}; }
  const Json* find(const char* name) {
    known_.insert(name);
    const auto found = json_.find(name);
    return found != json_.end() ? &*found : nullptr;
  }
  void take(const char* name, const Json& json, std::string& value) const {
    if (!json.is_string()) fail(std::string{name} + " is not a text");
    value = json.get<std::string>();
  }
  void take(const char* name, const Json& json, double& value) const {
    if (!json.is_number()) fail(std::string{name} + " is not a number");
    value = json.get<double>();
  }
  void take(const char* name, const Json& json, std::chrono::nanoseconds& value) const {
    double number = 0;
    take(name, json, number);
    value = whole_ns(number);
  }
  void take(const char* name, const Json& json, bool& value) const {
    if (!json.is_boolean()) fail(std::string{name} + " is neither true nor false");
    value = json.get<bool>();
  }
  void take(const char* name, const Json& json, unsigned& value) const {
    if (!json.is_number_unsigned() || json.get<std::uint64_t>() > 0xFFFF'FFFF)
      fail(std::string{name} + " is not a whole number from 0 to 4294967295");
    value = json.get<unsigned>();
  }

  const Json& json_;
  std::string where_;
  std::set<std::string, std::less<>> known_;
};

Json json_of(const Device& d) {
  return {{"name", d.name},
          {"source", d.source},
          {"read", d.read},
          {"store", d.store},
          {"copy_read", d.copy_read},
          {"copy_write", d.copy_write},
          {"mover_read", d.mover_read},
          {"mover_write", d.mover_write},
          {"latency_ns", static_cast<double>(d.latency.count())},
          {"parallelism", d.parallelism},
          {"row_read_ns", d.row_read.count()},
          {"row_write_ns", d.row_write.count()},
          {"link", d.link},
          {"addressable", d.addressable},
          {"persistent", d.persistent}};
}

Device device_of(Members members) {
  Device d;
  members.require("name", d.name);
  members.read("source", d.source);
  members.require("read", d.read);
  d.store = d.copy_read = d.mover_read = d.read;
  members.read("store", d.store);
  d.copy_write = d.mover_write = d.store;
  members.read("copy_read", d.copy_read);
  members.read("copy_write", d.copy_write);
  members.read("mover_read", d.mover_read);
  members.read("mover_write", d.mover_write);
  members.require("latency_ns", d.latency);
  members.read("row_read_ns", d.row_read);
  members.read("row_write_ns", d.row_write);
  members.read("parallelism", d.parallelism);
  members.read("link", d.link);
  members.read("addressable", d.addressable);
  members.read("persistent", d.persistent);
  members.end();
  return d;
}

}  // namespace

std::string MachineToJson::operator()(const Machine& m) const {
  Json json{{"name", m.name},
            {"source", m.source},
            {"cores", m.cores},
            {"operations", m.operations},
            {"lost_to_mover", m.lost_to_mover},
            {"copy_start_ns", m.copy_start.count()},
            {"row_lookup_ns", m.row_lookup.count()},
            {"row_update_ns", m.row_update.count()},
            {"row_announce_ns", m.row_announce.count()}};
  json["devices"] = Json::array();
  for (const auto& d : m.devices) json["devices"].push_back(json_of(d));
  json["ops"] = Json::array();
  for (const auto& o : m.ops)
    json["ops"].push_back(
        {{"op", o.op}, {"efficiency", o.efficiency}, {"reads", o.reads}, {"writes", o.writes}});
  json["slow_downs"] = Json::array();
  for (const auto& s : m.slow_downs)
    json["slow_downs"].push_back(
        {{"device", s.device}, {"op", s.op}, {"inputs", s.inputs}, {"outputs", s.outputs}, {"both", s.both}});
  return detail::json_text(json);
}

Machine parse_machine(const std::string& text, const std::string& name) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::exception& error) {  // also for a number that is too large
    throw ConfigError{name + " is not JSON: " + error.what()};
  }
  Machine m;
  Members members{json, name + ": machine"};
  members.require("name", m.name);
  members.read("source", m.source);
  members.read("cores", m.cores);
  members.require("operations", m.operations);
  members.read("lost_to_mover", m.lost_to_mover);
  members.read("copy_start_ns", m.copy_start);
  members.read("row_lookup_ns", m.row_lookup);
  members.read("row_update_ns", m.row_update);
  members.read("row_announce_ns", m.row_announce);
  members.for_each("devices", [&](Members each) { m.devices.push_back(device_of(std::move(each))); });
  members.for_each("ops", [&](Members each) {
    auto& o = m.ops.emplace_back();
    each.require("op", o.op);
    each.read("efficiency", o.efficiency);
    each.read("reads", o.reads);
    each.read("writes", o.writes);
    each.end();
  });
  members.for_each("slow_downs", [&](Members each) {
    auto& s = m.slow_downs.emplace_back();
    each.require("device", s.device);
    each.require("op", s.op);
    each.read("inputs", s.inputs);
    each.read("outputs", s.outputs);
    each.read("both", s.both);
    each.end();
  });
  members.end();
  try {
    m.check();
  } catch (const ConfigError& error) {
    throw ConfigError{name + ": " + error.what()};
  }
  return m;
}

Machine read_machine(const std::string& path) {
  constexpr Bytes most = 64_MiB;
  return parse_machine(read_text_file(path, most), path);
}

void write_machine(const Machine& machine, const std::string& path) {
  write_file(path, to_json(machine) + '\n');
}

void read_measured(const std::string& path, tier::Machine& machine) {
  const auto measured = read_machine(path);
  bool is_any = false;
  for (auto& node : machine.nodes)
    if (const auto* const device = measured.find("numa:" + std::to_string(node.id))) {
      node.measured = {device->read, device->store, device->latency, device->latency};
      is_any = true;
    }
  if (!is_any)
    throw ConfigError{path + ": none of its devices is a node of this machine, such as numa:" +
                      std::to_string(machine.nodes.front().id)};
  guess_kinds(machine.nodes);
}

}  // namespace tier::replay
