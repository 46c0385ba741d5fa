// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "colours.hpp"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace tier::tool {

fmt::text_style style_on(std::FILE* out, fmt::text_style style) {
  const char *no_colours = std::getenv("NO_COLOR"), *terminal = std::getenv("TERM");
  const bool unwanted = no_colours != nullptr && *no_colours != '\0';
  const bool able = terminal != nullptr && std::string_view{terminal} != "dumb";
  return !unwanted && able && ::isatty(::fileno(out)) == 1 ? style : fmt::text_style{};
}

}  // namespace tier::tool
