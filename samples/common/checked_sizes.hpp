// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Checks numbers and sizes of options: values out of range or that would overflow are rejected by name.
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace sample {

/// The most memory of a program. More is a mistake, and a sum of some thousand such sizes does not overflow.
inline constexpr std::uint64_t most_bytes = std::uint64_t{1} << 50;

/// Checks that an option's value is in range.   \throws  `tier::ConfigError` naming the option, its value and the range
void check_range(std::string_view option, std::uint64_t value, std::uint64_t least, std::uint64_t most);

/// Returns the product of the factors.
/// \param what  for the message: "the tables of --rows, --dim and --tables"
/// \throws      `tier::ConfigError` naming `what` and the factors if it is above `most`
[[nodiscard]] std::uint64_t checked_product(std::initializer_list<std::uint64_t> factors,
                                            std::string_view what, std::uint64_t most = most_bytes);

}  // namespace sample
