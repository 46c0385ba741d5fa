// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "command_line.hpp"

#include <fmt/format.h>
#include <tier/core/error.hpp>

#include <algorithm>
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

}  // namespace sample
