// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Where the kernel's text files are.
#include <string>

namespace tier {

/// The kernel's folders; tests use their own.
struct SystemPaths {
  std::string sysfs = "/sys";
  std::string procfs = "/proc/self";
  std::string sysctl = "/proc/sys";
  std::string zoneinfo = "/proc/zoneinfo";
};

}  // namespace tier
