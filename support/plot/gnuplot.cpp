// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plot/gnuplot.hpp"

#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <tier/core/error.hpp>

#include <array>
#include <cerrno>
#include <string_view>

extern char** environ;

namespace tier::tool {
namespace {

[[noreturn]] void fail(const char* call, int error) {
  throw TierError{{error, std::generic_category()}, std::string{call} + " for gnuplot"};
}

/// A child's input or output as a file in memory: unlike with a pipe, neither side has to wait.
class MemoryFile {
 public:
  MemoryFile() : descriptor_{::memfd_create("gnuplot", MFD_CLOEXEC)} {
    if (descriptor_ < 0) fail("memfd_create", errno);
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  void write(std::string_view text) {
    for (off_t at = 0; !text.empty();) {
      const auto n = ::pwrite(descriptor_, text.data(), text.size(), at);
      if (n < 0) fail("pwrite", errno);
      text.remove_prefix(static_cast<std::size_t>(n));
      at += n;
    }
  }
  [[nodiscard]] std::string read() const {
    std::string text;
    std::array<char, 1 << 14> part{};
    for (;;) {
      const auto n = ::pread(descriptor_, part.data(), part.size(), static_cast<off_t>(text.size()));
      if (n < 0) fail("pread", errno);
      if (n == 0) return text;
      text.append(part.data(), static_cast<std::size_t>(n));
    }
  }

 private:
  int descriptor_;
};

class Redirections {
 public:
  Redirections(const MemoryFile& in, const MemoryFile& out, const MemoryFile& complaints) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_adddup2(&actions_, in.descriptor(), STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, out.descriptor(), STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, complaints.descriptor(), STDERR_FILENO);
  }
  ~Redirections() { ::posix_spawn_file_actions_destroy(&actions_); }
  Redirections(const Redirections&) = delete;
  Redirections& operator=(const Redirections&) = delete;

  [[nodiscard]] const ::posix_spawn_file_actions_t* get() const noexcept { return &actions_; }

 private:
  ::posix_spawn_file_actions_t actions_{};
};

int status_of(::pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) fail("waitpid", errno);
  return status;
}

}  // namespace

std::optional<std::string> drawn_by_gnuplot(const std::string& commands) {
  MemoryFile in, out, complaints;
  in.write(commands);
  std::string gnuplot = "gnuplot", without_settings = "-d", standard_input = "-";
  const std::array argv{gnuplot.data(), without_settings.data(), standard_input.data(),
                        static_cast<char*>(nullptr)};
  ::pid_t child = 0;
  const int error = ::posix_spawnp(&child, gnuplot.c_str(), Redirections{in, out, complaints}.get(), nullptr,
                                   argv.data(), environ);
  if (error == ENOENT) return std::nullopt;
  if (error != 0) fail("posix_spawnp", error);
  if (status_of(child) == 0) return out.read();
  throw TierError{{EIO, std::generic_category()}, "gnuplot failed: " + complaints.read()};
}

}  // namespace tier::tool
