// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The word that was probably meant by one that is unknown.
#include <tier/core/export.hpp>

#include <string>
#include <string_view>

namespace tier::detail {

/// The most similar of the known words, in either letter case: one of which few letters are missing, wrong, too many or
/// swapped. Empty if none is that similar.
/// \param known  words between commas, as errors list what is allowed; of `file:PATH` the word is `file`
[[nodiscard]] TIER_EXPORT std::string_view most_similar(std::string_view word, std::string_view known);

/// ` (did you mean "dram"?)`, or nothing: to be put behind the unknown word in a message.
[[nodiscard]] TIER_EXPORT std::string did_you_mean(std::string_view word, std::string_view known);

}  // namespace tier::detail
