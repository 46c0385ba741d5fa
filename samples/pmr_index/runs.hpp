// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Makes one run in this process: builds an index in some memory, and queries it.
#include "index_console/options.hpp"
#include "index_console/report.hpp"

namespace pmr_index {

/// Makes the run that `options.run` names.
/// \throws  `tier::ConfigError`, `tier::TierError`, and `std::bad_alloc` if its memory is too small
RunResult make_run(const Options& options);

}  // namespace pmr_index
