// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What a disk gives to a mix of reads and writes: the bound of anything that moves blocks to and from it.
#include <tier/core/bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tier::bench {

/// Requests to a disk, at random places.
struct DiskMix {
  Bytes block{4096};       ///< of one request; a multiple of what direct I/O asks for
  double write_share = 0;  ///< of the requests
  unsigned depth = 16;     ///< requests in flight all the time, 1 to 64: each has a thread of its own
  Bytes span{std::size_t{1} << 30};  ///< of the file
  double seconds = 2;
  std::uint64_t seed = 1;
};

/// In bytes per second, of what was asked for at the same time.
struct DiskRates {
  double read = 0;
  double write = 0;
};

/// The mix in which so much was read and written back, in blocks of one size with `depth` of them in flight: what to
/// measure for `seconds_for`.
[[nodiscard]] DiskMix mix_of(Bytes read, Bytes written, Bytes block, unsigned depth);

/// \throws  `ConfigError` for a folder on whose disk nothing goes past the page cache: what is measured would be memory
void require_direct_io(const std::string& folder);

/// Measures with direct I/O on a file without a name that was written before. What is written no disk can store in less.
/// \param folder  on the disk
/// \throws        `TierError` if the file cannot be made, read or written; `ConfigError` for a mix that makes no sense,
///                and where there is no direct I/O
[[nodiscard]] DiskRates measure_disk(const std::string& folder, const DiskMix& mix);

/// How long a disk of these rates takes at least to read and write so much, in seconds; infinity if it gave nothing.
/// \throws  `ConfigError` if the two were measured in another mix, by over two points of a hundred: what a disk gives
///          to another mix these rates do not tell
[[nodiscard]] double seconds_for(const DiskRates& rates, Bytes read, Bytes written);

/// Fills memory with what cannot be compressed: random bytes, the same for the same seed.
void fill_incompressible(std::span<std::byte> bytes, std::uint64_t seed);

}  // namespace tier::bench
