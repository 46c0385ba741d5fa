// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Mapped memory.
#include <tier/memory/page_kind.hpp>

#include <cstddef>
#include <string>

namespace tier {

/// Maps whole pages at a multiple of `alignment`: some systems begin large mappings at 2 MiB, others at any page.
/// \param file       a descriptor, mapped shared; -1 for private anonymous memory   \param flags  further flags of mmap
/// \param alignment  a power of two
/// \return      null, with `errno`, if the system refuses
std::byte* map_aligned(std::size_t size, int file, int flags = 0,
                       std::size_t alignment = std::size_t{2} << 20) noexcept;

/// Reserves addresses, aligned as by `map_aligned`. They are inaccessible until `open_reserved`: a program that locks its
/// memory gets no pages there, core dumps omit them, and the system does not merge their pages with others.
std::byte* map_reserved(std::size_t size, int file) noexcept;
/// Makes reserved addresses accessible, and part of core dumps.   \return  false, with `errno`, if the system refuses
bool open_reserved(std::byte* begin, std::size_t size) noexcept;
/// Makes pages part of core dumps again.
void include_in_dumps(std::byte* begin, std::size_t size) noexcept;

/// Returns text to append to the error of a refused mapping, if the process has as many mappings as it may; else nothing.
/// Preserves `errno`.
[[nodiscard]] const char* if_mappings_are_used_up() noexcept;

/// Owns a mapping of anonymous memory or of a file that begins at a multiple of 2 MiB, for huge pages and alignment.
class Mapping {
 public:
  /// \param file   a descriptor, mapped shared and left out of core dumps; -1 for private anonymous memory
  /// \param tier   name for the error
  /// \param grows  the memory is faulted in part by part: each part is locked then if the program locks its memory, and
  ///               `include_in_dumps` makes it part of core dumps
  /// \throws      `TierError`; it says how many huge pages to reserve if too few are reserved
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

}  // namespace tier
