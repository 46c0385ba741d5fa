// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The settings that a recording begins with: tiers, their models, the policy.
#include <tier/manager/manager.hpp>
#include <tier/trace/recorder.hpp>

#include <string>
#include <utility>
#include <vector>

namespace tier::trace {

struct RecordingSettings {
  std::vector<std::string> tiers;  ///< names as in a spec; the second of two equal names is `dram#2`
  std::vector<std::pair<std::string, std::string>> settings;
};

[[nodiscard]] RecordingSettings settings_of(Manager& manager, const RecorderOptions& options);

}  // namespace tier::trace
