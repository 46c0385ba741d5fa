// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A word from the child of a fork that touches what is absent from a window there, before it ends.

namespace tier {

/// Installs a handler of SIGSEGV in this process, which is the child of a fork: it names on stderr the address and the object
/// of a window, puts the handler from before back, and has the access repeated, which that handler, or the end of the process,
/// then gets. Other faults go straight to it. Once for a process; its children have it, too.
void explain_faults_in_child() noexcept;

}  // namespace tier
