// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Makes the kernel refuse system calls to a thread, as the rules of containers do.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

namespace tier::test {

/// An argument of a system call. Only its low half is compared, which is at this address on little-endian machines.
struct Argument {
  unsigned index = 0, value = 0;
};

/// Runs `action` in a thread where system call `number` fails with `error`, or only with the argument `only`. Threads that
/// it starts inherit that.
inline void with_denied_call(long number, int error, const std::function<void()>& action,
                             std::optional<Argument> only = {}) {
  std::thread{[&] {
    std::vector<::sock_filter> rules{
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(::seccomp_data, nr)},
        {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, static_cast<unsigned>(number)},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
    };
    if (only)
      rules.insert(
          rules.end(),
          {{BPF_LD | BPF_W | BPF_ABS, 0, 0,
            static_cast<unsigned>(offsetof(::seccomp_data, args) + only->index * sizeof(std::uint64_t))},
           {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, only->value},
           {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}});
    rules.push_back({BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)});
    const ::sock_fprog program{static_cast<unsigned short>(rules.size()), rules.data()};
    const bool denied = ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                        ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
    CHECK(denied);
    if (denied) action();
  }}.join();
}

/// Makes system call `number` fail with `error` in all threads of this process from now on, as when a program enters a
/// sandbox after it has started. \return  false if the system does not allow that
[[nodiscard]] inline bool deny_call_from_now_on(long number, int error) {
  std::array<::sock_filter, 4> rules{{
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(::seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, static_cast<unsigned>(number)},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)},
  }};
  const ::sock_fprog program{static_cast<unsigned short>(rules.size()), rules.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

}  // namespace tier::test
