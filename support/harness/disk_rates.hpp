// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Measures what a disk delivers for a mix of reads and writes: the bound for moving blocks to and from it.
#include <tier/core/bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tier::bench {

/// A mix of requests to a disk, at random places.
struct DiskMix {
  Bytes block{4096};                 ///< size of a request; a multiple of the alignment of direct I/O
  double write_share = 0;            ///< of the requests
  unsigned depth = 16;               ///< requests in flight at any time, 1 to 64; each has its own thread
  Bytes span{std::size_t{1} << 30};  ///< of the file
  double seconds = 2;
  std::uint64_t seed = 1;
};

/// Rates in bytes per second, reached at the same time.
struct DiskRates {
  double read = 0;
  double write = 0;
};

/// Returns the mix in which these bytes were read and written back, in equal blocks with `depth` of them in flight; it is
/// the one to measure for `seconds_for`.
[[nodiscard]] DiskMix mix_of(Bytes read, Bytes written, Bytes block, unsigned depth);

/// \throws  `ConfigError` if the folder's disk has no direct I/O: the measurement would be of memory
void require_direct_io(const std::string& folder);

/// Measures with direct I/O on an unnamed, previously written file. The written bytes cannot be compressed or deduplicated.
/// \param folder  on the disk
/// \throws        `TierError` if the file cannot be made, read or written; `ConfigError` for an impossible mix, and if
///                there is no direct I/O
[[nodiscard]] DiskRates measure_disk(const std::string& folder, const DiskMix& mix);

/// Returns the least time for a disk of these rates to read and write this much, in seconds; infinity for rates of 0.
/// \throws  `ConfigError` if the rates are of another mix, by over two percentage points: they say nothing about this one
[[nodiscard]] double seconds_for(const DiskRates& rates, Bytes read, Bytes written);

/// Fills memory with incompressible random bytes, the same for the same seed.
void fill_incompressible(std::span<std::byte> bytes, std::uint64_t seed);

}  // namespace tier::bench
