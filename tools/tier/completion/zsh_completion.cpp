// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "zsh_completion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "option_values.hpp"
#include "shared/command_tree.hpp"

namespace tier::tool {
namespace {

/// Quotes any text as one word of a shell.
std::string shell_word(std::string_view text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string{"'\\''"} : std::string{c};
  return word + "'";
}

/// Escapes text within a specification, whose parts are separated by colons and brackets.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == ':' || c == '[' || c == ']' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

std::string function_name(const CLI::App& command) {
  auto name = "_" + full_name(command);
  std::ranges::replace(name, ' ', '_');
  return name;
}

/// Returns what zsh completes for the option; a blank completes nothing.
std::string action_of(const CLI::Option& option) {
  const auto values = values_of(option);
  if (!values.words.empty()) return fmt::format("({})", fmt::join(values.words, " "));
  return values.files ? "_files" : " ";
}

/// Returns one specification per name. zsh offers only one of them, unless the option may be repeated.
std::vector<std::string> specifications_of(const CLI::Option& option) {
  if (option.get_positional())
    return {fmt::format("{}{}:{}", option.get_required() ? ":" : "::", escaped(option.get_name()),
                        action_of(option))};
  const bool several = option.get_items_expected_max() > 1;
  const auto names = names_of(option);
  std::vector<std::string> all;
  for (const auto& name : names) {
    auto text = several ? "*" : fmt::format("({})", fmt::join(names, " "));
    text += name;
    if (takes_value(option)) text += name.starts_with("--") ? "=" : "+";
    text += "[" + escaped(option.get_description()) + "]";
    if (takes_value(option)) text += ":" + escaped(option.get_type_name()) + ":" + action_of(option);
    all.push_back(std::move(text));
  }
  return all;
}

/// Returns the arguments of the call of `_arguments`.
std::string arguments_of(const CLI::App& command) {
  std::string text = " -S";
  for (const auto* option : options_of(command))
    for (const auto& specification : specifications_of(*option))
      text += " \\\n    " + shell_word(specification);
  return text;
}

/// Returns the function of a command, then those of its subcommands.
std::string functions_of(const CLI::App& command) {
  const auto commands = subcommands_of(command);
  auto text = function_name(command) + "() {\n";
  if (commands.empty()) {
    text += "  _arguments" + arguments_of(command) + "\n}\n";
  } else {
    text += "  local curcontext=$curcontext state line ret=1\n  local -a commands=(\n";
    for (const auto* c : commands)
      text += "    " + shell_word(escaped(c->get_name()) + ":" + escaped(c->get_description())) + "\n";
    text += "  )\n  _arguments -C" + arguments_of(command) +
            " \\\n    '1:command:{_describe command commands}' \\\n    '*::argument:->rest' && ret=0\n"
            "  [[ $state == rest ]] && _call_function ret " +
            function_name(command) + "_$line[1]\n  return ret\n}\n";
  }
  for (const auto* c : commands) text += functions_of(*c);
  return text;
}

}  // namespace

std::string zsh_completion(const CLI::App& app) {
  const auto name = app.get_name(), function = function_name(app);
  return fmt::format(
      "#compdef {0}\n# Completion of {0} for zsh, as `{0} completion zsh` writes it.\n{2}"
      "if [[ $funcstack[1] == {1} ]]; then # by autoload\n  {1} \"$@\"\nelse\n  compdef {1} {0}\nfi\n",
      name, function, functions_of(app));
}

}  // namespace tier::tool
