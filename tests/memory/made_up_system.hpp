// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Folders with the files that /sys and /proc/self have on another machine.
#include "memory/system/numa_discovery.hpp"
#include "support/temporary_directory.hpp"

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

namespace tier::test {

class MadeUpSystem {
 public:
  struct Node {
    std::string cpus;
    Bytes size;
    std::string distances;
    NodeSpeed speed{};  ///< written in the kernel's units: MiB/s and ns
    std::vector<unsigned> initiators{0};
    std::optional<Bytes> free{};  ///< if empty, all memory is free
    Bytes cached{};               ///< of that, file caches, which the system would give up
  };

  /// Adds node `id`; a node of size zero has no memory.
  void add(unsigned id, const Node& node) {
    const auto folder = node_folder(id);
    write(folder + "/cpulist", node.cpus);
    write(folder + "/distance", node.distances);
    const auto entry = [id](const std::string& name, Bytes value) {
      return "Node " + std::to_string(id) + " " + name + ":       " + std::to_string(value.count / 1024) +
             " kB\n";
    };
    write(folder + "/meminfo", entry("MemTotal", node.size) +
                                   entry("MemFree", node.free.value_or(node.size)) +
                                   entry("Inactive(file)", node.cached) + entry("SReclaimable", 0_B));
    const auto rate = [](double r) { return std::to_string(static_cast<std::uint64_t>(r / (1 << 20))); };
    const auto access = folder + "/access0/initiators/";
    write(access + "read_bandwidth", rate(node.speed.read_bytes_per_second));
    write(access + "write_bandwidth", rate(node.speed.write_bytes_per_second));
    write(access + "read_latency", std::to_string(node.speed.read_latency.count()));
    write(access + "write_latency", std::to_string(node.speed.write_latency.count()));
    for (const auto initiator : node.initiators)
      std::filesystem::create_directories(access + "node" + std::to_string(initiator));
  }
  void add_memory_tier(unsigned id, const std::string& nodes) {
    write(paths().sysfs + "/devices/virtual/memory_tiering/memory_tier" + std::to_string(id) + "/nodelist",
          nodes);
  }
  /// \param parent  the device above it, such as `platform/ACPI0012:00/ndbus0/region0`
  void add_dax(const std::string& name, Bytes size, const std::string& node, const std::string& parent,
               const std::string& driver) {
    namespace fs = std::filesystem;
    const auto device = paths().sysfs + "/devices/" + parent + "/" + name;
    write(device + "/size", std::to_string(size.count));
    write(device + "/target_node", node);
    const auto drivers = paths().sysfs + "/bus/dax/drivers/" + driver;
    fs::create_directories(drivers);
    fs::create_directory_symlink(drivers, device + "/driver");
    fs::create_directories(paths().sysfs + "/bus/dax/devices");
    fs::create_directory_symlink(device, paths().sysfs + "/bus/dax/devices/" + name);
  }
  /// Sets the nodes with CPUs and those with memory.
  void set_home(const std::string& with_cpus, const std::string& with_memory) {
    write(paths().sysfs + "/devices/system/node/has_cpu", with_cpus);
    write(paths().sysfs + "/devices/system/node/has_memory", with_memory);
  }
  void allow(const std::string& nodes) {
    write(paths().procfs + "/status", "Name:\tprogram\nMems_allowed:\t1\nMems_allowed_list:\t" + nodes);
  }
  void set_kernel_tiering(const std::string& numa_balancing, const std::string& demotion) {
    write(paths().sysctl + "/kernel/numa_balancing", numa_balancing);
    write(paths().sysfs + "/kernel/mm/numa/demotion_enabled", demotion);
  }
  /// \param lines  as in /proc/self/cgroup: `0::/a/b`
  void set_groups(const std::string& lines) { write(paths().procfs + "/cgroup", lines); }
  /// \param file  such as `a/b/memory.max`
  void limit(const std::string& file, const std::string& value) {
    write(paths().sysfs + "/fs/cgroup/" + file, value);
  }
  void mount(const std::string& line) { write(paths().procfs + "/mountinfo", line); }

  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path{path}.parent_path());
    std::ofstream{path} << text << '\n';
  }
  [[nodiscard]] std::string node_folder(unsigned id) const {
    return paths().sysfs + "/devices/system/node/node" + std::to_string(id);
  }
  [[nodiscard]] SystemPaths paths() const {
    return {directory_.path() + "/sys", directory_.path() + "/proc", directory_.path() + "/sysctl",
            directory_.path() + "/zoneinfo"};
  }

 private:
  TemporaryDirectory directory_;
};

inline NodeSpeed speed(double bytes_per_second, int ns) {
  return {bytes_per_second, bytes_per_second, std::chrono::nanoseconds{ns}, std::chrono::nanoseconds{ns}};
}

}  // namespace tier::test
