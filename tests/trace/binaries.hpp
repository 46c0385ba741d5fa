// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Converts traces to and from strings in binary form.
#include <tier/trace/binary.hpp>

#include <sstream>
#include <string>

#include "trace/binary_form.hpp"

namespace tier::test {

inline trace::Trace read_bytes(const std::string& bytes, const trace::ReadLimits& limits = {}) {
  std::istringstream in{bytes};
  return trace::read_binary(in, "t", limits);
}
inline std::string as_binary(const trace::Trace& trace) {
  std::ostringstream out;
  trace::write_binary(trace, out);
  return out.str();
}
inline std::string header_of(char content) {
  return trace::binary_header(static_cast<trace::Content>(content));
}
inline std::string block_of(const std::string& payload) { return trace::block_header(payload) + payload; }

}  // namespace tier::test
