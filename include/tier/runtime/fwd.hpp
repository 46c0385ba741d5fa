// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Forward declarations of runtime/, for headers that only name its types.
#include <tier/core/standard.hpp>

namespace tier {

class Runtime;
struct RuntimeOptions;

}  // namespace tier
