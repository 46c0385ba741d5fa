// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The records of a trace in binary form.
#include <tier/trace/trace.hpp>

#include <cstdint>

namespace tier::trace {

/// The kind of a record, by its first byte: one for each kind of event, and those around the events.
enum class BinaryRecord : std::uint8_t { Name = 1, Header = 2, End = 3, FirstEvent = 16 };

[[nodiscard]] constexpr BinaryRecord record_of(EventKind kind) noexcept {
  return static_cast<BinaryRecord>(static_cast<std::uint8_t>(BinaryRecord::FirstEvent) +
                                   static_cast<std::uint8_t>(kind));
}

}  // namespace tier::trace
