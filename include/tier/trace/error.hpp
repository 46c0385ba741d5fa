// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The error for a trace that cannot be read.
#include <tier/core/error.hpp>
#include <tier/core/export.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace tier {

/// Thrown if a trace breaks a rule of its format, is cut off or damaged, or exceeds the reader's limits. The message is
/// `FILE:LINE: what is wrong, in "the line, shortened"`, or for the binary form `FILE: at byte N: what is wrong`.
/// \code{.cpp}
/// #include <tier/trace/text.hpp>
/// std::istringstream text{"H tmtrace=1\nT 0 many p weights\n"};
/// try {
///   const auto trace = tier::trace::read_text(text, "damaged.trace");
/// } catch (const tier::TraceError& error) {
///   assert(error.line() == 2);
///   std::fputs(error.what(), stderr);
/// }
/// \endcode
class TIER_EXPORT TraceError : public ConfigError {
 public:
  /// \param line  from 1, in the unpacked text   \param text  the line's text; may be empty
  TraceError(std::string_view file, std::uint64_t line, std::string_view problem, std::string_view text = {});

  [[nodiscard]] static TraceError at_byte(std::string_view file, std::uint64_t byte,
                                          std::string_view problem);

  /// Returns 0 in the binary form.
  [[nodiscard]] std::uint64_t line() const noexcept { return line_; }

 private:
  explicit TraceError(const std::string& message) : ConfigError{message} {}

  std::uint64_t line_ = 0;
};

}  // namespace tier
