// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Writes JSON as text, even if its strings are not UTF-8.
#include <tier/core/standard.hpp>

#include <string>

namespace tier::detail {

/// Returns the text of `json`. Names come from users and files and may hold any bytes; bytes that are not UTF-8 become
/// U+FFFD, because the JSON library would throw.
/// \tparam Json   a `nlohmann::basic_json`; the caller includes its header
/// \param indent  blanks for each level; -1 writes a single line
template <class Json>
[[nodiscard]] std::string json_text(const Json& json, int indent = 2) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tier::detail
