// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The sizes of the system's pages.
#include <tier/core/bytes.hpp>

#include <cstddef>

namespace tier {

/// The size of a transparent huge page, to which mappings are aligned.
constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

/// Returns the system's page size in bytes.
[[nodiscard]] std::size_t page_size() noexcept;

/// The huge pages that the administrator has reserved, of the system's default size.
struct HugePagePool {
  Bytes page;                       ///< 0 if the kernel has none
  std::size_t total = 0, free = 0;  ///< free: not reserved for a mapping either
};
[[nodiscard]] HugePagePool huge_page_pool();

}  // namespace tier
