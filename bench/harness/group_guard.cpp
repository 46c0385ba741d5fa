// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/group_guard.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <string>
#include <tier/core/error.hpp>

namespace tier::bench {
namespace {

// The guard is forked from a program that may have threads: what it calls is async-signal-safe.

/// \param processes  a file with their ids, one a line; 0 is one that we cannot see
void kill_all(const char* processes) {
  const int file = ::open(processes, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  std::array<char, 4096> text{};
  pid_t id = 0;
  for (ssize_t n = 0; (n = ::read(file, text.data(), text.size())) > 0;) {
    for (ssize_t i = 0; i < n; ++i) {
      const char c = text[static_cast<std::size_t>(i)];
      if (c >= '0' && c <= '9') {
        id = id * 10 + (c - '0');
        continue;
      }
      if (id > 0) ::kill(id, SIGKILL);
      id = 0;
    }
  }
  ::close(file);
}

[[noreturn]] void stand_guard(int end, const char* folder, const char* processes) {
  ::setsid();  // Ctrl-C is for the program
  ::dup2(end, 0);
  ::close_range(1, ~0U, 0);
  char none = 0;
  while (::read(0, &none, 1) < 0 && errno == EINTR) {
  }
  constexpr timespec pause{.tv_sec = 0, .tv_nsec = 10'000'000};
  for (int i = 0; i < 1000; ++i) {  // what was killed takes its time to go
    kill_all(processes);
    if (::rmdir(folder) == 0 || errno != EBUSY) break;
    ::nanosleep(&pause, nullptr);
  }
  ::_exit(0);
}

[[noreturn]] void fail(const char* call, const std::filesystem::path& folder, int error) {
  throw TierError{{error, std::generic_category()}, std::string{call} + " of \"" + folder.string() + "\""};
}

}  // namespace

GroupGuard::GroupGuard(std::filesystem::path folder) : folder_{std::move(folder)} {
  const std::string processes = folder_ / "cgroup.procs";
  if (::mkdir(folder_.c_str(), 0755) != 0) fail("mkdir", folder_, errno);
  std::array<int, 2> pipe{-1, -1};
  if (::pipe2(pipe.data(), O_CLOEXEC) == 0) guard_ = ::fork();
  if (guard_ == 0) stand_guard(pipe[0], folder_.c_str(), processes.c_str());
  const int error = errno;
  if (pipe[0] >= 0) ::close(pipe[0]);
  end_ = pipe[1];
  if (guard_ > 0) return;
  if (end_ >= 0) ::close(end_);
  ::rmdir(folder_.c_str());
  fail("fork of a guard", folder_, error);
}

GroupGuard::~GroupGuard() {
  ::close(end_);
  while (::waitpid(guard_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace tier::bench
