// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/windows/reserved_addresses.hpp"

#include <sys/mman.h>

#include "memory/system/mapping.hpp"

namespace tier {

void Unmap::operator()(std::byte* begin) const noexcept { ::munmap(begin, size); }

ReservedAddresses reserve_addresses(std::size_t size, int file) noexcept {
  return ReservedAddresses{map_reserved(size, file), Unmap{size}};
}

}  // namespace tier
