// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  I/O by threads that block.
#include <cstddef>
#include <memory>

#include "memory/io/io_backend.hpp"

namespace tier {

/// Makes a backend of threads.   \param alignment  that direct I/O on the file needs; 1 for buffered I/O
std::unique_ptr<IoBackend> make_thread_backend(int descriptor, std::size_t alignment);

}  // namespace tier
