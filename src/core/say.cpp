// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/say.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <string_view>

namespace tier::detail {

void say(const char* format, ...) noexcept {
  constexpr std::string_view begin = "libtier: ";
  std::array<char, 4096> line{};
  std::copy(begin.begin(), begin.end(), line.begin());
  std::va_list arguments;
  va_start(arguments, format);
  const int n = std::vsnprintf(line.data() + begin.size(), line.size() - begin.size() - 1, format, arguments);
  va_end(arguments);
  auto size = begin.size() +
              std::min<std::size_t>(n > 0 ? static_cast<std::size_t>(n) : 0, line.size() - begin.size() - 2);
  line[size++] = '\n';
  for (std::size_t written = 0; written < size;) {
    const auto result = ::write(STDERR_FILENO, line.data() + written, size - written);
    if (result <= 0 && errno != EINTR) return;
    if (result > 0) written += static_cast<std::size_t>(result);
  }
}

}  // namespace tier::detail
