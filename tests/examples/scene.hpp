// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Where an example of a header runs: an empty directory, and a small runtime for those that make none.
#include "support/temporary_directory.hpp"

#include <tier/runtime/runtime.hpp>
#include <tier/tier.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <numeric>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tier::test {

/// Makes an empty directory the current one until it ends.
class Scene {
 public:
  Scene() : back_{std::filesystem::current_path()} { std::filesystem::current_path(directory_.path()); }
  ~Scene() { std::filesystem::current_path(back_); }
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  /// Returns a runtime of fast and slow memory, both of which the CPU can address; made by the first call.
  [[nodiscard]] Runtime& runtime() {
    if (!runtime_)
      runtime_.emplace(RuntimeOptions{.tiers = {tiers::dram(16_MiB), tiers::emulated("cxl", 64_MiB)}});
    return *runtime_;
  }

 private:
  TemporaryDirectory directory_;
  std::filesystem::path back_;
  std::optional<Runtime> runtime_;
};

}  // namespace tier::test
