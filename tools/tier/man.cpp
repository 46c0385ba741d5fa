// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "man.hpp"

#include <tier/core/config.hpp>
#include <tier/core/error.hpp>
#include <tier/core/output_file.hpp>
#include <tier/core/suggestion.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "shared/command_tree.hpp"

namespace tier::tool {
namespace {

/// Escapes text for roff: hyphens and quotes print as typed, and no line is read as a request.
std::string roff(std::string_view text) {
  std::string result;
  bool begins = true;
  for (const char c : text) {
    if (begins && (c == '.' || c == '\'')) result += "\\&";
    begins = c == '\n';
    switch (c) {
      case '\\':
        result += "\\e";
        break;
      case '-':
        result += "\\-";
        break;
      case '\'':
        result += "\\(aq";
        break;
      case '`':
        result += "\\(ga";
        break;
      case '~':
        result += "\\(ti";
        break;
      case '^':
        result += "\\(ha";
        break;
      default:
        result += c;
    }
  }
  return result;
}

/// Returns the page's name: `tier-trace` for `tier trace`.
std::string page_name(const CLI::App& command) {
  auto name = full_name(command);
  std::ranges::replace(name, ' ', '-');
  return name;
}

/// Splits a footer into the text before its examples, and the examples.
std::pair<std::string, std::string> parted(const std::string& footer) {
  for (const std::string_view word : {"Examples:\n", "Example:\n"}) {
    const auto at = footer.find(word);
    if (at != std::string::npos) return {footer.substr(0, at), footer.substr(at + word.size())};
  }
  return {footer, ""};
}

/// Returns a heading, or the start of a paragraph if there is no request.
std::string heading(std::string_view request, std::string_view text) {
  return request.empty() ? ".PP\n" : fmt::format(".{} {}\n", request, roff(text));
}

std::string options(const CLI::App& command, bool positional) {
  const CLI::Formatter help;
  std::string text;
  for (const auto* option : command.get_options()) {
    const bool in_group = command.get_name().empty();
    if (option->get_positional() != positional || (in_group && option == command.get_help_ptr())) continue;
    auto name = help.make_option_name(option, positional);
    if (const auto comma = name.find(','); comma != std::string::npos) name.insert(comma + 1, " ");
    text += fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", roff(name), roff(help.make_option_opts(option)),
                        roff(help.make_option_desc(option)));
  }
  return text;
}

std::string section(std::string_view request, std::string_view name, const std::string& text) {
  return text.empty() ? "" : heading(request, name) + text;
}

std::string usage(const CLI::App& command) {
  auto text = CLI::Formatter{}.make_usage(&command, full_name(command));
  text.erase(0, text.find(' ') + 1);
  const auto name = full_name(command).size();
  return "\\fB" + roff(text.substr(0, name)) + "\\fR" + roff(text.substr(name));
}

std::string examples(const std::string& text) {
  return text.empty() ? "" : ".nf\n" + roff(text) + (text.ends_with('\n') ? "" : "\n") + ".fi\n";
}

std::string every_option(const CLI::App& command) {
  auto text = options(command, false);
  for (const auto* group : groups_of(command))
    text += ".PP\n" + roff(group->get_description()) + ":\n" + options(*group, false);
  return text;
}

/// Returns what pages and parts of pages share. Sections of a page use `request`; a part has none.
std::string body(const CLI::App& command, std::string_view request) {
  const auto [text, commands] = parted(command.get_footer());
  return section(request, "DESCRIPTION", text.empty() ? "" : roff(text) + "\n") +
         section(request, "ARGUMENTS", options(command, true)) +
         section(request, "OPTIONS", every_option(command)) +
         section(request, "EXAMPLES", examples(commands));
}

/// Lists subcommands. Those of the program have their own pages; deeper ones are parts of these pages.
std::string commands(const CLI::App& command) {
  std::string text;
  for (const auto* c : subcommands_of(command)) {
    if (command.get_parent() == nullptr)
      text += fmt::format(".TP\n.BR {} (1)\n{}\n", roff(page_name(*c)), roff(c->get_description()));
    else
      text +=
          heading("SS", full_name(*c)) + roff(c->get_description()) + "\n.PP\n" + usage(*c) + body(*c, "");
  }
  return text;
}

std::string see_also(const CLI::App& command) {
  std::string text;
  const auto* const parent = command.get_parent();
  for (const auto* c : subcommands_of(parent == nullptr ? command : *parent))
    if (c != &command) text += fmt::format(".BR {} (1),\n", roff(page_name(*c)));
  if (parent != nullptr) return fmt::format(".BR {} (1),\n", roff(page_name(*parent))) + text;
  return text;
}

std::string page(const CLI::App& command) {
  auto also = see_also(command);
  also.resize(also.rfind(','));
  return fmt::format(".TH {} 1 \"\" \"libtier {}\" \"User Commands\"\n", roff(page_name(command)),
                     TIER_VERSION) +
         heading("SH", "NAME") + roff(page_name(command)) + " \\- " + roff(command.get_description()) + "\n" +
         heading("SH", "SYNOPSIS") + usage(command) + body(command, "SH") +
         section("SH", "COMMANDS", commands(command)) + heading("SH", "SEE ALSO") + also + "\n";
}

struct ManArguments {
  std::string command, folder;
};

const CLI::App& find(const CLI::App& app, const std::string& name) {
  if (name.empty()) return app;
  std::string known;
  for (const auto* c : subcommands_of(app)) {
    if (c->get_name() == name) return *c;
    known += (known.empty() ? "" : ", ") + c->get_name();
  }
  throw ConfigError{"no such command" + detail::did_you_mean(name, known), name, 0, known};
}

void run(const CLI::App& app, const ManArguments& arguments) {
  if (arguments.folder.empty()) {
    fmt::print("{}", page(find(app, arguments.command)));
    return;
  }
  if (!arguments.command.empty())
    throw ConfigError{"--into is for all pages: leave out " + arguments.command};
  const auto write = [&](const CLI::App& command) {
    write_file(arguments.folder + "/" + page_name(command) + ".1", page(command));
  };
  write(app);
  for (const auto* c : subcommands_of(app)) write(*c);
}

}  // namespace

void add_man(CLI::App& app) {
  auto* const command = app.add_subcommand("man", "The manual pages of tier and of its commands");
  const auto arguments = std::make_shared<ManArguments>();
  command->add_option("COMMAND", arguments->command,
                      "The command whose page is printed; default: tier itself");
  command->add_option("--into", arguments->folder, "Write all pages to this folder")->type_name("FOLDER");
  command->footer(
      "What --help says, as roff. An installed tier has them where man looks. Example:\n"
      "  tier man replay | man -l -");
  command->callback([&app, arguments] { run(app, *arguments); });
}

}  // namespace tier::tool
