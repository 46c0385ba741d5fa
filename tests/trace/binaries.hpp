// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Converts traces to and from strings in binary form.
#include <tier/trace/binary.hpp>

#include <sstream>
#include <string>

#include "trace/binary_form.hpp"

namespace tier::test {
using namespace tier::trace;  // the code under test

inline Trace read_bytes(const std::string& bytes, const ReadLimits& limits = {}) {
  std::istringstream in{bytes};
  return read_binary(in, "t", limits);
}
inline std::string as_binary(const Trace& trace) {
  std::ostringstream out;
  write_binary(trace, out);
  return out.str();
}
inline std::string header_of(char content) { return binary_header(static_cast<Content>(content)); }
inline std::string block_of(const std::string& payload) { return block_header(payload) + payload; }

}  // namespace tier::test
