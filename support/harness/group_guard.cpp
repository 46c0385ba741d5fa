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
#include <string_view>
#include <tier/core/error.hpp>
#include <tuple>

namespace tier::bench {
namespace {

// The guard is forked from a program that may have threads, so it calls only async-signal-safe functions.

/// \param processes  a file with their ids, one per line; 0 is one that we cannot see
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

/// \param statistics  of a group, as in cgroup.stat   \return  the number of groups below it; -1: unknown
long groups_below(const char* statistics) {
  constexpr std::string_view first = "nr_descendants ";
  std::array<char, 64> text{};
  const int file = ::open(statistics, O_RDONLY | O_CLOEXEC);
  const auto size = file < 0 ? -1 : ::read(file, text.data(), text.size());
  if (file >= 0) ::close(file);
  if (size <= 0 || !std::string_view{text.data(), static_cast<std::size_t>(size)}.starts_with(first))
    return -1;
  long count = 0;
  for (auto i = first.size(); i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i)
    count = count * 10 + (text[i] - '0');
  return count;
}

struct Parent {
  std::string passed_on, statistics;
  long groups = -1;  // below it, before ours was made; -1: nothing is taken back
};

void take_memory_back(const Parent& parent) {
  if (parent.groups < 0 || groups_below(parent.statistics.c_str()) != parent.groups) return;
  const int file = ::open(parent.passed_on.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  constexpr std::string_view less = "-memory";
  std::ignore = ::write(file, less.data(), less.size());  // fails if a group below also passes it on
  ::close(file);
}

[[noreturn]] void stand_guard(int end, const char* folder, const char* processes, const Parent& parent) {
  ::setsid();  // Ctrl-C is meant for the program
  ::dup2(end, 0);
  ::close_range(1, ~0U, 0);
  char none = 0;
  while (::read(0, &none, 1) < 0 && errno == EINTR) {
  }
  constexpr timespec pause{.tv_sec = 0, .tv_nsec = 10'000'000};
  for (int i = 0; i < 1000; ++i) {  // killed processes take time to end
    kill_all(processes);
    if (::rmdir(folder) == 0 || errno != EBUSY) break;
    ::nanosleep(&pause, nullptr);
  }
  take_memory_back(parent);
  ::_exit(0);
}

[[noreturn]] void fail(const char* call, const std::filesystem::path& folder, int error) {
  throw TierError{{error, std::generic_category()}, std::string{call} + " of \"" + folder.string() + "\""};
}

}  // namespace

GroupGuard::GroupGuard(std::filesystem::path folder, bool takes_memory_back) : folder_{std::move(folder)} {
  const std::string processes = folder_ / "cgroup.procs";
  Parent parent{folder_.parent_path() / "cgroup.subtree_control", folder_.parent_path() / "cgroup.stat"};
  if (takes_memory_back) parent.groups = groups_below(parent.statistics.c_str());
  if (::mkdir(folder_.c_str(), 0755) != 0) fail("mkdir", folder_, errno);
  std::array<int, 2> pipe{-1, -1};
  if (::pipe2(pipe.data(), O_CLOEXEC) == 0) guard_ = ::fork();
  if (guard_ == 0) stand_guard(pipe[0], folder_.c_str(), processes.c_str(), parent);
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
