// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Converts traces to and from strings.
#include <tier/trace/text.hpp>

#include <sstream>
#include <string>

namespace tier::test {
using namespace tier::trace;  // the code under test

inline Trace read(const std::string& text, const ReadLimits& limits = {}) {
  std::istringstream in{text};
  return read_text(in, "t", limits);
}

inline std::string written(const Trace& trace, Ending ending = Ending::Open) {
  std::ostringstream out;
  write_text(trace, out, ending);
  return out.str();
}

}  // namespace tier::test
