// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "terminal/standard_output.hpp"

#include <tier/core/error.hpp>

#include <cstdio>
#include <system_error>

namespace tier::tool {

// A flush can succeed although an earlier one, of a full buffer, has failed.
void flush_standard_output() {
  const bool failed = std::ferror(stdout) != 0;
  if (std::fflush(stdout) != 0) throw TierError{last_system_error(), "writing to standard output"};
  if (failed) throw TierError{std::make_error_code(std::errc::io_error), "writing to standard output"};
}

}  // namespace tier::tool
