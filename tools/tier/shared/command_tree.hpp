// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Walks the command tree that CLI11 knows, for shell completion and the manual.
#include <CLI/CLI.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tier::tool {

/// Returns the subcommands that help shows, without option groups.
[[nodiscard]] std::vector<const CLI::App*> subcommands_of(const CLI::App& command);

/// Returns the groups that hold options of the command.
[[nodiscard]] std::vector<const CLI::App*> groups_of(const CLI::App& command);

/// Returns the command's options, including those of its groups.
[[nodiscard]] std::vector<const CLI::Option*> options_of(const CLI::App& command);

/// Returns the error text for a command line with an unknown command, and the one it may mean, or with an unknown option;
/// empty if there is nothing to say.
[[nodiscard]] std::string unknown_command(const CLI::App& app, std::span<char* const> arguments);

/// Returns the name after those of its parents, as `tier trace check`.
[[nodiscard]] std::string full_name(const CLI::App& command);

}  // namespace tier::tool
