// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What the commands that replay are told of row tables.
#include <tier/replay/replay.hpp>
#include <tier/trace/trace.hpp>

#include <CLI/CLI.hpp>

#include <string>

namespace tier::tool {

struct RowOptions {
  std::string policy;  ///< empty: that of objects
  unsigned lookahead = 0;
};

/// `--row-policy` and `--lookahead`.   \param options  outlives the parsing
void add_row_options(CLI::App& command, RowOptions& options);

/// \param policy  of objects: the row policy has its name, if there is one, or is `hint_aware`
void set_rows(const RowOptions& options, const std::string& policy, replay::Options& replay);

/// Says so if a recording has gathers, but not their rows.
void warn_of_missing_rows(const trace::Trace& trace);

}  // namespace tier::tool
