// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Suggests the known word that an unknown word was probably meant to be.
#include <tier/core/export.hpp>

#include <string>
#include <string_view>

namespace tier::detail {

/// Returns the most similar known word, ignoring case: few letters may be missing, wrong, extra or swapped. Empty if no
/// word is similar enough.
/// \param known  words between commas, as errors list what is allowed; `file:PATH` counts as the word `file`
[[nodiscard]] TIER_EXPORT std::string_view most_similar(std::string_view word, std::string_view known);

/// Returns ` (did you mean "dram"?)`, or nothing, to append to the unknown word in a message.
[[nodiscard]] TIER_EXPORT std::string did_you_mean(std::string_view word, std::string_view known);

}  // namespace tier::detail
