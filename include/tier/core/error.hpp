// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The three exceptions of the library; `docs/errors.md` says which is thrown when.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>

#include <array>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace tier {

/// Thrown if no tier that could hold the bytes has room. The failed call has changed nothing, unless it says otherwise.
/// \code{.cpp}
/// try {
///   const tier::Tensor<float> larger_than_all_tiers{runtime, {1024, 1024, 1024}};
/// } catch (const tier::OutOfTierMemory& error) {
///   std::fputs(error.what(), stderr);  // of each tier: how much is free, in one piece, and in use
///   if (error.cause()) std::fputs("a slow tier has failed\n", stderr);
/// }
/// \endcode
class TIER_EXPORT OutOfTierMemory : public std::bad_alloc {
 public:
  /// \param message  copied into the exception and cut to fit, so that neither making it nor `what()` allocates.
  explicit OutOfTierMemory(std::string_view message, std::error_code cause = {}) noexcept;

  /// Returns the message: the tiers, with bytes requested, free, in the largest free run, and pinned.
  [[nodiscard]] const char* what() const noexcept override { return message_.data(); }
  /// Returns the error of the demotion that failed to make room; zero if none failed.
  [[nodiscard]] std::error_code cause() const noexcept { return cause_; }

 private:
  std::array<char, 1000> message_;
  std::error_code cause_;
};

/// Thrown if a system call or an underlying library fails, or data cannot be read. Names the call, the tier and the object.
/// \code{.cpp}
/// try {
///   const auto disk = tier::make_tier(tier::tiers::file("/mnt/not_mounted", 1_GiB));
/// } catch (const tier::TierError& error) {
///   assert(error.code() == std::errc::no_such_file_or_directory);
///   std::fputs(error.what(), stderr);
/// }
/// \endcode
class TIER_EXPORT TierError : public std::system_error {
 public:
  TierError(std::error_code code, const std::string& what) : std::system_error{code, what} {}
};

/// Thrown if a spec, option, environment variable or file is malformed or unknown.
/// \code{.cpp}
/// #include <tier/memory/tier_text.hpp>
/// try {
///   const auto specs = tier::parse_tiers("dram:1GiB;disk:/mnt/nvme:64GiB");
/// } catch (const tier::ConfigError& error) {
///   std::fputs(error.what(), stderr);  // the text, the position, and what is allowed there
/// }
/// \endcode
class TIER_EXPORT ConfigError : public std::invalid_argument {
 public:
  /// \param problem  what is wrong   \param text  the whole text   \param position  the problem's offset in `text`
  /// \param allowed  what would have been accepted; may be empty
  ConfigError(std::string_view problem, std::string_view text, std::size_t position,
              std::string_view allowed = {});
  explicit ConfigError(const std::string& what) : std::invalid_argument{what} {}
};

/// Returns `errno` as an error code.
[[nodiscard]] TIER_EXPORT std::error_code last_system_error() noexcept;

}  // namespace tier
