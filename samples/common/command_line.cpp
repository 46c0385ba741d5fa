// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "command_line.hpp"

#include <fmt/format.h>
#include <tier/core/error.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <new>
#include <ostream>
#include <system_error>
#include <utility>

#include "terminal/standard_output.hpp"

namespace sample {

bool parse(CLI::App& app, std::vector<std::string> arguments, std::ostream& out) {
  std::ranges::reverse(arguments);  // CLI11 expects the last argument first
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    const auto text = app.help();
    // Flushed here: if a text exceeds the buffer, a later flush can succeed although an earlier one has failed.
    if (!out.write(text.data(), static_cast<std::streamsize>(text.size())).flush())
      throw tier::TierError{tier::last_system_error(), "writing to standard output"};
    return false;
  } catch (const CLI::ParseError& error) {
    throw tier::ConfigError{fmt::format("{} ({} --help lists the options)", error.what(), app.get_name())};
  }
  return true;
}

bool reads_once(const std::string& path) {
  std::error_code unknown;
  const auto kind = std::filesystem::status(path, unknown).type();
  return path == "-" || kind == std::filesystem::file_type::fifo ||
         kind == std::filesystem::file_type::socket || kind == std::filesystem::file_type::character;
}

std::unique_ptr<tier::OutputFile> open_results(const std::string& path) {
  std::unique_ptr<tier::OutputFile> file;
  if (!path.empty() && path != "-") file = std::make_unique<tier::OutputFile>(path);
  return file;
}

int end_with(int status) {
  tier::tool::flush_standard_output();
  return status;
}

const char* reason(const std::exception& error) {
  const bool says_nothing = dynamic_cast<const std::bad_alloc*>(&error) != nullptr &&
                            dynamic_cast<const tier::OutOfTierMemory*>(&error) == nullptr;  // of plain memory
  return says_nothing ? "the system has not enough memory for what the options ask for" : error.what();
}

int fail(const char* program, const std::exception& error, int status) {
  std::fprintf(stderr, "%s: %s\n", program, reason(error));
  return status;
}

}  // namespace sample
