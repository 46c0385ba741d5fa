// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  JSON as text, whatever bytes its strings have.
#include <tier/core/standard.hpp>

#include <string>

namespace tier::detail {

/// Names come from users and files, and may be anything. JSON is UTF-8: bytes that are not become U+FFFD, since the
/// JSON library would throw for them.
/// \tparam Json   a `nlohmann::basic_json`, whose header is the caller's to include
/// \param indent  blanks for each level; -1: all in one line
template <class Json>
[[nodiscard]] std::string json_text(const Json& json, int indent = 2) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tier::detail
