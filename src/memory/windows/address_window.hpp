// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A range of addresses in which blocks have fixed addresses.
#include <cstddef>

#include <tier/memory/region_heap.hpp>

namespace tier {

/// The unit of window addresses and sizes: whole pages on any supported system.
constexpr std::size_t window_unit = std::size_t{64} << 10;

/// A reserved range of addresses.
struct AddressWindow {
  std::byte* address = nullptr;
  std::size_t size = 0;
  RegionHeap::Slot slot = RegionHeap::none;
};

}  // namespace tier
