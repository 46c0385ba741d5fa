// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "probe.hpp"

#include <tier/copy/copy_kernel.hpp>
#include <tier/core/output_file.hpp>
#include <tier/memory/spec.hpp>
#include <tier/memory/tiers.hpp>
#include <tier/replay/machine_file.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure_tiers.hpp"
#include "shared/progress.hpp"

namespace tier::tool {
namespace {

struct ProbeArguments {
  std::string tiers, out, name = "this";
};

void print(const replay::Machine& machine) {
  fmt::print("{:<18}{:>10}{:>10}{:>12}{:>12}{:>12}{:>12}{:>12}\n", "GB/s", "loads", "stores", "copied from",
             "to", "by a mover", "to", "latency ns");
  for (const auto& d : machine.devices)
    fmt::print("{:<18}{:>10.2f}{:>10.2f}{:>12.2f}{:>12.2f}{:>12.2f}{:>12.2f}{:>12}\n", d.name, d.read / 1e9,
               d.store / 1e9, d.copy_read / 1e9, d.copy_write / 1e9, d.mover_read / 1e9, d.mover_write / 1e9,
               d.latency.count());
  fmt::print(
      "{} cores, {:.0f} GFLOP/s; a kernel loses {:.0f} % of its speed while a mover copies; a copy that "
      "is waited for takes {} us to begin\n",
      machine.cores, machine.operations / 1e9, 100 * machine.lost_to_mover,
      std::chrono::round<std::chrono::microseconds>(machine.copy_start).count());
  fmt::print("a row of a table: {} ns to be found in a cache, {} to be updated there, {} to be announced",
             machine.row_lookup.count(), machine.row_update.count(), machine.row_announce.count());
  for (const auto& d : machine.devices)
    if (&d != &machine.devices.front())
      fmt::print("; {} ns from {}, {} ns back", d.row_read.count(), d.name, d.row_write.count());
  fmt::print("\n");
}

/// Prints how fast each loop copies, the fastest first.
void print_copy_kernels() {
  auto rates = measure_copy_kernels();
  std::ranges::sort(rates, std::ranges::greater{}, &CopyKernelRate::bytes_per_second);
  fmt::print("copies of 2 MiB by one thread, GB/s:");
  for (const auto& rate : rates) fmt::print(" {} {:.1f}", rate.name, rate.bytes_per_second / 1e9);
  const auto kernel = copy_kernel();
  fmt::print("; in use is {}, {}\n", kernel.name, kernel.origin);
}

/// Says how long measuring takes, unless the machine itself goes to the standard output.
void say_duration(double seconds, const ProbeArguments& arguments, Progress& progress) {
  if (arguments.out == "-") return;
  progress.clear();
  fmt::print("measuring takes about {:.0f} s\n", std::ceil(seconds));
  std::fflush(stdout);
}

void probe(const ProbeArguments& arguments) {
  std::optional<OutputFile> out;  // opened first: an unwritable path is reported before measuring
  if (!arguments.out.empty()) out.emplace(arguments.out);
  std::vector<std::unique_ptr<Tier>> tiers;
  for (const auto& spec : parse_tiers(arguments.tiers)) tiers.push_back(make_tier(spec));
  Progress progress;
  const auto machine = measure(
      std::move(tiers), arguments.name,
      [&](const std::string& what, double share) { progress.show(what, share); },
      [&](double seconds) { say_duration(seconds, arguments, progress); });
  machine.check();
  progress.clear();
  if (arguments.out != "-") print(machine);
  if (arguments.out != "-") print_copy_kernels();
  if (!out) return;
  out->write(replay::to_json(machine) + '\n');
  out->finish();
}

}  // namespace

void add_probe(CLI::App& app) {
  auto* const command = app.add_subcommand("probe", "Measures tiers, for replays on a machine like this one");
  const auto arguments = std::make_shared<ProbeArguments>();
  command
      ->add_option("--tiers", arguments->tiers,
                   "A spec, as dram:1GiB;file:/var/tmp:4GiB. With 1 GiB of each no cache holds what is "
                   "measured; 32 MiB are the least")
      ->required();
  command
      ->add_option("-o,--output", arguments->out,
                   "Write the machine to FILE, for --machine; - is stdout, without the table")
      ->type_name("FILE");
  command->add_option("--name", arguments->name, "Name of the machine")->capture_default_str();
  command->footer(
      "Says how long it will take, some seconds for each tier; the machine is to do nothing else. Files "
      "behind the page "
      "cache have their disk's rates. Example:\n"
      "  tier probe --tiers \"dram:1GiB;emulated:cxl:1GiB\" -o this.json\n"
      "  tier replay step.trace --tiers \"dram:1GiB;emulated:cxl:8GiB\" --machine this.json");
  command->callback([arguments] { probe(*arguments); });
}

}  // namespace tier::tool
