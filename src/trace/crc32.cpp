// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/crc32.hpp"

#include <zlib.h>

namespace tier::trace {

std::uint32_t crc32_of(std::string_view bytes, std::uint32_t before) noexcept {
  return static_cast<std::uint32_t>(
      crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace tier::trace
