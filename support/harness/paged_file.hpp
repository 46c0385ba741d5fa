// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The operating system's paging as a comparison: data in a shared mapping of a file.
#include <tier/core/bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

#include "harness/unnamed_file.hpp"

namespace tier::bench {

/// The least memory for a program's pages under paging. Pages in transfer cannot be evicted: with 4 MiB the system, which
/// reads ahead, has killed the program for lack of others.
inline constexpr Bytes least_for_paging{16 << 20};

/// The advice to the system about coming accesses.
enum class Paging : std::uint8_t {
  Default,  ///< none: it reads ahead as it sees fit
  Random,   ///< MADV_RANDOM: it reads only what is touched
  WillNeed  ///< MADV_RANDOM, and MADV_WILLNEED for announced ranges
};

/// A mapped file without a name, allocated in full from the start. It is addressed like memory; the system decides which
/// part is resident.
/// \threadsafety  `will_need` may be called by any thread
class PagedFile {
 public:
  /// \param folder  on a disk
  /// \throws        `TierError` naming the call and the folder; `ConfigError` if its files are in memory
  PagedFile(const std::string& folder, Bytes size, Paging paging);
  ~PagedFile();
  PagedFile(const PagedFile&) = delete;
  PagedFile& operator=(const PagedFile&) = delete;

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] bool wants_announcements() const noexcept { return paging_ == Paging::WillNeed; }

  /// Writes all to the disk, drops it from memory, and applies the advice. The system has no advice before that: fill the
  /// data first.   \throws  `TierError`
  void start_cold();
  /// Advises that everything will be read in order.   \throws  `TierError`
  void will_read_through();
  /// Announces a range, widened to pages, for the variant with announcements.
  void will_need(std::size_t offset, std::size_t size) const noexcept;

 private:
  void advise(int advice, const char* call);

  Bytes size_;
  Paging paging_;
  UnnamedFile file_;
  std::byte* data_ = nullptr;
};

/// The operating system's paging of this process, in counts.
struct PagingCounts {
  std::uint64_t waits = 0;  ///< major faults: accesses that waited for the disk
  Bytes read, written;      ///< from and to disks; dirtied pages count as written
  Bytes resident;           ///< peak, of all time

  friend PagingCounts operator-(const PagingCounts& a, const PagingCounts& b) {
    return {a.waits - b.waits, a.read - b.read, a.written - b.written, a.resident};
  }
};
[[nodiscard]] PagingCounts paging_counts() noexcept;

}  // namespace tier::bench
