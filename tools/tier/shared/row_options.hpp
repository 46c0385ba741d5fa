// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Options about row tables that the replaying commands share.
#include <tier/replay/replay.hpp>
#include <tier/trace/trace.hpp>

#include <CLI/CLI.hpp>

#include <string>

namespace tier::tool {

struct RowOptions {
  std::string policy;  ///< empty: as for objects
  unsigned lookahead = 0;
};

/// Adds `--row-policy` and `--lookahead`.   \param options  must outlive the parsing
void add_row_options(CLI::App& command, RowOptions& options);

/// \param policy  of objects: rows use the row policy of that name, if there is one, otherwise `hint_aware`
void set_rows(const RowOptions& options, const std::string& policy, replay::Options& replay);

/// Warns if a recording has gathers without their rows.
void warn_of_missing_rows(const trace::Trace& trace);

}  // namespace tier::tool
