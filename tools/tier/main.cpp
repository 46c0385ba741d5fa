// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  The program `tier`.
#include "info.hpp"
#include "paper.hpp"
#include "plan.hpp"
#include "probe.hpp"
#include "replay.hpp"
#include "report.hpp"
#include "trace.hpp"

#include <tier/core/config.hpp>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <string>

namespace {

void add_info(CLI::App& app) {
  struct Arguments {
    std::optional<std::string> tiers;
    bool json = false;
  };
  auto* const info =
      app.add_subcommand("info", "What tiers there are, what they can do, and what is missing");
  const auto arguments = std::make_shared<Arguments>();
  info->add_option("--tiers", arguments->tiers,
                   "a spec such as dram:1GiB;file:/var/tmp:8GiB; default: TIER_TIERS, or what is found");
  info->add_flag("--json", arguments->json, "as JSON");
  info->callback([arguments] {
    const auto collected = tier::tool::collect(arguments->tiers);
    const auto text =
        arguments->json ? tier::tool::to_json(collected) + "\n" : tier::tool::to_text(collected);
    std::fputs(text.c_str(), stdout);
  });
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app{"Looks at tiers of memory, and at traces of what uses them"};
  app.set_version_flag("--version", TIER_VERSION);
  app.require_subcommand(1);
  add_info(app);
  tier::tool::add_trace(app);
  tier::tool::add_replay(app);
  tier::tool::add_paper(app);
  tier::tool::add_plan(app);
  tier::tool::add_probe(app);
  tier::tool::add_report(app);
  CLI11_PARSE(app, argc, argv);  // runs the command
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "tier: %s\n", error.what());
  return 1;
}
