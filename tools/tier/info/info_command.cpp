// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "info_command.hpp"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>

#include "info.hpp"

namespace tier::tool {

void add_info(CLI::App& app) {
  struct InfoArguments {
    std::optional<std::string> tiers, measured;
    bool json = false;
  };
  auto* const info =
      app.add_subcommand("info", "What tiers there are, what they can do, and what is missing");
  const auto arguments = std::make_shared<InfoArguments>();
  info->add_option("--tiers", arguments->tiers,
                   "a spec such as dram:1GiB;file:/var/tmp:8GiB; default: TIER_TIERS, or what is found");
  info->add_option("--measured", arguments->measured,
                   "a file written by tier probe for tiers such as numa:1; its rates count where firmware "
                   "tells none; default: TIER_MEASURED")
      ->type_name("FILE");
  info->add_flag("--json", arguments->json, "as JSON");
  info->footer("Examples:\n  tier info\n  tier info --tiers \"dram:1GiB;file:/var/tmp:8GiB\" --json");
  info->callback([arguments] {
    const auto collected = collect(arguments->tiers, arguments->measured);
    const auto text = arguments->json ? to_json(collected) + "\n" : to_text(collected);
    fmt::print("{}", text);
  });
}

}  // namespace tier::tool
