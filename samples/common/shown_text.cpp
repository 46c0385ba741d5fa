// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "common/shown_text.hpp"

#include <fmt/format.h>

namespace sample {

std::string shown(std::string_view text) {
  constexpr std::size_t most = 60;
  std::string result;
  for (const char c : text.substr(0, most)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f)
      result += c;
    else
      result += fmt::format("\\x{:02x}", byte);
  }
  return text.size() > most ? result + "..." : result;
}

}  // namespace sample
