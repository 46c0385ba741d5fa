// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "child.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <stdexcept>

#include "sanitized.hpp"
#include "temporary_directory.hpp"

extern char** environ;

namespace tier::test {
namespace {

constexpr const char* variable = "TIER_TEST_CHILD";

/// Returns the filter that picks the current test case alone; doctest takes commas for separators.
std::string filter() {
  std::string name = doctest::getContextOptions()->currentTest->m_name;
  std::replace(name.begin(), name.end(), ',', '?');
  return "--test-case=" + name;
}

std::string read_all(int file) {
  std::string text;
  std::array<char, 4096> part{};
  while (true) {
    const auto n = ::read(file, part.data(), part.size());
    if (n <= 0) return text;
    text.append(part.data(), static_cast<std::size_t>(n));
  }
}

pid_t start(std::vector<std::string>& variables, int errors) {
  std::array<std::string, 2> arguments{"child", filter()};
  std::array<char*, 3> argv{arguments[0].data(), arguments[1].data(), nullptr};
  std::vector<char*> envp;
  for (auto& text : variables) envp.push_back(text.data());
  envp.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, "/proc/self/exe", &actions, nullptr, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error{"posix_spawn failed"};
  return pid;
}

}  // namespace

Ended run_in_child(const std::string& label, FunctionRef<void()> part, const Environment& environment) {
  if (const char* child = std::getenv(variable)) {
    if (child != label) return {};  // another part: the parent runs that in its own child
    part();
    std::_Exit(0);
  }
  std::vector<std::string> variables{std::string{variable} + "=" + label};
  for (const auto& [name, value] : environment) variables.push_back(name + "=" + value);
  const TemporaryDirectory left;  // removes what the child leaves in TMPDIR
  variables.push_back("TMPDIR=" + left.path());
  if (thread_sanitized) {  // doctest's signal handler allocates, which does not matter in a child that aborts
    const char* const own = std::getenv("TSAN_OPTIONS");
    variables.push_back(std::string{"TSAN_OPTIONS=report_signal_unsafe=0 "} + (own != nullptr ? own : ""));
  }
  for (char** text = environ; *text != nullptr; ++text) variables.emplace_back(*text);

  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) throw std::runtime_error{"pipe2 failed"};
  const auto pid = start(variables, pipe[1]);
  ::close(pipe[1]);
  Ended ended;
  ended.errors = read_all(pipe[0]);
  ::close(pipe[0]);
  int status = 0;
  if (::waitpid(pid, &status, 0) != pid) throw std::runtime_error{"waitpid failed"};
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  ended.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  return ended;
}

}  // namespace tier::test
