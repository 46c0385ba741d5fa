// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/system/numa_discovery.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <sstream>
#include <utility>

#include "core/descriptor.hpp"
#include "memory/system/system_files.hpp"
#include "memory/values/node_list.hpp"

namespace tier {
namespace {

namespace fs = std::filesystem;

/// Returns the names in a folder; none if there is no such folder.
std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  const detail::StandardPlaces held;
  for (fs::directory_iterator it{folder, error}, end; !error && it != end; it.increment(error))
    names.push_back(it->path().filename().string());
  std::ranges::sort(names);
  return names;
}

/// Returns the number after `prefix`: 12 for the name `node12` and the prefix `node`.
std::optional<unsigned> id_in(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  const auto digits = name.substr(prefix.size());
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  const auto number = to_number(digits);
  return number && *number < max_nodes ? std::optional{static_cast<unsigned>(*number)} : std::nullopt;
}

bool contains(const std::vector<unsigned>& ids, unsigned id) {
  return std::ranges::find(ids, id) != ids.end();
}

/// Parses a list as the kernel writes it: `0-1,3`.
std::vector<unsigned> ids_in(std::string_view list) {
  NodeListProblem ignored;
  return parse_node_list(list, ignored);
}

/// Tells which nodes' memory this process may have.
class Allowed {
 public:
  explicit Allowed(const SystemPaths& paths) : cpuset_{cpuset_nodes(paths)}, bound_{bound_to(nullptr)} {}
  bool operator()(unsigned node) const {
    return (!cpuset_ || contains(*cpuset_, node)) && (!bound_ || contains(*bound_, node));
  }

 private:
  std::optional<std::vector<unsigned>> cpuset_, bound_;
};

std::string node_folder(const SystemPaths& paths) { return paths.sysfs + "/devices/system/node"; }

std::vector<unsigned> with_memory(const SystemPaths& paths) {
  return ids_in(read_line(node_folder(paths) + "/has_memory"));
}

std::optional<unsigned> memory_tier_of(unsigned node, const SystemPaths& paths) {
  const std::filesystem::path folder{paths.sysfs + "/devices/virtual/memory_tiering"};
  for (const auto& name : names_in(folder))
    if (const auto id = id_in(name, "memory_tier"))
      if (contains(ids_in(read_line(folder / name / "nodelist")), node)) return id;
  return std::nullopt;
}

std::vector<unsigned> read_numbers(const std::string& line) {
  std::vector<unsigned> numbers;
  std::istringstream text{line};
  for (unsigned number = 0; text >> number;) numbers.push_back(number);
  return numbers;
}

/// Reads the declared speed of a node from its folder.
NodeSpeed read_node_speed(const std::string& node_path) {
  const auto declared = [&](const char* what, std::size_t least, std::size_t most) {
    const auto number = to_number(read_line(node_path + "/access0/initiators/" + what)).value_or(0);
    return number >= least && number <= most ? number : 0;
  };
  constexpr double mebibyte = 1 << 20;  // the unit of the kernel's rates
  constexpr std::size_t most_rate = 100'000'000, most_latency = 1'000'000;
  const auto rate = [&](const char* what) {
    return mebibyte * static_cast<double>(declared(what, 1, most_rate));
  };
  const auto latency = [&](const char* what) {
    return std::chrono::nanoseconds{declared(what, 1, most_latency)};
  };
  return {rate("read_bandwidth"), rate("write_bandwidth"), latency("read_latency"), latency("write_latency")};
}

NumaNode read_node(unsigned id, const std::string& path) {
  NumaNode node{id, read_line(path + "/cpulist"), read_kib(path + "/meminfo", "MemTotal:"),
                read_kib(path + "/meminfo", "MemFree:")};
  node.speed = read_node_speed(path);
  for (const auto& name : names_in(path + "/access0/initiators"))
    if (const auto initiator = id_in(name, "node")) node.initiators.push_back(*initiator);
  return node;
}

/// Reads distances. Firmware gives one for each node of the system, with or without memory; ignores lists with zeros.
void read_distances(std::vector<NumaNode>& nodes, const std::vector<unsigned>& ids,
                    const std::string& folder) {
  for (auto& node : nodes) {
    const auto all = read_numbers(read_line(folder + "/node" + std::to_string(node.id) + "/distance"));
    if (all.size() != ids.size() || contains(all, 0)) continue;
    for (std::size_t i = 0; i < ids.size(); ++i)
      if (std::ranges::find(nodes, ids[i], &NumaNode::id) != nodes.end()) node.distances.push_back(all[i]);
  }
}

/// Returns the device's place in the tree of devices, which tells its parents.
std::string real_path(const std::string& link) {
  std::error_code error;
  const auto path = fs::canonical(link, error);
  return error ? std::string{} : path.string();
}

/// Returns the bandwidth as declared, else as measured; zero if unknown.
double bandwidth_of(const NumaNode& node) {
  const auto declared = node.speed.read_bytes_per_second;
  return declared > 0 ? declared : node.measured.read_bytes_per_second;
}

/// True if all files are DAX. False for `dax=never`, and for `dax=inode`, where only some files are.
bool is_dax(const std::string& options) { return lists(options, "dax") || lists(options, "dax=always"); }

}  // namespace

std::optional<std::vector<unsigned>> cpuset_nodes(const SystemPaths& paths) {
  auto status = open_text(paths.procfs + "/status");
  constexpr std::string_view key = "Mems_allowed_list:";
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(key)) {
      const auto begin = line.find_first_not_of(" \t", key.size());
      return ids_in(begin == std::string::npos ? std::string_view{} : std::string_view{line}.substr(begin));
    }
  return std::nullopt;
}

std::optional<std::vector<unsigned>> bound_to(const void* address) {
  constexpr std::size_t bits = 8 * sizeof(unsigned long);
  constexpr int mode_bind = 2, of_address = 2;  // MPOL_BIND, MPOL_F_ADDR
  std::array<unsigned long, max_nodes / bits> mask{};
  int mode = 0;
  if (::syscall(SYS_get_mempolicy, &mode, mask.data(), max_nodes, address,
                address != nullptr ? of_address : 0) != 0)
    return std::nullopt;
  constexpr int flags = 0x7 << 13;  // MPOL_F_STATIC_NODES and other flags
  if ((mode & ~flags) != mode_bind) return std::nullopt;
  std::vector<unsigned> nodes;
  for (unsigned node = 0; node < max_nodes; ++node)
    if ((mask.at(node / bits) >> (node % bits) & 1UL) != 0) nodes.push_back(node);
  return nodes;
}

std::vector<NumaNode> find_nodes(const SystemPaths& paths) {
  std::vector<NumaNode> nodes;
  const auto folder = node_folder(paths);
  std::vector<unsigned> ids;
  for (const auto& name : names_in(folder))
    if (const auto id = id_in(name, "node")) ids.push_back(*id);
  std::ranges::sort(ids);
  for (const auto id : ids)
    if (auto node = read_node(id, folder + "/node" + std::to_string(id)); node.total > 0_B)
      nodes.push_back(std::move(node));
  read_distances(nodes, ids, folder);

  const Allowed allowed{paths};
  const auto devices = find_dax_devices(paths);
  for (auto& node : nodes) {
    node.memory_tier = memory_tier_of(node.id, paths);
    node.allowed = allowed(node.id);
    for (const auto& device : devices)
      if (device.is_memory && device.node == node.id && device.is_persistent)
        node.kind = NodeKind::Persistent;
  }
  guess_kinds(nodes);
  return nodes;
}

void guess_kinds(std::span<NumaNode> nodes) {
  double fastest_with_cpus = 0;
  for (const auto& node : nodes)
    if (!node.cpus.empty()) fastest_with_cpus = std::max(fastest_with_cpus, bandwidth_of(node));
  for (auto& node : nodes) {
    if (node.kind == NodeKind::Persistent) continue;
    const bool fast = fastest_with_cpus > 0 && bandwidth_of(node) >= 2 * fastest_with_cpus;
    node.kind = !node.cpus.empty() ? NodeKind::Dram : fast ? NodeKind::Hbm : NodeKind::Cxl;
  }
}

std::vector<NumaNode> find_home_nodes(const SystemPaths& paths) {
  std::vector<NumaNode> nodes;
  const auto folder = node_folder(paths);
  const auto with_cpus = ids_in(read_line(folder + "/has_cpu"));
  const Allowed allowed{paths};
  for (const auto id : with_memory(paths)) {
    if (!contains(with_cpus, id) || !allowed(id)) continue;
    auto& node = nodes.emplace_back();
    node.id = id;
    node.speed = read_node_speed(folder + "/node" + std::to_string(id));
  }
  return nodes;
}

Bytes find_forbidden_memory(const SystemPaths& paths) {
  Bytes sum;
  const Allowed allowed{paths};
  for (const auto id : with_memory(paths))
    if (!allowed(id))
      sum += read_kib(node_folder(paths) + "/node" + std::to_string(id) + "/meminfo", "MemTotal:");
  return sum;
}

KernelTiering find_kernel_tiering(const SystemPaths& paths) {
  const auto balancing = to_number(read_line(paths.sysctl + "/kernel/numa_balancing")).value_or(0);
  return {static_cast<unsigned>(balancing),
          read_line(paths.sysfs + "/kernel/mm/numa/demotion_enabled") == "true"};
}

std::vector<DaxDevice> find_dax_devices(const SystemPaths& paths) {
  std::vector<DaxDevice> devices;
  const std::filesystem::path folder{paths.sysfs + "/bus/dax/devices"};
  for (const auto& name : names_in(folder)) {
    const auto path = (folder / name).string();
    DaxDevice device{"/dev/" + name, Bytes{to_number(read_line(path + "/size")).value_or(0)}, {}};
    if (device.size == 0_B) continue;  // a region's seed for future devices
    const auto node = to_number(read_line(path + "/target_node"));
    if (node && *node < max_nodes) device.node = static_cast<unsigned>(*node);
    device.is_memory = real_path(path + "/driver").ends_with("/kmem");
    device.is_persistent = real_path(path).find("/ndbus") != std::string::npos;
    devices.push_back(std::move(device));
  }
  return devices;
}

std::vector<DaxMount> find_dax_mounts(const SystemPaths& paths) {
  std::vector<DaxMount> mounts;
  for (auto& [root, directory, type, device, options] : read_mounts(paths.procfs + "/mountinfo", "dax")) {
    if (!is_dax(options)) continue;
    DaxMount mount{std::move(directory), std::move(device), {}, {}};
    std::error_code error;
    if (const auto space = fs::space(mount.directory, error); !error) {
      mount.size = Bytes{space.capacity};
      mount.free = Bytes{space.available};
    }
    mounts.push_back(std::move(mount));
  }
  return mounts;
}

}  // namespace tier
