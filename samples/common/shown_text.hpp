// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Text of others in messages.
#include <string>
#include <string_view>

namespace sample {

/// At most 60 bytes of `text`, others than printable ASCII as `\xNN`, so that what nobody sees is seen; ... stands for the
/// rest.
[[nodiscard]] std::string shown(std::string_view text);

}  // namespace sample
