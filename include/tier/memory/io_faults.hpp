// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The errors that a test injects into a tier.
#include <tier/core/export.hpp>
#include <tier/memory/tier.hpp>

#include <cstddef>
#include <cstdint>
#include <system_error>

namespace tier {

/// Lets a test see what a program does when a device fails: decides which accesses of a tier fail. It is passed in the
/// tier's `TierSpec`. An access that fails moves no bytes.
/// \code{.cpp}
/// struct FailingWrites final : tier::IoFaults {
///   std::error_code on_io(tier::Direction direction, std::uint64_t, std::size_t) noexcept override {
///     return direction == tier::Direction::Write ? make_error_code(std::errc::io_error) : std::error_code{};
///   }
/// };
/// auto slow = tier::tiers::emulated("nvme", 64_MiB);
/// slow.faults = std::make_shared<FailingWrites>();
/// \endcode
/// \threadsafety  Several threads may call it at once.
class TIER_EXPORT IoFaults {
 public:
  virtual ~IoFaults() = default;

  /// Called for each request of a transfer, and each copy by the CPU.   \return  its error; zero to let it pass
  virtual std::error_code on_io(Direction direction, std::uint64_t offset, std::size_t size) noexcept = 0;
  /// Called for each `Tier::reserve`.   \return  its error; zero to let it pass
  virtual std::error_code on_reserve(std::uint64_t, std::uint64_t) noexcept { return {}; }
};

}  // namespace tier
