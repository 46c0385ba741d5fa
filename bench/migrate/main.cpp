// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  tier-migrate: measures moving memory between two nodes, by libtier and by the kernel.
#include <fmt/format.h>
#include <tier/core/error.hpp>
#include <tier/core/standard_streams.hpp>
#include <tier/memory/tier_graph.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <optional>

#include "report.hpp"

namespace {

using tier::Bytes;
using tier::NumaNode;
using tier::PageKind;

constexpr int lacking = 77;  // marks a test as skipped

struct Options {
  std::optional<unsigned> from, to;
  std::vector<std::string> sizes{"4KiB", "64KiB", "2MiB", "16MiB", "128MiB", "1GiB"};
  std::vector<std::string> pages{"small", "huge"};
  int repeats = 9;
  bool json = false;
};

void add_options(CLI::App& app, Options& o) {
  app.add_option("--from", o.from, "Node where the objects lie first [the first that has CPUs]");
  app.add_option("--to", o.to, "Node that they are moved to [the slowest of the others]");
  app.add_option("--sizes", o.sizes, "Sizes of the objects, in whole pages")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--pages", o.pages,
                 "Pages of the objects: small, transparent huge (for objects from 2 MiB up), or both")
      ->delimiter(',')
      ->check(CLI::IsMember({"small", "huge"}))
      ->capture_default_str();
  app.add_option("--repeats", o.repeats, "How often each object is moved in each way, at least 3")
      ->check(CLI::Range(3, 1'000'000))
      ->capture_default_str();
  app.add_flag("--json", o.json, "As JSON");
  app.footer(
      "Exit status: 0 if all went well; 1 if an object was not as it should be or not where it should be, or "
      "after an error;\n77 if the process may have memory of one node only; more than 100 if the command "
      "line is wrong.\n"
      "The report tells the machine: please send it to us, from machines with CXL, HBM or several sockets. "
      "Examples:\n"
      "  tier-migrate > report.txt\n"
      "  tier-migrate --from 0 --to 2 --sizes 2MiB,64MiB --pages huge --json > report.json");
}

std::vector<Bytes> sizes_of(const Options& options) {
  constexpr std::size_t page = 4096;
  constexpr Bytes most{std::size_t{1} << 60};  // the ways need several times as much
  std::vector<Bytes> sizes;
  for (const auto& text : options.sizes) {
    sizes.push_back(tier::parse_bytes(text));
    if (sizes.back().count == 0 || sizes.back().count % page != 0)
      throw tier::ConfigError{fmt::format("--sizes: {} is no number of whole pages of 4 KiB", text)};
    if (sizes.back() > most)
      throw tier::ConfigError{
          fmt::format("--sizes: {} is too large: at most {} are allowed", text, to_string(most))};
  }
  return sizes;
}

std::vector<migrate::Object> objects_of(const Options& options) {
  using namespace tier::literals;
  std::vector<migrate::Object> objects;
  for (const auto size : sizes_of(options))
    for (const auto& pages : options.pages)
      if (pages == "small")
        objects.push_back({size, PageKind::Small});
      else if (size >= 2_MiB)
        objects.push_back({size, PageKind::Huge});
  if (objects.empty()) throw tier::ConfigError{"no object is left: huge pages are for --sizes from 2MiB up"};
  return objects;
}

std::vector<NumaNode> usable_nodes(const tier::Machine& machine) {
  std::vector<NumaNode> nodes;
  for (const auto& node : machine.nodes)
    if (node.allowed) nodes.push_back(node);
  return nodes;
}

const NumaNode& named(const std::vector<NumaNode>& nodes, unsigned id, const char* option) {
  const auto found = std::ranges::find(nodes, id, &NumaNode::id);
  if (found != nodes.end()) return *found;
  std::string ids;
  for (const auto& node : nodes) ids += (ids.empty() ? "" : ", ") + std::to_string(node.id);
  throw tier::ConfigError{
      fmt::format("{} {}: this process may have memory of the nodes {}", option, id, ids)};
}

/// \pre  there are two nodes
migrate::Nodes choose(const std::vector<NumaNode>& nodes, const tier::Machine& machine,
                      const Options& options) {
  const auto with_cpus = std::ranges::find_if(nodes, [](const NumaNode& n) { return !n.cpus.empty(); });
  migrate::Nodes chosen{(with_cpus == nodes.end() ? nodes.front() : *with_cpus).id, 0};
  if (options.from) chosen.home = named(nodes, *options.from, "--from").id;
  if (options.to) {
    chosen.away = named(nodes, *options.to, "--to").id;
  } else {
    for (const auto& group : tier::TierGraph{machine}.groups())
      for (const auto id : group.nodes)
        if (id != chosen.home) chosen.away = id;
  }
  if (chosen.home == chosen.away)
    throw tier::ConfigError{fmt::format("--from and --to are both node {}", chosen.home)};
  return chosen;
}

int run(const Options& options) {
  const auto objects = objects_of(options);
  migrate::Report report{.machine = tier::discover(), .nodes = {}, .repeats = options.repeats, .objects = {}};
  const auto nodes = usable_nodes(report.machine);
  if (nodes.size() < 2) {
    fmt::print(
        stderr,
        "tier-migrate: there are no two nodes to move between: this process may have memory of one node only "
        "({} of {} that the system shows)\n",
        nodes.size(), report.machine.nodes.size());
    return lacking;
  }
  report.nodes = choose(nodes, report.machine, options);
  const auto free =
      std::min(named(nodes, report.nodes.home, "--from").free, named(nodes, report.nodes.away, "--to").free);
  for (const auto& object : objects)
    report.objects.push_back(measure(object, report.nodes, free, options.repeats));
  fmt::print("{}", options.json ? to_json(report) : to_text(report));
  if (std::fflush(stdout) != 0)
    throw tier::TierError{tier::last_system_error(), "writing to standard output"};
  return std::ranges::all_of(report.objects, migrate::is_right) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try {
  tier::hold_standard_streams();
  CLI::App app{"Moves objects between the memory of two nodes, by libtier and by the kernel's own ways",
               "tier-migrate"};
  Options options;
  add_options(app, options);
  CLI11_PARSE(app, argc, argv);
  return run(options);
} catch (const std::exception& error) {
  fmt::print(stderr, "tier-migrate: {}\n", error.what());
  return 1;
}
