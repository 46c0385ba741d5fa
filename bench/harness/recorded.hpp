// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Has runtimes recorded, to see what that costs.
#include <stdlib.h>  // mkdtemp, setenv

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace tier::bench {

/// While it lives, each runtime that is made is recorded, into a folder in `TIER_BENCH_DIR` (default: the current one) that
/// goes with it: it outlives those runtimes.
class Recorded {
 public:
  Recorded() {
    const char* const folder = std::getenv("TIER_BENCH_DIR");
    folder_ = std::string{folder != nullptr ? folder : "."} + "/recorded-XXXXXX";
    if (::mkdtemp(folder_.data()) == nullptr)
      throw std::system_error{errno, std::generic_category(), "mkdtemp of " + folder_};
    ::setenv("TIER_TRACE", (folder_ + "/run.tt").c_str(), 1);
  }
  ~Recorded() {
    ::unsetenv("TIER_TRACE");
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;

  /// From now on others are not.
  void stop() const { ::unsetenv("TIER_TRACE"); }

 private:
  std::string folder_;
};

}  // namespace tier::bench
