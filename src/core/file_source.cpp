// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/file_source.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <tier/core/error.hpp>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>

namespace tier {
namespace {

detail::Descriptor open_input(const std::string& path) {
  if (path != "-") return detail::open_file(path, O_RDONLY);
  return detail::open_descriptor([] { return ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1); });
}

std::string scratch_folder() {
  const char* const named = std::getenv("TMPDIR");
  return named != nullptr && *named != '\0' ? named : "/var/tmp";
}

void write_all(int descriptor, std::span<const char> bytes, auto&& fail) {
  while (!bytes.empty()) {
    const auto n = ::write(descriptor, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail();
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
}

}  // namespace

FileSource::FileSource(const std::string& path, Progress progress)
    : path_{path}, progress_{std::move(progress)}, descriptor_{open_input(path)} {
  if (!descriptor_) fail(path == "-" ? "reading the standard input, the file" : "open of");
}

std::size_t FileSource::read(std::span<char> to) {
  for (;;) {
    const auto n = ::read(descriptor_.get(), to.data(), to.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("read of");
    taken_ += static_cast<std::uint64_t>(n);
    if (progress_) progress_(taken_);
    return static_cast<std::size_t>(n);
  }
}

void FileSource::keep() {
  struct ::stat status {};
  if (::fstat(descriptor_.get(), &status) != 0) fail("fstat of");
  if (S_ISREG(status.st_mode) && (start_ = ::lseek(descriptor_.get(), 0, SEEK_CUR)) >= 0) return;
  auto scratch = open_scratch_file();
  copy_to(scratch.get());
  descriptor_ = std::move(scratch);
  start_ = 0;
  rewind();
}

detail::Descriptor FileSource::open_scratch_file() const {
  const auto folder = scratch_folder();
  auto scratch = detail::open_file(folder, O_RDWR | O_TMPFILE, 0600);
  if (!scratch) {  // some file systems have no unnamed files
    auto name = folder + "/tier-input-XXXXXX";
    scratch = detail::open_descriptor([&] { return ::mkostemp(name.data(), O_CLOEXEC); });
    if (scratch) ::unlink(name.c_str());
  }
  if (scratch) return scratch;
  throw TierError{last_system_error(), "\"" + path_ +
                                           "\" can be read only once, and no scratch file can be made in " +
                                           folder + " for it (set TMPDIR to another folder)"};
}

void FileSource::copy_to(int scratch) {
  std::array<char, std::size_t{1} << 16> part{};
  for (std::size_t n = 0; (n = read(part)) > 0;)
    write_all(scratch, std::span{part}.first(n), [&] {
      throw TierError{last_system_error(),
                      "\"" + path_ + "\" can be read only once, and its copy in a scratch file in " +
                          scratch_folder() + " failed after " + std::to_string(taken_) +
                          " bytes (set TMPDIR to another folder)"};
    });
}

void FileSource::rewind() {
  if (::lseek(descriptor_.get(), start_, SEEK_SET) < 0) fail("lseek of");
  taken_ = 0;
}

void FileSource::fail(const char* call) const {
  throw TierError{last_system_error(), std::string{call} + " \"" + path_ + "\""};
}

}  // namespace tier
