// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "command_line.hpp"

#include <fmt/format.h>
#include <tier/core/error.hpp>

#include <algorithm>
#include <cstdio>
#include <ostream>
#include <utility>

namespace sample {

bool parse(CLI::App& app, std::vector<std::string> arguments, std::ostream& out) {
  std::ranges::reverse(arguments);  // as CLI11 wants them
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    out << app.help();
    return false;
  } catch (const CLI::ParseError& error) {
    throw tier::ConfigError{fmt::format("{} ({} --help lists the options)", error.what(), app.get_name())};
  }
  return true;
}

int end_with(int status) {
  if (std::fflush(stdout) != 0)
    throw tier::TierError{tier::last_system_error(), "writing to standard output"};
  return status;
}

int fail(const char* program, const std::exception& error, int status) {
  std::fprintf(stderr, "%s: %s\n", program, error.what());
  return status;
}

}  // namespace sample
