// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Numbers and sizes of options, which may be anything: what is out of range or would wrap is refused in words.
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace sample {

/// A program's memory in all, at most: what is more is a mistake, and a sum of some thousand such sizes does not wrap.
inline constexpr std::uint64_t most_bytes = std::uint64_t{1} << 50;

/// \throws  `tier::ConfigError` naming the option, its value and what is allowed
void check_range(std::string_view option, std::uint64_t value, std::uint64_t least, std::uint64_t most);

/// The product of the factors.
/// \param what  for the message: "the tables of --rows, --dim and --tables"
/// \throws      `tier::ConfigError` naming `what` and the factors if it is above `most`
[[nodiscard]] std::uint64_t checked_product(std::initializer_list<std::uint64_t> factors,
                                            std::string_view what, std::uint64_t most = most_bytes);

}  // namespace sample
