// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "completion.hpp"

#include <tier/core/output_file.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "option_values.hpp"
#include "shared/command_tree.hpp"
#include "zsh_completion.hpp"

namespace tier::tool {
namespace {

/// Quotes words so that bash reads them back. Names and types here have no apostrophe.
std::string quoted(const std::vector<std::string>& words) {
  std::string text = "'";
  for (const auto& word : words) text.append(text.size() > 1 ? " " : "").append(word);
  return text + "'";
}

/// Returns assignments to the completion script's variables.
std::string assigned(const Values& values) {
  return fmt::format("words={} files={}", quoted(values.words), values.files ? "yes" : "");
}

void add_alternative(std::string& pattern, const std::string& text) {
  pattern += (pattern.empty() ? "'" : "|'") + text + "'";
}

/// Returns the options and positional values of a command and of all commands below it.
std::string commands_of(const CLI::App& command) {
  Values others;
  std::vector<std::string> options;
  for (const auto* c : subcommands_of(command)) others.words.push_back(c->get_name());
  for (const auto* option : options_of(command)) {
    for (auto& name : names_of(*option)) options.push_back(std::move(name));
    if (!option->get_positional()) continue;
    auto values = values_of(*option);
    others.files |= values.files;
    std::ranges::move(values.words, std::back_inserter(others.words));
  }
  auto text =
      fmt::format("    '{}') options={} {} ;;\n", full_name(command), quoted(options), assigned(others));
  for (const auto* c : subcommands_of(command)) text += commands_of(*c);
  return text;
}

/// Patterns of options that take a value, by the assignments for that value.
using Patterns = std::map<std::string, std::string>;

void add_patterns(const CLI::App& command, Patterns& patterns) {
  for (const auto* option : options_of(command)) {
    if (option->get_positional() || !takes_value(*option)) continue;
    for (const auto& name : names_of(*option))
      add_alternative(patterns[assigned(values_of(*option))], full_name(command) + " " + name);
  }
  for (const auto* c : subcommands_of(command)) add_patterns(*c, patterns);
}

std::string option_values_of(const CLI::App& command) {
  Patterns patterns;
  add_patterns(command, patterns);
  std::string text;
  for (const auto& [values, pattern] : patterns) text += fmt::format("    {}) {} ;;\n", pattern, values);
  return text;
}

/// Adds the full name of every command below to a shell pattern.
void add_paths(const CLI::App& command, std::string& pattern) {
  for (const auto* c : subcommands_of(command)) {
    add_alternative(pattern, full_name(*c));
    add_paths(*c, pattern);
  }
}

std::string bash_completion(const CLI::App& app) {
  const auto name = app.get_name();
  std::string paths;
  add_paths(app, paths);
  return "# Completion of " + name + " for bash, as `" + name + " completion bash` writes it.\n_" + name +
         R"(() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command=)" +
         name + R"( options='' words='' files='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$command ${COMP_WORDS[i]}" in
      )" +
         paths + R"() command+=" ${COMP_WORDS[i]}" ;;
    esac
  done
  if [[ $cur == = ]]; then # --option=
    cur=''
  elif [[ $prev == = ]]; then
    prev=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  case $command in
)" + commands_of(app) +
         R"(  esac
  case "$command $prev" in
)" + option_values_of(app) +
         R"(    *) [[ $cur == -* ]] && words=$options files='' ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  [[ $files ]] || compopt +o default 2>/dev/null # else what is no word is completed as a file
}
complete -o default -F _)" +
         name + " " + name + "\n";
}

struct CompletionArguments {
  std::string shell, out;
};

void run(const CLI::App& app, const CompletionArguments& arguments) {
  const auto script = arguments.shell == "zsh" ? zsh_completion(app) : bash_completion(app);
  if (arguments.out.empty())
    fmt::print("{}", script);
  else
    write_file(arguments.out, script);
}

}  // namespace

void add_completion(CLI::App& app) {
  auto* const command =
      app.add_subcommand("completion", "A script by which a shell completes commands and options");
  const auto arguments = std::make_shared<CompletionArguments>();
  command->add_option("SHELL", arguments->shell, "The shell")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh"}));
  command->add_option("-o,--output", arguments->out, "Write it to this file, not to the standard output")
      ->type_name("FILE");
  command->footer(
      "An installed tier has them where bash-completion and zsh look. Examples:\n"
      "  source <(tier completion bash)\n"
      "  source <(tier completion zsh)   # after compinit\n"
      "  tier completion bash -o ~/.local/share/bash-completion/completions/tier");
  command->callback([&app, arguments] { run(app, *arguments); });
}

}  // namespace tier::tool
