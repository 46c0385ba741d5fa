// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/assert.hpp>
#include <tier/core/error.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace tier {
namespace {

std::string config_message(std::string_view problem, std::string_view text, std::size_t position,
                           std::string_view allowed) {
  std::string message{problem};
  message.append(" at position ").append(std::to_string(position)).append(" of \"").append(text).append("\"");
  if (!allowed.empty()) message.append("; allowed: ").append(allowed);
  return message;
}

}  // namespace

OutOfTierMemory::OutOfTierMemory(std::string_view message, std::error_code cause) noexcept : cause_{cause} {
  const auto n = std::min(message.size(), message_.size() - 1);
  std::copy_n(message.data(), n, message_.data());
  message_[n] = '\0';
}

ConfigError::ConfigError(std::string_view problem, std::string_view text, std::size_t position,
                         std::string_view allowed)
    : std::invalid_argument{config_message(problem, text, position, allowed)} {}

std::error_code last_system_error() noexcept { return {errno, std::generic_category()}; }

namespace detail {
void assertion_failed(const char* condition, const char* message, const char* file, int line) noexcept {
  std::fprintf(stderr, "libtier: %s:%d: %s (%s)\n", file, line, message, condition);
  std::abort();
}
}  // namespace detail

}  // namespace tier
