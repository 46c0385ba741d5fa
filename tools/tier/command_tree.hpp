// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What CLI11 knows of the program's commands, for their completion and their manual.
#include <CLI/CLI.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tier::tool {

/// Those that help shows; no option groups.
[[nodiscard]] std::vector<const CLI::App*> subcommands_of(const CLI::App& command);

/// The groups that take options of the command apart.
[[nodiscard]] std::vector<const CLI::App*> groups_of(const CLI::App& command);

/// With those of its groups.
[[nodiscard]] std::vector<const CLI::Option*> options_of(const CLI::App& command);

/// What to say of a command line that names no command where one must be, and which it may mean, or an option that is unknown
/// there; empty: nothing.
[[nodiscard]] std::string unknown_command(const CLI::App& app, std::span<char* const> arguments);

/// With those of what it is a part of, as `tier trace check`.
[[nodiscard]] std::string full_name(const CLI::App& command);

}  // namespace tier::tool
