// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/io/scratch_file.hpp"

#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <tier/core/error.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "core/descriptor.hpp"
#include "core/refusal.hpp"
#include "memory/io/scratch_path.hpp"

namespace tier {
namespace {

constexpr int flags = O_RDWR | O_CLOEXEC;

/// Says what is allowed, or what to do; empty if the system's message is enough.
std::string advice(int error, Bytes size) {
  switch (error) {
    case EEXIST:
      return "a tier makes a file of its own: name a directory, or a file that does not exist";
    case ENOENT:
      return "the directory does not exist: make it, or name another";
    case EACCES:
    case EPERM:
      return "user " + std::to_string(::geteuid()) + " may not make a file there: name another directory";
    case EROFS:
      return "the file system cannot be written: name a directory on another";
    case EFBIG:
      return to_human(size) + " are needed, but a file of this process may have at most " +
             to_human(Bytes{ScratchFile::largest_file()}) + "; ulimit -f raises the limit";
    default:
      return {};
  }
}

/// Throws for system calls on one file that failed, with what to do.
class Failure {
 public:
  Failure(std::string path, Bytes size, std::string tier)
      : path_{std::move(path)}, size_{size}, tier_{std::move(tier)} {}

  [[noreturn]] void operator()(const char* call, int error = errno) const {
    throw TierError{{error, std::generic_category()},
                    std::string{call} + " of \"" + path_ + "\" for tier " + tier_ + in_brackets(error)};
  }

 private:
  [[nodiscard]] std::string in_brackets(int error) const {
    const auto text = advice(error, size_);
    return text.empty() ? detail::if_descriptors_are_used_up(error) : " (" + text + ")";
  }

  std::string path_;
  Bytes size_;
  std::string tier_;
};

detail::Descriptor open_named(const std::string& path, const Failure& fail) {
  auto descriptor = detail::open_file(path, flags | O_CREAT | O_EXCL, 0600);
  if (!descriptor) fail("open(O_CREAT | O_EXCL)");
  ::unlink(path.c_str());
  return descriptor;
}

/// Makes an unlinked file on file systems without O_TMPFILE.
detail::Descriptor open_temporary(const std::string& directory, const Failure& fail) {
  auto path = directory + "/tier-XXXXXX";
  auto descriptor = detail::open_descriptor([&] { return ::mkostemp(path.data(), O_CLOEXEC); });
  if (!descriptor) fail("mkostemp");
  ::unlink(path.c_str());
  return descriptor;
}

detail::Descriptor open_in(const std::string& directory, const Failure& fail) {
  auto descriptor = detail::open_file(directory, flags | O_TMPFILE, 0600);
  if (descriptor) return descriptor;
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT) fail("open(O_TMPFILE)");
  return open_temporary(directory, fail);
}

std::string file_system_name(long magic) {
  struct Known {
    long magic;
    const char* name;
  };
  constexpr std::array<Known, 7> known{{{EXT4_SUPER_MAGIC, "ext4"},
                                        {0x58465342, "xfs"},
                                        {0x9123683E, "btrfs"},
                                        {TMPFS_MAGIC, "tmpfs"},
                                        {OVERLAYFS_SUPER_MAGIC, "overlay"},
                                        {NFS_SUPER_MAGIC, "nfs"},
                                        {0x2fc12fc1, "zfs"}}};
  for (const auto& k : known)
    if (k.magic == magic) return k.name;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "file system %#lx", static_cast<unsigned long>(magic));
  return text.data();
}

/// The alignment that direct I/O needs, by the kernel (from 6.1); 0 if there is no direct I/O or the kernel does not say.
struct DirectAlignment {
  bool known = false;
  std::size_t bytes = 0;
};
DirectAlignment direct_alignment([[maybe_unused]] int descriptor) noexcept {
#if defined(STATX_DIOALIGN)
  struct ::statx status {};
  if (::statx(descriptor, "", AT_EMPTY_PATH, STATX_DIOALIGN, &status) == 0 &&
      (status.stx_mask & STATX_DIOALIGN) != 0)
    return {true, std::max<std::size_t>(status.stx_dio_mem_align, status.stx_dio_offset_align)};
#endif
  return {};
}

/// Takes space by writing zeros, for file systems that cannot reserve it and processes that may not.
std::error_code write_zeros(int descriptor, std::uint64_t offset, std::uint64_t size) noexcept {
  alignas(4096) static const std::array<char, 1U << 16> zeros{};
  while (size > 0) {
    const auto n = ::pwrite(descriptor, zeros.data(), std::min<std::uint64_t>(size, zeros.size()),
                            static_cast<::off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n < 0 ? last_system_error() : std::make_error_code(std::errc::io_error);
    offset += static_cast<std::uint64_t>(n);
    size -= static_cast<std::uint64_t>(n);
  }
  return {};
}

}  // namespace

std::uint64_t ScratchFile::largest_file() noexcept {
  ::rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

ScratchFile::ScratchFile(const std::string& path, Bytes size, Mode mode, const std::string& tier, Place place)
    : ScratchFile{} {
  const Failure fail{path, size, tier};
  place == Place::Folder ? expect_folder(path, tier) : expect_folder_of(path, tier);
  if (size.count > largest_file()) fail("ftruncate", EFBIG);
  descriptor_ = (place == Place::Folder ? open_in(path, fail) : open_named(path, fail)).release();
  if (::ftruncate(descriptor_, static_cast<::off_t>(size.count)) != 0) fail("ftruncate");
  struct ::statfs status {};
  if (::fstatfs(descriptor_, &status) == 0) file_system_ = file_system_name(status.f_type);
  lies_in_memory_ = status.f_type == TMPFS_MAGIC || status.f_type == RAMFS_MAGIC;
  if (mode == Mode::Direct) set_direct();
}

ScratchFile::~ScratchFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

/// tmpfs accepts the flag from Linux 6.6 on, but copies through the page cache all the same.
void ScratchFile::set_direct() noexcept {
  const auto alignment = direct_alignment(descriptor_);
  if (file_system_ == "tmpfs" || (alignment.known && alignment.bytes == 0)) return;
  if (::fcntl(descriptor_, F_SETFL, ::fcntl(descriptor_, F_GETFL) | O_DIRECT) != 0) return;
  direct_ = true;
  // Less than a block of the file system would be allowed, but such writes lock the whole file.
  alignment_ = std::max(alignment_, alignment.bytes);
}

std::error_code ScratchFile::allocate(std::uint64_t offset, std::uint64_t size) noexcept {
  if (lies_in_memory_ && growing_.lacks(Bytes{size}))
    return std::make_error_code(std::errc::not_enough_memory);
  int result = 0;
  do {
    result = ::fallocate(descriptor_, 0, static_cast<::off_t>(offset), static_cast<::off_t>(size));
  } while (result != 0 && errno == EINTR);
  if (result == 0) return {};
  const auto error = errno == EOPNOTSUPP || detail::is_refusal(errno) ? write_zeros(descriptor_, offset, size)
                                                                      : last_system_error();
  if (error) punch(offset, size);  // most file systems keep the part that fitted
  return error;
}

void ScratchFile::punch(std::uint64_t offset, std::uint64_t size) noexcept {
  // A file system that cannot punch keeps the space, which the next regions use.
  ::fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<::off_t>(offset),
              static_cast<::off_t>(size));
}

}  // namespace tier
