// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Shared parts of the samples' command lines.
#include <tier/core/output_file.hpp>

#include <CLI/CLI.hpp>
#include <exception>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

namespace sample {

/// Parses a command line.
/// \param arguments  without the program's name
/// \return           false if help was asked for; it has been written to `out`
/// \throws           `tier::ConfigError` for unknown arguments, with a hint how to list the options
bool parse(CLI::App& app, std::vector<std::string> arguments, std::ostream& out);

/// True if the data at `path` can be read only once, by one process: a pipe, or the standard input (-).
[[nodiscard]] bool reads_once(const std::string& path);

/// Opens the file of `--json` before anything is measured, so that a path that cannot be written is reported at once.
/// \return  null for an empty path and for the standard output (-)
/// \throws  `tier::TierError` naming the call and the path
[[nodiscard]] std::unique_ptr<tier::OutputFile> open_results(const std::string& path);

/// The exit status if nothing failed but a run learned nothing: its loss is not finite.
inline constexpr int learned_nothing = 3;
/// Text for the help of programs that learn.
inline constexpr const char* exit_statuses =
    "Exit status: 0 if all went well; 1 if something could not be done; 2 if options or data are wrong;\n3 "
    "if a run has learned nothing, since its loss is no finite number; 130 after Ctrl-C. A message says "
    "what.";

/// Flushes the output and returns `status`.
/// \throws  `tier::TierError` if writing failed
int end_with(int status);
/// Returns the error's text. A `std::bad_alloc` of plain memory has only a name, so the text says that memory is lacking.
[[nodiscard]] const char* reason(const std::exception& error);
/// Prints the error to stderr, if possible, and returns `status`.
int fail(const char* program, const std::exception& error, int status);

}  // namespace sample
