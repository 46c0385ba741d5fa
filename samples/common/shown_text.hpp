// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Makes foreign text safe to show in messages.
#include <string>
#include <string_view>

namespace sample {

/// Returns at most 60 bytes of `text`, then ... for the rest. Bytes other than printable ASCII become `\xNN`, so that they
/// are visible.
[[nodiscard]] std::string shown(std::string_view text);

}  // namespace sample
