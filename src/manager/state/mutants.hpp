// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Seeded faults for testing the tests (`TIER_BUILD_MUTANTS`); each must be found by the property tests.
#include <cstdint>

namespace tier {

enum class Mutant : std::uint8_t {
  None,
  DirtyDecidedAtFetch,
  VersionNotRaised,
  PinIgnored,
  StaleRegionPublished,
  LastBlockShort,
  MoverWithoutVersionCheck,
  WritesNotHeld,
  ReadersNotCounted
};

#if defined(TIER_MUTANTS)
Mutant& active_mutant() noexcept;
inline bool mutated(Mutant m) noexcept { return active_mutant() == m; }
#else
constexpr bool mutated(Mutant) noexcept { return false; }
#endif

}  // namespace tier
