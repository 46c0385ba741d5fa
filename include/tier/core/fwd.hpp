// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Forward declarations of core/, for headers that only name its types.
#include <tier/core/standard.hpp>

#include <cstdint>

namespace tier {

class ConfigError;
class InputFile;
class OutOfTierMemory;
class OutputFile;
class TierError;
enum class Packing : std::uint8_t;
struct Bytes;
struct PolicySpec;

}  // namespace tier
