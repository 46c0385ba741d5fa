// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Mapped memory.
#include <tier/memory/tiers.hpp>

#include <cstddef>
#include <span>
#include <string>

namespace tier {

/// Of the system, in bytes.
[[nodiscard]] std::size_t page_size() noexcept;

/// The huge pages that the administrator has reserved, of the system's default size.
struct HugePagePool {
  Bytes page;                       ///< 0: the kernel has none
  std::size_t total = 0, free = 0;  ///< free: nobody has claim to them
};
[[nodiscard]] HugePagePool huge_page_pool();

/// How much of what a range has in memory is in transparent huge pages, by /proc/self/smaps. Neighbouring mappings that
/// the system has joined to it count with it.
struct Residence {
  Bytes resident, huge;
  Bytes page;  ///< of reserved huge pages and of devices: larger than those of the system
};
[[nodiscard]] Residence residence(const std::byte* begin, std::size_t size);
/// `, 75 % in huge pages`, or nothing where nothing is in memory.
[[nodiscard]] std::string share_in_huge_pages(const std::byte* begin, std::size_t size);

/// Maps whole pages, at a multiple of 2 MiB: some systems begin what is large there, others at any page.
/// \param file       a descriptor, mapped shared; -1 for private anonymous memory   \param flags  of mmap, besides
/// \param alignment  a power of two
/// \return      null, with `errno`, if the system refuses
std::byte* map_aligned(std::size_t size, int file, int flags = 0,
                       std::size_t alignment = std::size_t{2} << 20) noexcept;

/// Reserves addresses as `map_aligned` maps them. Until `open_reserved` nobody can access them: a program that locks its memory
/// gets no pages there, core dumps leave them out, and the system does not merge their pages with others.
std::byte* map_reserved(std::size_t size, int file) noexcept;
/// Makes reserved addresses accessible, and part of core dumps.   \return  false, with `errno`, if the system refuses
bool open_reserved(std::byte* begin, std::size_t size) noexcept;
/// Makes pages part of core dumps again.
void include_in_dumps(std::byte* begin, std::size_t size) noexcept;

/// What to add to the error of a mapping that the system has refused: that the process has as many as it may, or nothing.
/// Leaves `errno` as it is.
[[nodiscard]] const char* if_mappings_are_used_up() noexcept;

/// Owns a mapping of anonymous memory or of a file; it begins at a multiple of 2 MiB, for huge pages and alignment.
class Mapping {
 public:
  /// \param file   a descriptor, mapped shared and left out of core dumps; -1 for private anonymous memory
  /// \param tier   for the error
  /// \param grows  faulted in part by part: a program that locks its memory locks each part then, and `include_in_dumps`
  ///               makes it part of core dumps
  /// \throws      `TierError`, which says how many pages to reserve if too few of them are
  Mapping(std::size_t size, int file, const std::string& tier, PageKind pages = PageKind::Huge,
          bool grows = false);
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  std::byte* data_;
  std::size_t size_;
};

/// Moves the bytes of requests to a tier that begins at `tier`.
void copy_requests(Direction direction, std::byte* tier, std::span<IoRequest> requests) noexcept;

/// Faults in pages, and leaves contents as they are.
/// \return  the system's error code, 0 if none: `EFAULT` where a store would raise SIGBUS; `EINVAL` before Linux 5.14
///          and where the system refuses to do so
int try_to_populate(std::byte* begin, std::size_t size) noexcept;
/// Faults in pages that have no contents yet, so that no access to them faults later.   \return  the system's error code, 0 if none
int populate(std::byte* begin, std::size_t size) noexcept;
/// The same with all CPUs.
int populate_in_parallel(std::byte* begin, std::size_t size) noexcept;

}  // namespace tier
