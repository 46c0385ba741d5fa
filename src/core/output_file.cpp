// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <tier/core/error.hpp>
#include <tier/core/output_file.hpp>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "core/descriptor.hpp"

namespace tier {
namespace {

constexpr mode_t mode = 0666;  // the umask applies

std::string own_descriptor(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

/// Returns a name that no other live process uses, nor this process for another attempt.
std::string name_beside(const std::string& path, int attempt) {
  return path + ".tier-" + std::to_string(::getpid()) + "-" + std::to_string(attempt);
}

}  // namespace

OutputFile::OutputFile(const std::string& path) : path_{path}, place_{path} {
  if (path == "-") {
    is_file_ = false;
    descriptor_ = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (descriptor_ < 0) fail("fcntl");
    std::fflush(stdout);  // keeps earlier output first
    return;
  }
  struct ::stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  is_file_ = !exists || S_ISREG(status.st_mode);
  if (!is_file_) {
    descriptor_ = detail::open_file(path, O_WRONLY).release();
    if (descriptor_ < 0) fail("open");
    return;
  }
  std::error_code gone;
  if (exists) place_ = std::filesystem::canonical(path, gone).string();  // replaces the target, not the link
  if (place_.empty()) place_ = path;
  open_beside();
}

void OutputFile::open_beside() {
  const auto folder = std::filesystem::path{place_}.parent_path();
  descriptor_ =
      detail::open_file(folder.empty() ? "." : folder.string(), O_WRONLY | O_TMPFILE, mode).release();
  if (descriptor_ >= 0 && ::access(own_descriptor(descriptor_).c_str(), F_OK) == 0) return;
  if (descriptor_ >= 0) ::close(descriptor_);  // without /proc it could not be linked later
  for (int attempt = 0;; ++attempt) {
    beside_ = name_beside(place_, attempt);
    descriptor_ = detail::open_file(beside_, O_WRONLY | O_CREAT | O_EXCL, mode).release();
    if (descriptor_ >= 0) return;
    if (errno == EEXIST) continue;
    beside_.clear();
    fail("open");
  }
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!beside_.empty()) ::unlink(beside_.c_str());
}

void OutputFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto n = ::write(descriptor_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("write");
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

void OutputFile::finish() {
  if (!is_file_) return;
  if (::fdatasync(descriptor_) != 0) fail("fdatasync");  // some disks report only now that they are full
  move_to_place();
}

/// Links an unnamed file to a temporary name first, because linkat() cannot replace an existing file.
void OutputFile::move_to_place() {
  for (int attempt = 0; beside_.empty(); ++attempt) {
    const auto name = name_beside(place_, attempt);
    if (::linkat(AT_FDCWD, own_descriptor(descriptor_).c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) ==
        0)
      beside_ = name;
    else if (errno != EEXIST)
      fail("linkat");
  }
  if (std::rename(beside_.c_str(), place_.c_str()) != 0) fail("rename");
  beside_.clear();
}

void OutputFile::fail(const char* call) const {
  const auto error = last_system_error();
  throw TierError{
      error, std::string{call} + " of \"" + path_ + "\"" + detail::if_descriptors_are_used_up(error.value())};
}

void write_file(const std::string& path, std::string_view bytes) {
  OutputFile file{path};
  file.write(bytes);
  file.finish();
}

}  // namespace tier
