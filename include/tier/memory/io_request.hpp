// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  One transfer between memory and a tier.
#include <tier/core/standard.hpp>

#include <cstddef>
#include <cstdint>
#include <system_error>

namespace tier {

enum class Direction : std::uint8_t { Read, Write };

/// One transfer between memory and a tier, as part of a batch.
struct IoRequest {
  std::uint64_t offset =
      0;  ///< in the tier; a multiple of `Tier::io_alignment()` if the tier is not addressable
  std::byte* memory = nullptr;  ///< aligned in the same way
  std::size_t size = 0;         ///< a multiple in the same way
  std::error_code error{};      ///< set on return
  /// A part of the same access as the request before it, such as a row's state beside its values: an emulated tier charges
  /// both as one. Only for tiers that the CPU can address.
  bool joined = false;
};

}  // namespace tier
