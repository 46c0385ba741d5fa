// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Records runtimes, to measure what that costs.
#include <stdlib.h>  // mkdtemp, setenv

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace tier::bench {

/// Records each runtime made during its life, into a folder in `TIER_BENCH_DIR` (default: the current one) that it removes
/// at its end. Must outlive those runtimes.
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

  /// Leaves later runtimes unrecorded.
  void stop() const { ::unsetenv("TIER_TRACE"); }

 private:
  std::string folder_;
};

}  // namespace tier::bench
