// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "watchdog.hpp"

int main(int argc, char** argv) {
  const tier::test::Watchdog watchdog;
  return doctest::Context{argc, argv}.run();
}
