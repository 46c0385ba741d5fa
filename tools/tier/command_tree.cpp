// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "command_tree.hpp"

namespace tier::tool {

std::vector<const CLI::App*> subcommands_of(const CLI::App& command) {
  return command.get_subcommands([](const CLI::App* c) { return !c->get_name().empty(); });
}

std::vector<const CLI::App*> groups_of(const CLI::App& command) {
  return command.get_subcommands([](const CLI::App* c) { return c->get_name().empty(); });
}

std::vector<const CLI::Option*> options_of(const CLI::App& command) {
  auto options = command.get_options();
  for (const auto* group : groups_of(command))
    for (const auto* option : group->get_options())
      if (option != group->get_help_ptr()) options.push_back(option);
  return options;
}

std::string full_name(const CLI::App& command) {
  const auto* const parent = command.get_parent();
  return parent == nullptr ? command.get_name() : full_name(*parent) + " " + command.get_name();
}

}  // namespace tier::tool
