// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The pause instruction for a loop that waits for another thread.
#include <tier/core/standard.hpp>

namespace tier::detail {

/// Tells the processor that the loop waits for another thread: it saves power, and leaves the loop sooner.
inline void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");  // `yield` does nothing on most processors
#endif
}

}  // namespace tier::detail
