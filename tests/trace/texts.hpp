// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Converts traces to and from strings.
#include <tier/trace/text.hpp>

#include <sstream>
#include <string>

namespace tier::test {

inline trace::Trace read(const std::string& text, const trace::ReadLimits& limits = {}) {
  std::istringstream in{text};
  return trace::read_text(in, "t", limits);
}

inline std::string written(const trace::Trace& trace, trace::Ending ending = trace::Ending::Open) {
  std::ostringstream out;
  trace::write_text(trace, out, ending);
  return out.str();
}

}  // namespace tier::test
