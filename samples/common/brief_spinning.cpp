// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "common/brief_spinning.hpp"

#include <unistd.h>

#include <cstdlib>

namespace sample {

void restart_with_brief_spinning(char** argv) {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return;
  ::setenv("OMP_WAIT_POLICY", "active", 1);
  ::setenv("GOMP_SPINCOUNT", "10000", 1);
  ::execv("/proc/self/exe", argv);  // returns only on failure; OpenMP's threads then spin for longer
}

}  // namespace sample
