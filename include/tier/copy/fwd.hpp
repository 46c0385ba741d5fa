// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Forward declarations of copy/, for headers that only name its types.
#include <tier/core/standard.hpp>

#include <cstdint>

namespace tier {

class Arena;
class CopyEngine;
class CopyTask;
class VirtualClock;
enum class Carrier : std::uint8_t;
enum class Priority : std::uint8_t;
struct IndexRange;
struct TierRange;

}  // namespace tier
