// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Errors that a test injects into a tier.
#include <tier/core/export.hpp>
#include <tier/memory/tier.hpp>

#include <cstddef>
#include <cstdint>
#include <system_error>

namespace tier {

/// Says which accesses of a tier fail; given to it in its `TierSpec`. An access that fails moves no bytes.
/// \threadsafety  Called by any thread, by several at once.
class TIER_EXPORT IoFaults {
 public:
  virtual ~IoFaults() = default;

  /// One request of a transfer, or one copy by the CPU.   \return  its error; zero to let it pass
  virtual std::error_code on_io(Direction direction, std::uint64_t offset, std::size_t size) noexcept = 0;
  /// One `Tier::reserve`.
  virtual std::error_code on_reserve(std::uint64_t, std::uint64_t) noexcept { return {}; }
};

}  // namespace tier
