// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Deep-queue I/O on one file.
#include <tier/memory/io_request.hpp>

#include <span>

namespace tier {

/// Carries out batches of requests, many at once.   \threadsafety  Internally synchronised.
class IoBackend {
 public:
  virtual ~IoBackend() = default;
  /// Returns when all requests have ended, each with its `error` set.
  virtual void run(Direction direction, std::span<IoRequest> requests) noexcept = 0;
};

}  // namespace tier
