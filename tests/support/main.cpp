// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>

#include "watchdog.hpp"

int main(int argc, char** argv) {
  // Tests measure nothing beside their own work, and leave the user's cache folder alone.
  ::setenv("TIER_COPY_KERNEL", "guess", 0);
  const tier::test::Watchdog watchdog;
  return doctest::Context{argc, argv}.run();
}
