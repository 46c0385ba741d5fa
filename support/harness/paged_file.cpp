// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/paged_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <algorithm>
#include <tier/core/error.hpp>

namespace tier::bench {
namespace {

std::size_t page_size() noexcept { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

}  // namespace

PagedFile::PagedFile(const std::string& folder, Bytes size, Paging paging)
    : size_{round_up(std::max<std::size_t>(size.count, 1), page_size())}, paging_{paging}, file_{folder} {
  if (file_.in_memory())
    throw ConfigError{"files in \"" + folder + "\" are in memory: paging needs a folder on a disk"};
  file_.allocate(size_);  // now, because a store into a mapping cannot report a full disk
  void* mapped = ::mmap(nullptr, size_.count, PROT_READ | PROT_WRITE, MAP_SHARED, file_.descriptor(), 0);
  if (mapped == MAP_FAILED) file_.fail("mmap");
  data_ = static_cast<std::byte*>(mapped);
}

PagedFile::~PagedFile() { ::munmap(data_, size_.count); }

void PagedFile::start_cold() {
  if (::fsync(file_.descriptor()) != 0) file_.fail("fsync");
  advise(MADV_DONTNEED, "madvise(MADV_DONTNEED)");
  const int error = ::posix_fadvise(file_.descriptor(), 0, 0, POSIX_FADV_DONTNEED);
  if (error != 0) file_.fail("posix_fadvise(POSIX_FADV_DONTNEED)", error);
  if (paging_ != Paging::Default) advise(MADV_RANDOM, "madvise(MADV_RANDOM)");
}

void PagedFile::will_read_through() { advise(MADV_SEQUENTIAL, "madvise(MADV_SEQUENTIAL)"); }

void PagedFile::advise(int advice, const char* call) {
  if (::madvise(data_, size_.count, advice) != 0) file_.fail(call);
}

void PagedFile::will_need(std::size_t offset, std::size_t size) const noexcept {
  const auto first = offset & ~(page_size() - 1);
  ::madvise(data_ + first, std::min(round_up(offset + size, page_size()), size_.count) - first,
            MADV_WILLNEED);
}

PagingCounts paging_counts() noexcept {
  constexpr std::size_t block = 512;  // of getrusage(2) on Linux
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return {.waits = static_cast<std::uint64_t>(usage.ru_majflt),
          .read = Bytes{static_cast<std::size_t>(usage.ru_inblock) * block},
          .written = Bytes{static_cast<std::size_t>(usage.ru_oublock) * block},
          .resident = Bytes{static_cast<std::size_t>(usage.ru_maxrss) << 10}};
}

}  // namespace tier::bench
