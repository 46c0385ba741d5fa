// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A thread that the kernel refuses system calls, as containers' rules do.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <functional>
#include <thread>

namespace tier::test {

/// Runs `action` in a thread where system call `number` fails with `error`. Its threads inherit that.
inline void with_denied_call(long number, int error, const std::function<void()>& action) {
  std::thread{[&] {
    std::array<::sock_filter, 4> rules{{
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(::seccomp_data, nr)},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, static_cast<unsigned>(number)},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
    }};
    const ::sock_fprog program{rules.size(), rules.data()};
    const bool denied = ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                        ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
    CHECK(denied);
    if (denied) action();
  }}.join();
}

}  // namespace tier::test
