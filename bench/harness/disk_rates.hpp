// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What a disk gives to a mix of reads and writes: the bound of anything that moves blocks to and from it.
#include <tier/core/bytes.hpp>

#include <cstdint>
#include <string>

namespace tier::bench {

/// Requests to a disk, at random places.
struct DiskMix {
  Bytes block{4096};                 ///< of one request; a multiple of what direct I/O asks for
  double write_share = 0;            ///< of the requests
  unsigned depth = 16;               ///< requests in flight, at most 64
  Bytes span{std::size_t{1} << 30};  ///< of the file
  double seconds = 2;
  std::uint64_t seed = 1;
};

/// In bytes per second, of what was asked for at the same time.
struct DiskRates {
  double read = 0;
  double write = 0;
};

/// Measures with direct I/O on a scratch file that was written before, through the library's file tier.
/// \param folder  on the disk
/// \throws        `TierError` if the file cannot be made, read or written; `ConfigError` for a mix that makes no sense,
///                and where there is no direct I/O
DiskRates measure_disk(const std::string& folder, const DiskMix& mix);

/// How long a disk of these rates takes at least to read and write so much, in seconds. The rates are those of the mix
/// of the two.
[[nodiscard]] double seconds_for(const DiskRates& rates, Bytes read, Bytes written);

}  // namespace tier::bench
