// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  One run in this process: an index is built in some memory, and asked.
#include "options.hpp"
#include "report.hpp"

namespace pmr_index {

/// The run that `options.run` names.
/// \throws  `tier::ConfigError`, `tier::TierError`, and `std::bad_alloc` where its memory is too small
RunResult make_run(const Options& options);

}  // namespace pmr_index
