// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Owns reserved addresses.
#include <cstddef>
#include <memory>

namespace tier {

/// Unmaps addresses.
struct Unmap {
  std::size_t size = 0;
  void operator()(std::byte* begin) const noexcept;
};
/// Reserved addresses, as `map_reserved()` maps them; null if there are none.
using ReservedAddresses = std::unique_ptr<std::byte, Unmap>;

/// Reserves addresses by `map_reserved()`.   \return  null, with `errno`, if the system refuses
[[nodiscard]] ReservedAddresses reserve_addresses(std::size_t size, int file) noexcept;

}  // namespace tier
