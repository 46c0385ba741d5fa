// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/trace/tables.hpp>

#include <charconv>

namespace tier::trace {

std::vector<bool> homes_of_rows(const Trace& trace) {
  std::vector<bool> homes(trace.tensors().size());
  for (const auto event : trace.events()) {
    if (event.kind != EventKind::Setting) continue;
    auto key = trace.name(trace.setting(event).key);
    if (!key.starts_with(table_key)) continue;
    key.remove_prefix(table_key.size());
    std::uint64_t id = 0;
    const auto* const end = key.data() + key.size();
    const auto read = std::from_chars(key.data(), end, id);
    if (read.ec != std::errc{} || read.ptr != end) continue;  // somebody else's setting
    if (const auto tensor = trace.find(id)) homes[*tensor] = true;
  }
  return homes;
}

}  // namespace tier::trace
