// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What the page says first: answers to what its reader wants to know.
#include <string>
#include <vector>

#include "analysis.hpp"

namespace tier::tool::report {

struct Answer {
  std::string question;
  std::vector<std::string> sentences;  ///< one or more
};

/// How much fast memory was used, where threads waited, what might be changed. The last follows from thresholds: it is advice.
/// \return  nothing where the trace has no times or does not tell which tier is the fastest
[[nodiscard]] std::vector<Answer> answers_of(const Report& report);

}  // namespace tier::tool::report
