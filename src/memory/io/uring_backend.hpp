// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  I/O by io_uring.
#include <cstddef>
#include <memory>
#include <string>

#include "memory/io/io_backend.hpp"

namespace tier {

/// Makes a backend of rings.   \param alignment  that direct I/O on the file needs; 1 for buffered I/O
/// \return  null, with `reason`, if the system or the build has no io_uring
std::unique_ptr<IoBackend> make_uring_backend(int descriptor, std::size_t alignment, std::string& reason);

}  // namespace tier
