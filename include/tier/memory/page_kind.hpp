// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The pages of memory that a tier asks of the system.
#include <tier/core/standard.hpp>

#include <cstdint>

namespace tier {

/// The pages of memory. Full windows take `Huge` and `Small` pages from their tier; `Hugetlb` pages stay in it.
enum class PageKind : std::uint8_t {
  Huge,     ///< transparent huge pages, if the system gives them
  Hugetlb,  ///< huge pages that the administrator has reserved (`vm.nr_hugepages`), of the system's default size
  Small
};

}  // namespace tier
