// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/descriptor.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>
#include <tier/core/standard_streams.hpp>

#include <cerrno>

namespace tier {
namespace detail {
namespace {

/// Closes the descriptor and preserves `errno`.
void close_quietly(int descriptor) noexcept {
  const int error = errno;
  ::close(descriptor);
  errno = error;
}

}  // namespace

Descriptor::Descriptor(int opened) noexcept : number_{opened} {
  if (opened < 0 || opened > STDERR_FILENO) return;
  number_ = ::fcntl(opened, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  close_quietly(opened);
}

Descriptor::~Descriptor() {
  if (number_ >= 0) close_quietly(number_);
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    if (number_ >= 0) close_quietly(number_);
    number_ = other.release();
  }
  return *this;
}

StandardPlaces::StandardPlaces() noexcept {
  const int error = errno;
  for (auto& held : held_) {
    const int place = ::open("/", O_PATH | O_CLOEXEC);
    if (place >= 0 && place <= STDERR_FILENO) {
      held = place;
      continue;
    }
    if (place >= 0) ::close(place);
    break;
  }
  errno = error;
}

StandardPlaces::~StandardPlaces() {
  for (const int place : held_)
    if (place >= 0) close_quietly(place);
}

Descriptor open_file(const std::string& path, int flags, ::mode_t mode) noexcept {
  return open_descriptor([&] { return ::open(path.c_str(), flags | O_CLOEXEC, mode); });
}

std::optional<std::string> whole_file(const std::string& path) {
  const auto file = open_file(path, O_RDONLY);
  if (!file) return std::nullopt;
  std::string text;
  for (std::array<char, 1 << 14> part{};;) {
    const auto size = ::read(file.get(), part.data(), part.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return std::nullopt;
    if (size == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(size));
  }
}

std::string if_descriptors_are_used_up(int error) {
  if (error == ENFILE)
    return " (the system has as many files open as it allows; sysctl fs.file-max raises the limit)";
  ::rlimit limit{};
  if (error != EMFILE || ::getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  return " (the process may have at most " + std::to_string(limit.rlim_cur) +
         " files open; ulimit -n raises the limit)";
}

}  // namespace detail

void hold_standard_streams() noexcept {
  for (int place = STDIN_FILENO; place <= STDERR_FILENO; ++place) {
    if (::fcntl(place, F_GETFD) >= 0 || errno != EBADF) continue;
    // Opened in the wrong direction, so that a read or write fails as on a closed one. open() takes the lowest number.
    const int opened = ::open("/dev/null", place == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if (opened > place) ::close(opened);
  }
}

}  // namespace tier
