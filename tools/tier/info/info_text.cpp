// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "info.hpp"

#include <tier/replay/machine.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <vector>

namespace tier::tool {
namespace {

std::string teraflops(double operations) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g TFLOP/s", operations * 1e-12);
  return text.data();
}

std::string text_of(const TierReport& t, const std::vector<TierReport>& all) {
  if (!t.error.empty()) return t.text + "\n" + line("cannot be made", t.error);
  std::string text = t.text + "\n" + line("is", t.description);
  text += line("capacity", to_human(t.spec.size));
  text += line("CPU can address it", t.model.addressable ? "yes" : "no");
  text +=
      line("model", rate(t.model.read_bytes_per_second) + " read, " + rate(t.model.write_bytes_per_second) +
                        " written, " + std::to_string(t.model.latency.count()) + " ns, " +
                        std::to_string(t.model.parallelism) + " requests at once");
  text += line("smallest transfer", to_human(t.model.granularity));
  if (t.direct_io) text += line("direct I/O", yes(*t.direct_io));
  if (t.demotes_to) text += line("demotes to", all[*t.demotes_to].text);
  return text;
}

/// Pads the text to a column of ten.
std::string cell(std::string text) {
  text.insert(0, std::max<std::size_t>(10, text.size() + 1) - text.size(), ' ');
  return text;
}

std::string microseconds(double seconds) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", 1e6 * seconds);
  return text.data();
}

/// Returns a table of copy times between tiers, and where blocks go; empty for fewer than two tiers.
std::string text_of_moves(const std::vector<TierReport>& all) {
  std::vector<const TierReport*> tiers;
  for (const auto& tier : all)
    if (tier.place != 0) tiers.push_back(&tier);
  if (tiers.size() < 2) return {};
  std::ranges::sort(tiers, {}, &TierReport::place);
  const auto width = std::ranges::max(tiers, {}, [](const auto* t) { return t->text.size(); })->text.size();
  std::string text = "\nmoves of 1 MiB in us, from row to column, by the models; policies fetch to tier 1\n";
  text += std::string(width + 4, ' ');
  for (const auto* tier : tiers) text += cell(std::to_string(tier->place));
  text += "  demotes to\n";
  for (const auto* from : tiers) {
    text +=
        "  " + std::to_string(from->place) + " " + from->text + std::string(width - from->text.size(), ' ');
    for (const auto* to : tiers)
      text += cell(
          to == from ? "-" : microseconds(from->seconds_to_copy[static_cast<std::size_t>(to - all.data())]));
    text += from->demotes_to ? "  " + std::to_string(all[*from->demotes_to].place) + "\n" : "\n";
  }
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

/// Describes a device by three rates: for kernels, for copies that a thread waits for, and for one mover.
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
  std::string text = machine_text(info.machine);
  text += "\ntiers (" + info.source + ")\n";
  for (const auto& tier : info.tiers) text += text_of(tier, info.tiers);
  text += text_of_moves(info.tiers);
  if (!info.memkind.empty()) text += "\nmemkind\n";
  for (const auto& kind : info.memkind)
    text += line(kind.kind, kind.error.empty() ? kind.description : "no: " + kind.error);
  text += "\nwindows\n" + text_of(info.windows);
  const auto& kernel = info.copy_kernel;
  text += "\ncopies\n" + line("made by", kernel.name + ", " + kernel.origin);
  text += line("findings kept in", kernel.file.empty() ? "nothing: no HOME, no XDG_CACHE_HOME" : kernel.file);
  text += text_of_models() + text_of_machines();
  text += "\npolicies\n ";
  for (const auto& policy : info.policies) text += " " + policy;
  if (!info.warnings.empty()) text += "\n\nwarnings";
  for (const auto& warning : info.warnings) text += "\n  " + warning;
  text += "\n\nmissing\n";
  for (const auto& [what, why] : info.missing) text += "  " + what + " (" + why + ")\n";
  return info.missing.empty() ? text + "  nothing\n" : text;
}

}  // namespace tier::tool
