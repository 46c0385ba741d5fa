// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The seed of a randomised test: fresh, or taken from the environment variable TIER_SEED to replay a run.
#include <cstdint>
#include <cstdlib>
#include <random>

namespace tier::test {

/// Returns the seed; print it with `CAPTURE`.
inline std::uint64_t seed() {
  if (const char* text = std::getenv("TIER_SEED")) return std::strtoull(text, nullptr, 0);
  return std::random_device{}();
}

}  // namespace tier::test
