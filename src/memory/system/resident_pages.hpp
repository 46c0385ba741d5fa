// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Makes pages resident, finds out which are, and returns them to the system.
#include <tier/core/bytes.hpp>

#include <cstddef>
#include <string>

namespace tier {

/// The resident bytes of a range, and those in transparent huge pages, by /proc/self/smaps. Neighbouring mappings that the
/// system has merged with the range count too.
struct Residence {
  Bytes resident, huge;
  Bytes page;  ///< largest page size; above the system's for reserved huge pages and devices
};
[[nodiscard]] Residence residence(const std::byte* begin, std::size_t size);
/// Returns `, 75 % in huge pages`, or nothing if no page is resident.
[[nodiscard]] std::string share_in_huge_pages(const std::byte* begin, std::size_t size);

/// Faults in pages, and preserves their contents.
/// \return  the system's error code, 0 if none: `EFAULT` if a store would raise SIGBUS; `EINVAL` before Linux 5.14
///          and if the system refuses the call
int try_to_populate(std::byte* begin, std::size_t size) noexcept;
/// Faults in pages that have no contents yet, so that no access to them faults later.   \return  the error code; 0 if none
int populate(std::byte* begin, std::size_t size) noexcept;
/// Like `populate`, with all CPUs of the process.
int populate_in_parallel(std::byte* begin, std::size_t size) noexcept;

/// Returns pages to the system: in private memory the next access finds zeros, or a fault where a program serves its own.
void drop_pages(std::byte* begin, std::size_t size) noexcept;

}  // namespace tier
