// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The page's style sheet and script, which are files of their own in the source tree.
#include <string_view>

namespace tier::tool::report {

extern const std::string_view style_sheet, script;

}  // namespace tier::tool::report
