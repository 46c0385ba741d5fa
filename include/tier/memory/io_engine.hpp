// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The ways in which a file tier reads and writes its file.
#include <tier/core/standard.hpp>

#include <cstdint>

namespace tier {

/// The I/O engine of a file tier.
enum class IoEngine : std::uint8_t {
  Automatic,  ///< io_uring if the system allows it, else threads
  Uring,
  Threads
};

}  // namespace tier
