// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "info.hpp"

#include <tier/memory/tier_graph.hpp>
#include <tier/replay/machine.hpp>

#include <algorithm>
#include <array>
#include <cstdio>

namespace tier::tool {
namespace {

std::string line(std::string_view what, std::string_view value) {
  std::string text{"  "};
  text.append(what);
  text.resize(std::max<std::size_t>(text.size() + 1, 24), ' ');
  return text.append(value).append("\n");
}

std::string rate(double bytes_per_second) {
  if (bytes_per_second <= 0) return "unknown";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g GB/s", bytes_per_second * 1e-9);
  return text.data();
}

std::string teraflops(double operations) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g TFLOP/s", operations * 1e-12);
  return text.data();
}

std::string yes(const Facility& facility) { return facility.usable ? "yes" : "no: " + facility.reason; }
std::string limit(const std::optional<Bytes>& size) { return size ? to_human(*size) : "none"; }

/// `cxl, no CPUs, 25 GB/s read, 25 GB/s written, 300 ns, memory tier 22`
std::string text_of(const NumaNode& node) {
  std::string text{to_string(node.kind)};
  text += node.cpus.empty() ? ", no CPUs" : ", CPUs " + node.cpus;
  const auto& speed = node.speed;
  if (speed.read_bytes_per_second > 0) text += ", " + rate(speed.read_bytes_per_second) + " read";
  if (speed.write_bytes_per_second > 0) text += ", " + rate(speed.write_bytes_per_second) + " written";
  if (speed.read_latency.count() > 0) text += ", " + std::to_string(speed.read_latency.count()) + " ns";
  if (node.memory_tier) text += ", memory tier " + std::to_string(*node.memory_tier);
  return node.allowed ? text : text + ", not for this process";
}

std::string text_of(const DaxDevice& device) {
  std::string text = to_human(device.size) + (device.is_persistent ? ", persistent" : "");
  if (device.node) text += ", of node " + std::to_string(*device.node);
  return text + (device.is_memory ? ", in use as the system's memory" : ", for programs to map");
}

/// Who copies best to whom, where there are several places.
std::string text_of(const TierGraph& graph) {
  if (graph.places().size() < 2) return {};
  std::string text = "\nplaces, fastest first\n";
  const auto name = [&](std::size_t place) { return "node " + graph.places()[place].node_list(); };
  for (std::size_t i = 0; i < graph.places().size(); ++i) {
    const auto& place = graph.places()[i];
    std::string what{to_string(place.kind)};
    what += ", " + rate(place.model.read_bytes_per_second) + " read, " +
            rate(place.model.write_bytes_per_second) + " written, " +
            std::to_string(place.model.latency.count()) + " ns " +
            (place.declared ? "(firmware)" : "(assumed)");
    if (const auto to = graph.demotion_target(i)) what += ", copies best to " + name(*to);
    text += line(name(i), what);
  }
  return text;
}

std::string text_of(const Machine& m) {
  std::string text = "machine\n";
  text += line("kernel", m.kernel + ", " + m.architecture);
  text += line("CPUs", std::to_string(m.cpus));
  text += line("memory", to_human(m.memory_available) + " available of " + to_human(m.memory_total));
  if (m.memory_limit) text += line("  limited to", to_human(*m.memory_limit) + " by a control group");
  for (const auto& node : m.nodes)
    text += line("  node " + std::to_string(node.id),
                 to_human(node.free) + " free of " + to_human(node.total) + ", " + text_of(node));
  for (const auto& device : m.dax_devices) text += line("  " + device.path, text_of(device));
  for (const auto& mount : m.dax_mounts)
    text += line("  " + mount.directory, "DAX files on " + mount.device + ", " + to_human(mount.free) +
                                             " free of " + to_human(mount.size));
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
  return text + line("root", m.root ? "yes" : "no") + text_of(TierGraph{m});
}

std::string text_of(const TierReport& t) {
  if (!t.error.empty()) return t.text + "\n" + line("cannot be made", t.error);
  std::string text = t.text + "\n" + line("is", t.description);
  text += line("capacity", to_human(t.spec.size));
  text += line("CPU can address it", t.model.addressable ? "yes" : "no");
  text += line("declared read, write",
               rate(t.model.read_bytes_per_second) + ", " + rate(t.model.write_bytes_per_second));
  text += line("declared latency", std::to_string(t.model.latency.count()) + " ns, " +
                                       std::to_string(t.model.parallelism) + " requests at once");
  text += line("smallest transfer", to_human(t.model.granularity));
  if (t.direct_io) text += line("direct I/O", yes(*t.direct_io));
  return text;
}

std::string text_of(const WindowReport& w) {
  if (!w.mode) return line("cannot be made", w.why);
  if (*w.mode == WindowMode::Full) return line("are", "full: the process serves their page faults");
  return line("are", "restricted: the system pages them (" + w.why + ")") +
         line("lie in", w.directory.empty()
                            ? "memory"
                            : "a mapped file in " + w.directory + ", beside that of " + w.beside);
}

std::string text_of_models() {
  std::string text = "\nmodels, to emulate or simulate\n";
  for (const auto name : model_names()) {
    const auto m = *find_model(name);
    text += line(name, rate(m.read_bytes_per_second) + " read, " + rate(m.write_bytes_per_second) +
                           " written, " + std::to_string(m.latency.count()) + " ns" +
                           (m.addressable ? "" : ", the CPU cannot address it"));
    text += line("", model_source(name));
  }
  return text;
}

/// As a kernel, a copy that is waited for, and the background's one thread have it.
std::string text_of(const replay::Device& d) {
  const auto both = [](double read, double written) { return rate(read) + " and " + rate(written); };
  return line("  " + d.name, "kernels " + both(d.read, d.store) + ", " + std::to_string(d.latency.count()) +
                                 " ns" + (d.addressable ? "" : ", the CPU cannot address it")) +
         line("", "copies " + both(d.copy_read, d.copy_write) + ", in the background " +
                      both(d.mover_read, d.mover_write)) +
         line("", d.source);
}

std::string text_of_machines() {
  std::string text = "\nmachines, to replay on (read and written)\n";
  for (const auto name : replay::machine_names()) {
    const auto& m = *replay::find_machine(name);
    text += line(name, std::to_string(m.cores) + " cores, " + teraflops(m.operations));
    text += line("", m.source);
    for (const auto& d : m.devices) text += text_of(d);
  }
  return text;
}

}  // namespace

std::string to_text(const Info& info) {
  std::string text = text_of(info.machine);
  text += "\ntiers (" + info.source + ")\n";
  for (const auto& tier : info.tiers) text += text_of(tier);
  text += "\nwindows\n" + text_of(info.windows);
  text += text_of_models() + text_of_machines();
  text += "\npolicies\n ";
  for (const auto& policy : info.policies) text += " " + policy;
  text += "\n\nmissing\n";
  for (const auto& [what, why] : info.missing) text += "  " + what + " (" + why + ")\n";
  return info.missing.empty() ? text + "  nothing\n" : text;
}

}  // namespace tier::tool
