// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/unnamed_file.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <cstdlib>
#include <tier/core/error.hpp>
#include <utility>

namespace tier::bench {
namespace {

int open_unnamed(const std::string& folder) {
  auto path = folder + "/libtier-XXXXXX";
  const int file = ::mkostemp(path.data(), O_CLOEXEC);
  if (file >= 0) ::unlink(path.c_str());
  return file;
}

}  // namespace

UnnamedFile::UnnamedFile(std::string folder)
    : folder_{std::move(folder)}, descriptor_{open_unnamed(folder_)} {
  if (descriptor_ < 0) fail("mkostemp");
}

UnnamedFile::~UnnamedFile() { ::close(descriptor_); }

void UnnamedFile::allocate(Bytes size) {
  const int error = ::posix_fallocate(descriptor_, 0, static_cast<::off_t>(size.count));
  if (error != 0) fail("posix_fallocate", error);
}

bool UnnamedFile::in_memory() const noexcept {
  struct ::statfs status {};
  return ::fstatfs(descriptor_, &status) == 0 &&
         (status.f_type == TMPFS_MAGIC || status.f_type == RAMFS_MAGIC);
}

void UnnamedFile::fail(const char* call, int error) const {
  throw TierError{{error, std::generic_category()}, std::string{call} + " of a file in \"" + folder_ + "\""};
}

}  // namespace tier::bench
