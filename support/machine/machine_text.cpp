// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "machine/machine_text.hpp"

#include <tier/memory/tier_graph.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>

namespace tier::tool {
namespace {

std::string limit(const std::optional<Bytes>& size) { return size ? to_human(*size) : "none"; }
std::string limit(const std::optional<std::size_t>& count) { return count ? std::to_string(*count) : "none"; }

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text.append(text.empty() ? "" : ", ").append(word);
  return text.empty() ? "none" : text;
}

/// Formats `cxl, no CPUs, 25 GB/s read, 25 GB/s written, 300 ns, distances 17 10, memory tier 22`.
std::string text_of(const NumaNode& node) {
  std::string text{to_string(node.kind)};
  text += node.cpus.empty() ? ", no CPUs" : ", CPUs " + node.cpus;
  const auto& speed = node.speed;
  if (speed.read_bytes_per_second > 0) text += ", " + rate(speed.read_bytes_per_second) + " read";
  if (speed.write_bytes_per_second > 0) text += ", " + rate(speed.write_bytes_per_second) + " written";
  if (speed.read_latency.count() > 0) text += ", " + std::to_string(speed.read_latency.count()) + " ns";
  if (node.distances.size() > 1) {
    text += ", distances";
    for (const auto distance : node.distances) text += " " + std::to_string(distance);
  }
  if (node.memory_tier) text += ", memory tier " + std::to_string(*node.memory_tier);
  return node.allowed ? text : text + ", not for this process";
}

std::string text_of(const DaxDevice& device) {
  std::string text = to_human(device.size) + (device.is_persistent ? ", persistent" : "");
  if (device.node) text += ", of node " + std::to_string(*device.node);
  return text + (device.is_memory ? ", in use as the system's memory" : ", for programs to map");
}

std::string text_of(const KernelTiering& kernel) {
  static constexpr const char* balancing[] = {nullptr, "where they are used", "to faster nodes",
                                              "where they are used or to faster nodes"};
  std::string text;
  if (const auto* const to = balancing[kernel.numa_balancing % std::size(balancing)])
    text = to + (" (kernel.numa_balancing=" + std::to_string(kernel.numa_balancing) + ")");
  if (kernel.demotion)
    text += std::string{text.empty() ? "" : ", "} + "from a full node to a slower one (demotion)";
  return text.empty() ? "no" : text;
}

/// Formats `4.00 GiB by a control group, which has 1.00 GiB left`.
std::string text_of_limit(Bytes limit, const std::optional<Bytes>& left) {
  const auto text = to_human(limit) + " by a control group";
  return left && *left < limit ? text + ", which has " + to_human(*left) + " left" : text;
}

auto allowed_nodes(const Machine& m) { return std::ranges::count(m.nodes, true, &NumaNode::allowed); }

/// Lists the groups of nodes, if there are several.
std::string text_of(const TierGraph& graph) {
  if (graph.groups().size() < 2) return {};
  std::string text = "\ngroups of nodes, fastest first\n";
  for (const auto& group : graph.groups()) {
    std::string what{to_string(group.kind)};
    what += ", " + rate(group.model.read_bytes_per_second) + " read, " +
            rate(group.model.write_bytes_per_second) + " written, " +
            std::to_string(group.model.latency.count()) + " ns " + "(" +
            std::string{to_string(group.source)} + ")";
    text += line("node " + group.node_list(), what);
  }
  return text;
}

}  // namespace

std::string line(std::string_view what, std::string_view value) {
  std::string text{"  "};
  text.append(what);
  text.resize(std::max<std::size_t>(text.size() + 1, 26), ' ');
  return text.append(value).append("\n");
}

std::string rate(double bytes_per_second) {
  if (bytes_per_second <= 0) return "unknown";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g GB/s", bytes_per_second * 1e-9);
  return text.data();
}

std::string yes(const Facility& facility) { return facility.usable ? "yes" : "no: " + facility.reason; }

std::vector<std::string> machine_warnings(const Machine& m, bool full_windows) {
  std::vector<std::string> warnings;
  if (allowed_nodes(m) < 2) return warnings;
  const auto& kernel = m.kernel_tiering;
  if (full_windows && kernel.numa_balancing != 0)
    warnings.push_back("kernel.numa_balancing=" + std::to_string(kernel.numa_balancing) +
                       ": the kernel may move pages of full windows from their tier's node; "
                       "sysctl kernel.numa_balancing=0 keeps them");
  if (kernel.demotion)
    warnings.emplace_back(
        "demotion is on: where a node runs full, the kernel may move pages of its tiers to a slower one; "
        "echo false >/sys/kernel/mm/numa/demotion_enabled keeps them");
  return warnings;
}

std::vector<Missing> machine_missing(const Machine& m) {
  std::vector<Missing> missing;
  if (!m.io_uring.usable) missing.push_back({"io_uring: file tiers use threads", m.io_uring.reason});
  if (!m.userfaultfd.usable)
    missing.push_back({"userfaultfd: windows are restricted, the system pages them", m.userfaultfd.reason});
  if (allowed_nodes(m) < 2)
    missing.push_back({"a second NUMA node: no CXL or far memory is visible",
                       m.nodes.size() < 2 ? "the system shows one node"
                                          : "this process may use " + std::to_string(allowed_nodes(m)) +
                                                " of " + std::to_string(m.nodes.size()) + " nodes"});
  else if (!m.placement.usable)
    missing.push_back({"tiers on chosen nodes: all memory is one tier", m.placement.reason});
  if (m.transparent_huge_pages.empty() || m.transparent_huge_pages == "never")
    missing.push_back({"transparent huge pages: memory tiers are in small pages",
                       m.transparent_huge_pages.empty() ? "the kernel has none" : "they are set to never"});
  return missing;
}

std::string machine_text(const Machine& m) {
  std::string text = "machine\n";
  text += line("kernel", m.kernel + ", " + m.architecture);
  text += line("CPUs", std::to_string(m.cpus));
  text += line("memory", to_human(m.memory_available) + " available of " + to_human(m.memory_total));
  if (const auto available = available_memory(m); available < m.memory_available)
    text += line("  for this process", to_human(available));
  if (m.memory_limit) text += line("  limited to", text_of_limit(*m.memory_limit, m.memory_left));
  for (const auto& node : m.nodes)
    text += line("  node " + std::to_string(node.id),
                 to_human(node.free) + " free of " + to_human(node.total) + ", " + text_of(node));
  for (const auto& device : m.dax_devices) text += line("  " + device.path, text_of(device));
  for (const auto& mount : m.dax_mounts)
    text += line("  " + mount.directory, "DAX files on " + mount.device + ", " + to_human(mount.free) +
                                             " free of " + to_human(mount.size));
  if (m.nodes.size() > 1) text += line("the kernel moves pages", text_of(m.kernel_tiering));
  text += line("pages", to_human(m.page_size));
  text +=
      line("transparent huge pages", m.transparent_huge_pages.empty() ? "none" : m.transparent_huge_pages);
  text += line("huge pages reserved", std::to_string(m.huge_pages_reserved) + " of " +
                                          to_human(m.huge_page_size) + ", " +
                                          std::to_string(m.huge_pages_free) + " free");
  text += line("io_uring", yes(m.io_uring));
  text += line("userfaultfd", yes(m.userfaultfd));
  text += line("locked memory, limit", limit(m.locked_memory_limit));
  text += line("file size, limit", limit(m.file_size_limit));
  text += line("open files, limit", limit(m.open_files_limit));
  text += line("mappings, limit", limit(m.mappings_limit));
  text += line("capabilities", joined(m.capabilities));
  return text + line("root", m.root ? "yes" : "no") + text_of(TierGraph{m});
}

}  // namespace tier::tool
