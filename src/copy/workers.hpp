// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The interface to TBB; only its implementation is compiled without ThreadSanitizer.
#include <tier/copy/parallel_for.hpp>

#include <memory>

namespace tier {

/// Runs a function on threads that help the caller. A call passes a plain function and a pointer, so that nothing
/// instrumented runs between the caller's last write and the helper's first announcement.
class Arena::Workers {
 public:
  /// \param threads  two or more, callers included
  explicit Workers(unsigned threads);
  ~Workers();

  using Work = void (*)(void* context) noexcept;
  /// Calls `work(context)` at most `times` times, at least once on the caller, the others on free workers; returns when all
  /// calls have returned.
  void help(unsigned times, Work work, void* context) noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tier
