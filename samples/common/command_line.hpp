// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What the samples' command lines have in common.
#include <tier/core/output_file.hpp>

#include <CLI/CLI.hpp>
#include <exception>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

namespace sample {

/// \param arguments  without the program's name
/// \return           false if the help was asked for, which is on `out` now
/// \throws           `tier::ConfigError` for what `app` does not know, with the hint where its options are listed
bool parse(CLI::App& app, std::vector<std::string> arguments, std::ostream& out);

/// Whether what is at `path` can be read only once, by one process: a pipe, or the standard input, which - is.
[[nodiscard]] bool reads_once(const std::string& path);

/// The file of `--json`, opened before anything is measured, so that what cannot be written is said at once; null for an
/// empty path and for the standard output, which - is.
/// \throws  `tier::TierError` naming the call and the path
[[nodiscard]] std::unique_ptr<tier::OutputFile> open_results(const std::string& path);

/// The exit status where all went well, but a run has learned nothing: its loss is no finite number.
inline constexpr int learned_nothing = 3;
/// For the helps of programs that learn.
inline constexpr const char* exit_statuses =
    "Ends with 0; with 1 after what could not be done, and with 2 where options or data are not as they "
    "should be, which it "
    "says;\nwith 3 where a run has learned nothing, since its loss is no finite number; with 130 after "
    "Ctrl-C.";

/// \return  `status`, once what was printed has gone out
/// \throws  `tier::TierError` if it has not
int end_with(int status);
/// What an error says; of a `std::bad_alloc` of plain memory, which says nothing but its name, that memory is lacking.
[[nodiscard]] const char* reason(const std::exception& error);
/// Says what has failed, on stderr, if that can be written.
int fail(const char* program, const std::exception& error, int status);

}  // namespace sample
