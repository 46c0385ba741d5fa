// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Messages on stderr.

namespace tier::detail {

/// Writes a line that begins with "libtier: " to stderr by one system call, and cuts it if it is too long. Takes no stdio
/// lock, because a thread of the program may hold it while it waits for memory that only the library can provide.
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...) noexcept;

}  // namespace tier::detail
