// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/trace/error.hpp>

#include "trace/characters.hpp"

namespace tier {
namespace {

std::string message_of(std::string_view file, std::uint64_t line, std::string_view problem,
                       std::string_view text) {
  std::string message{file};
  message.append(":").append(std::to_string(line)).append(": ").append(problem);
  if (!text.empty()) message.append(", in \"").append(trace::shortened(text)).append("\"");
  return message;
}

}  // namespace

TraceError::TraceError(std::string_view file, std::uint64_t line, std::string_view problem,
                       std::string_view text)
    : ConfigError{message_of(file, line, problem, text)}, line_{line} {}

TraceError TraceError::at_byte(std::string_view file, std::uint64_t byte, std::string_view problem) {
  return TraceError{
      std::string{file}.append(": at byte ").append(std::to_string(byte)).append(": ").append(problem)};
}

}  // namespace tier
