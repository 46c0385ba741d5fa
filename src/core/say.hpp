// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Messages on stderr.

namespace tier::detail {

/// Writes a line that begins with "libtier: " to stderr, by one system call. Takes none of stdio's locks: a thread of the
/// program may hold them while it waits for memory that only the library can bring. What is too long is cut.
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...) noexcept;

}  // namespace tier::detail
