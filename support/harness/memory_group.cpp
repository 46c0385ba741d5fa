// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/memory_group.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <array>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <tuple>
#include <utility>

namespace tier::bench {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& what, std::error_code error = last_system_error()) {
  throw TierError{error, what};
}

fs::path new_name() {
  static std::atomic<unsigned> count = 0;
  return "libtier-" + std::to_string(::getpid()) + "-" + std::to_string(count++);
}

/// A pipe. Both ends are closed when another program starts.
struct Pipe {
  Pipe() {
    if (::pipe2(sides.data(), O_CLOEXEC) != 0) fail("pipe2");
  }
  ~Pipe() {
    ::close(sides[0]);
    close_write();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  [[nodiscard]] int read_side() const { return sides[0]; }
  [[nodiscard]] int write_side() const { return sides[1]; }
  void close_write() {
    if (sides[1] >= 0) ::close(std::exchange(sides[1], -1));
  }

  std::array<int, 2> sides{-1, -1};
};

/// Enters the group.   Async-signal-safe.
bool enter(const char* processes) {
  const int file = ::open(processes, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  return file >= 0 && ::write(file, "0", 1) == 1;
}

/// Turns the forked process into the program.   Async-signal-safe.
/// \param processes  of the group; empty: the process stays in its parent's
[[noreturn]] void become(const char* processes, char** argv, int output, int failure) {
  ::setpgid(0, 0);  // the terminal's Ctrl-C reaches the caller, which passes it on
  ::dup2(output, STDOUT_FILENO);
  if (*processes == '\0' || enter(processes)) ::execv(argv[0], argv);
  const int error = errno;
  std::ignore = ::write(failure, &error, sizeof error);
  ::_exit(127);
}

/// Waits until the program runs.   \return  the error with which `become` ended, or 0
int error_at_start(int failure) {
  int error = 0;
  while (::read(failure, &error, sizeof error) < 0 && errno == EINTR) {
  }
  return error;
}

/// Reads until the other end is closed. Interrupts the program once `stop` is set.
std::string read_output(int output, pid_t program, const std::atomic<bool>& stop) {
  constexpr int patience_ms = 20;
  std::string text;
  std::array<char, 4096> part{};
  for (bool told = false;;) {
    if (stop && !std::exchange(told, true)) ::kill(program, SIGINT);
    pollfd ready{.fd = output, .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, patience_ms) <= 0) continue;
    const auto n = ::read(output, part.data(), part.size());
    if (n == 0) return text;
    if (n > 0) text.append(part.data(), static_cast<std::size_t>(n));
  }
}

/// \param processes  of its group; empty: the caller's
Ended start(std::vector<std::string> arguments, const std::string& processes, const std::atomic<bool>& stop) {
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (auto& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);

  Pipe output, failure;
  const auto child = ::fork();
  if (child == 0) become(processes.c_str(), argv.data(), output.write_side(), failure.write_side());
  if (child < 0) fail("fork");
  output.close_write();
  failure.close_write();
  const int error = error_at_start(failure.read_side());
  auto text = read_output(output.read_side(), child, stop);
  int status = 0;
  rusage usage{};
  while (::wait4(child, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  if (error != 0) {
    fail("starting \"" + arguments[0] +
             (processes.empty() ? "\"" : "\" in the group of \"" + processes + "\""),
         {error, std::generic_category()});
  }
  return {.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
          .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
          .peak = {static_cast<std::size_t>(usage.ru_maxrss) << 10},
          .output = std::move(text)};
}

}  // namespace

std::string Ended::fate() const {
  return signal != 0 ? "ended by signal " + std::to_string(signal)
                     : "ended with status " + std::to_string(code);
}

Ended run_program(std::vector<std::string> arguments, const std::atomic<bool>& stop) {
  return start(std::move(arguments), {}, stop);
}

MemoryGroup::MemoryGroup(std::optional<Bytes> limit, const fs::path& process)
    : groups_{find_control_groups(process)} {
  std::string tried;
  std::error_code error;
  for (auto parent = groups_.ours;; parent = parent.parent_path()) {
    try {
      make_below(parent, limit);
      return;
    } catch (const TierError& failure) {
      guard_.reset();
      tried += (tried.empty() ? "" : "; ") + std::string{failure.what()};
      error = failure.code();
    }
    if (parent == groups_.top || !parent.has_relative_path()) break;
  }
  throw NoMemoryGroup{error, "no memory control group can be made (" + tried + ")"};
}

void MemoryGroup::make_below(const fs::path& parent, std::optional<Bytes> limit) {
  const bool passed_on = groups_.version == 1 || passes_memory_on(parent);
  guard_.emplace(parent / new_name(), !passed_on);
  if (!passed_on) pass_memory_on(parent);
  if (limit) forbids_swap_ = limit_memory(folder(), groups_.version, *limit);
}

Ended MemoryGroup::run(std::vector<std::string> arguments, const std::atomic<bool>& stop) {
  auto ended = start(std::move(arguments), folder() / "cgroup.procs", stop);
  ended.peak = peak().value_or(ended.peak);
  return ended;
}

std::optional<Bytes> MemoryGroup::peak() const {
  std::ifstream file{folder() / (groups_.version == 1 ? "memory.max_usage_in_bytes" : "memory.peak")};
  Bytes bytes;
  if (!(file >> bytes.count)) return {};
  return bytes;
}

}  // namespace tier::bench
