// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Explains, in the child of a fork, an access to an absent page of a window before the process ends.

namespace tier {

/// Installs a handler of SIGSEGV in this process, which is the child of a fork. It names the address and the object of a
/// window on stderr, restores the previous handler, and repeats the access, which then goes to that handler or ends the
/// process. Other faults go straight to the previous handler. Installed once for a process; its children have it, too.
void explain_faults_in_child() noexcept;

}  // namespace tier
