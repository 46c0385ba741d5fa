// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The operating system's paging, to compare with: data in a shared mapping of a file.
#include <tier/core/bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

#include "harness/unnamed_file.hpp"

namespace tier::bench {

/// The least that a program which pages may use for its pages. Those on their way from and to the disk cannot be given up:
/// with 4 MiB the system, which reads ahead, has been seen to kill the program for want of others.
inline constexpr Bytes least_for_paging{16 << 20};

/// What the system is told of the accesses to come.
enum class Paging : std::uint8_t {
  Default,  ///< nothing: it reads ahead as it sees fit
  Random,   ///< MADV_RANDOM: it reads what is touched
  WillNeed  ///< MADV_RANDOM, and MADV_WILLNEED on what the program announces
};

/// A file without a name, as large as its data from the start, mapped. It is addressed as memory is; what of it is in
/// memory, the system decides.
/// \threadsafety  `will_need` may be called by any thread.
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

  /// Writes all to the disk and drops it from memory, and gives the advice. Until then the system knows nothing: fill
  /// the data first.   \throws  `TierError`
  void start_cold();
  /// From here on all is read in order.   \throws  `TierError`
  void will_read_through();
  /// Announces a range, widened to pages; for the variant that wants announcements.
  void will_need(std::size_t offset, std::size_t size) const noexcept;

 private:
  void advise(int advice, const char* call);

  Bytes size_;
  Paging paging_;
  UnnamedFile file_;
  std::byte* data_ = nullptr;
};

/// What the operating system's paging has done for this process.
struct PagingCounts {
  std::uint64_t waits = 0;  ///< major faults: accesses that waited for the disk
  Bytes read, written;      ///< from and to disks; what is dirty counts as written
  Bytes resident;           ///< most of it at once, ever

  friend PagingCounts operator-(const PagingCounts& a, const PagingCounts& b) {
    return {a.waits - b.waits, a.read - b.read, a.written - b.written, a.resident};
  }
};
[[nodiscard]] PagingCounts paging_counts() noexcept;

}  // namespace tier::bench
