// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  The program `tier`.
#include "completion/completion.hpp"
#include "info/info_command.hpp"
#include "man.hpp"
#include "paper/paper.hpp"
#include "plan/plan.hpp"
#include "probe/probe.hpp"
#include "replay.hpp"
#include "report.hpp"
#include "shared/colours.hpp"
#include "shared/command_tree.hpp"
#include "terminal/standard_output.hpp"
#include "trace.hpp"

#include <tier/core/config.hpp>
#include <tier/core/standard_streams.hpp>

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <span>
#include <sstream>
#include <string>

namespace {

/// Prints an error. It does not throw if stderr cannot be written.
void complain(std::string_view message) {
  const auto name = fmt::format(tier::tool::style_on(stderr, tier::tool::bad), "tier:");
  std::fputs(fmt::format("{} {}\n", name, message).c_str(), stderr);
}

/// Prints the outcome of parsing. CLI11 reports help and version as errors with status 0.
int end_with(const CLI::App& app, const CLI::ParseError& error) {
  std::ostringstream out, message;
  const int status = app.exit(error, out, message);
  fmt::print("{}", out.str());
  auto text = message.str();
  while (text.ends_with('\n')) text.pop_back();
  if (!text.empty()) complain(text);
  return status;
}

int run(int argc, char** argv) {
  CLI::App app{"Looks at tiers of memory, and at traces of what uses them", "tier"};
  app.set_version_flag("--version", TIER_VERSION);
  app.require_subcommand(1);
  tier::tool::add_info(app);
  tier::tool::add_trace(app);
  tier::tool::add_replay(app);
  tier::tool::add_paper(app);
  tier::tool::add_plan(app);
  tier::tool::add_probe(app);
  tier::tool::add_report(app);
  tier::tool::add_completion(app);
  tier::tool::add_man(app);
  app.footer(
      "Exit status: 0 if all went well; 1 if something could not be done; more than 1 if the command line is "
      "wrong. A message says what.\nColours are for terminals alone, unless NO_COLOR is set. Examples:\n"
      "  tier info\n"
      "  TIER_TRACE=run.tt ./program && tier report run.tt -o report.html\n"
      "  tier plan run.tt --tiers \"ddr5;cxl\" --budget 10%");
  const std::span<char* const> arguments{argv, static_cast<std::size_t>(argc)};
  if (const auto message = tier::tool::unknown_command(app, arguments.subspan(1)); !message.empty()) {
    complain(message);
    return static_cast<int>(CLI::ExitCodes::ExtrasError);
  }
  int status = 0;
  try {
    app.parse(argc, argv);  // runs the command
  } catch (const CLI::ParseError& error) {
    status = end_with(app, error);
  }
  tier::tool::flush_standard_output();
  return status;
}

}  // namespace

int main(int argc, char** argv) try {
  tier::hold_standard_streams();
  return run(argc, argv);
} catch (const std::exception& error) {
  complain(error.what());
  return 1;
}
