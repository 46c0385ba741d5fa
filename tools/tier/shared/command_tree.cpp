// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "command_tree.hpp"

#include <tier/core/suggestion.hpp>

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

std::string unknown_command(const CLI::App& app, std::span<char* const> arguments) {
  const auto* at = &app;
  for (const std::string text : arguments) {
    std::string names;
    const CLI::App* named = nullptr;
    for (const auto* command : subcommands_of(*at)) {
      names += (names.empty() ? "" : ", ") + command->get_name();
      if (command->get_name() == text) named = command;
    }
    if (names.empty()) return {};
    if (text.starts_with('-')) {
      const auto option = text.substr(0, text.find('='));
      const bool is_known = at->get_option_no_throw(option) != nullptr;
      return is_known ? ""
                      : full_name(*at) + " has no option \"" + option + "\" (" + full_name(*at) +
                            " --help lists them)";
    }
    if (named == nullptr)
      return full_name(*at) + " has no command \"" + text + "\"" + detail::did_you_mean(text, names) +
             "; there are " + names;
    at = named;
  }
  return {};
}

std::string full_name(const CLI::App& command) {
  const auto* const parent = command.get_parent();
  return parent == nullptr ? command.get_name() : full_name(*parent) + " " + command.get_name();
}

}  // namespace tier::tool
