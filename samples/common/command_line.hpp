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

/// \return  `status`, once what was printed has gone out
/// \throws  `tier::TierError` if it has not
int end_with(int status);
/// Says what has failed, on stderr, if that can be written.
int fail(const char* program, const std::exception& error, int status);

}  // namespace sample
