// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  The program `tier`.
#include "info.hpp"

#include <tier/core/config.hpp>
#include <tier/core/error.hpp>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <optional>
#include <string>

int main(int argc, char** argv) {
  CLI::App app{"Looks at tiers of memory"};
  app.set_version_flag("--version", TIER_VERSION);
  app.require_subcommand(1);

  auto* info = app.add_subcommand("info", "What tiers there are, what they can do, and what is missing");
  std::optional<std::string> tiers;
  bool json = false;
  info->add_option("--tiers", tiers,
                   "a spec such as dram:1GiB;file:/var/tmp:8GiB; default: TIER_TIERS, or what is found");
  info->add_flag("--json", json, "as JSON");
  CLI11_PARSE(app, argc, argv);

  try {
    const auto collected = tier::tool::collect(tiers);
    const auto text = json ? tier::tool::to_json(collected) + "\n" : tier::tool::to_text(collected);
    std::fputs(text.c_str(), stdout);
  } catch (const tier::ConfigError& error) {
    std::fprintf(stderr, "tier: %s\n", error.what());
    return 1;
  }
  return 0;
}
