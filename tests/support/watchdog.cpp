// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "watchdog.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "core/own_thread.hpp"

namespace tier::test {
namespace {

std::string contents(const std::filesystem::path& path) {
  std::ifstream file{path};
  return {std::istreambuf_iterator<char>{file}, {}};
}

std::chrono::nanoseconds processor_time() {
  ::timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
}

bool has_children() {
  std::error_code ignored;
  for (const auto& thread : std::filesystem::directory_iterator{"/proc/self/task", ignored})
    if (!contents(thread.path() / "children").empty()) return true;
  return false;
}

}  // namespace

Watchdog::Watchdog(std::chrono::seconds patience)
    : thread_{detail::own_thread([this, patience] { watch(patience); })} {}

Watchdog::~Watchdog() {
  over_ = true;
  thread_.join();
}

void Watchdog::watch(std::chrono::seconds patience) const {
  constexpr std::chrono::milliseconds step{100};
  constexpr std::chrono::milliseconds own{50};  // processor time of the watchdog itself in half a minute
  auto since = std::chrono::steady_clock::now();
  auto used = processor_time();
  while (!over_) {
    std::this_thread::sleep_for(step);
    const auto now = std::chrono::steady_clock::now();
    if (now - since < patience) continue;
    const bool still = processor_time() - used < own && !has_children();
    since = now;
    used = processor_time();
    if (!still) continue;
    std::fprintf(stderr, "nothing has moved for %lld s; this is where all threads are:\n",
                 static_cast<long long>(patience.count()));
    return print_stacks();
  }
}

void print_stacks() {
  for (const auto& thread : std::filesystem::directory_iterator{"/proc/self/task"}) {
    const auto name = contents(thread.path() / "comm");
    const auto waits = contents(thread.path() / "wchan");
    const auto stack = contents(thread.path() / "stack");  // readable by root alone
    std::fprintf(stderr, "thread %s, %.*s, waits in %s\n%s", thread.path().filename().c_str(),
                 static_cast<int>(name.find('\n')), name.c_str(), waits.c_str(), stack.c_str());
  }
  ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  // gdb waits for ever for a thread that is in a system call and waits there for the fault server, which gdb has stopped.
  const auto call = "command -v gdb >/dev/null && timeout -s KILL 60 gdb -nx -batch -p " +
                    std::to_string(::getpid()) + " -ex 'thread apply all backtrace 40' >&2";
  if (std::system(call.c_str()) != 0) std::fputs("no gdb, or it failed: the calls are not shown\n", stderr);
}

}  // namespace tier::test
