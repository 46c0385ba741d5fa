// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The answers at the top of the page.
#include <string>
#include <vector>

#include "analysis.hpp"

namespace tier::tool::report {

struct Answer {
  std::string question;
  std::vector<std::string> sentences;  ///< one or more
};

/// Answers how much fast memory was used, where threads waited, and what might be changed. The last is advice that follows
/// from thresholds.   \return  nothing if the trace has no times or does not tell which tier is the fastest
[[nodiscard]] std::vector<Answer> answers_of(const Report& report);

}  // namespace tier::tool::report
