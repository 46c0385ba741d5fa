// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/tiers/built_without.hpp"

#include <tier/core/error.hpp>

namespace tier {

void throw_built_without(const std::string& tier, const char* option, const char* library,
                         const char* package) {
  throw ConfigError{"tier " + tier + " needs " + library +
                    ", but this libtier was built without it: build with " + option +
                    "=ON (on Debian with the package " + package + ")"};
}

}  // namespace tier
