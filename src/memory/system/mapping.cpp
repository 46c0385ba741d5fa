// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/system/mapping.hpp"

#include <sys/mman.h>
#include <tier/core/bytes.hpp>
#include <tier/core/error.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "memory/system/pages.hpp"

namespace tier {
namespace {

[[noreturn]] void throw_mmap(std::size_t size, const std::string& tier) {
  const auto error = last_system_error();
  throw TierError{error,
                  "mmap of " + to_human(Bytes{size}) + " for tier " + tier + if_mappings_are_used_up()};
}

/// Says how many huge pages to reserve. The system has already tried pages beyond them (`vm.nr_overcommit_hugepages`).
[[noreturn]] void throw_hugetlb(std::size_t size, const std::string& tier) {
  const auto error = last_system_error();
  const auto pool = huge_page_pool();
  const auto subject = "mmap(MAP_HUGETLB) of " + to_human(Bytes{size}) + " for tier " + tier;
  if (pool.page == 0_B) throw TierError{error, subject + " (the kernel has no reserved huge pages)"};
  const auto needed = size / pool.page.count;
  if (needed <= pool.free) throw TierError{error, subject + if_mappings_are_used_up()};
  const auto missing = needed - pool.free;
  throw TierError{error, subject + " (" + std::to_string(missing) + " huge pages of " + to_human(pool.page) +
                             " are missing: sysctl vm.nr_hugepages=" + std::to_string(pool.total + missing) +
                             " reserves them, or take pages=huge)"};
}

std::size_t whole_pages(std::size_t size, PageKind pages) {
  const auto huge = pages == PageKind::Hugetlb ? huge_page_pool().page.count : 0;
  return round_up(size, huge != 0 ? huge : page_size());
}

/// Like `map_aligned`, with a choice of protection.
std::byte* map_with(int protection, std::size_t size, int file, int flags, std::size_t alignment) noexcept {
  size = round_up(size, page_size());
  const auto whole = size + alignment;
  void* const all = ::mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<std::byte*>(all);
  const auto address = reinterpret_cast<std::uintptr_t>(all);
  auto* const aligned = begin + (round_up(address, alignment) - address);
  flags |= MAP_FIXED | (file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED);
  if (::mmap(aligned, size, protection, flags, file, 0) == MAP_FAILED) {
    const auto error = errno;
    ::munmap(begin, whole);
    errno = error;
    return nullptr;
  }
  if (aligned != begin) ::munmap(begin, static_cast<std::size_t>(aligned - begin));
  if (aligned + size != begin + whole)
    ::munmap(aligned + size, static_cast<std::size_t>(begin + whole - (aligned + size)));
  return aligned;
}

/// True if the program locks what it maps (`mlockall`).
bool is_locked(std::byte* begin) noexcept {
  return ::msync(begin, page_size(), MS_INVALIDATE) != 0 && errno == EBUSY;
}

void keep_apart(std::byte* begin, std::size_t size) noexcept {
  ::munlock(begin, size);
  ::madvise(begin, size, MADV_DONTDUMP);
  ::madvise(begin, size, MADV_UNMERGEABLE);
}

/// Maps memory, or a file, whose pages come as they are used; memory is locked as it comes if the program locks its own.
std::byte* map_growing(std::size_t size, int file) noexcept {
  auto* const begin = map_with(PROT_NONE, size, file, 0, huge_page_bytes);
  if (begin == nullptr) return nullptr;
  const bool locked = file < 0 && is_locked(begin);
  keep_apart(begin, size);
  if (::mprotect(begin, size, PROT_READ | PROT_WRITE) != 0) {
    const auto error = errno;
    ::munmap(begin, size);
    errno = error;
    return nullptr;
  }
#if defined(MLOCK_ONFAULT)
  if (locked) ::mlock2(begin, size, MLOCK_ONFAULT);
#endif
  return begin;
}

std::byte* map_pages(std::size_t size, int file, PageKind pages, bool grows) noexcept {
  if (pages != PageKind::Hugetlb)
    return grows || file >= 0 ? map_growing(size, file) : map_aligned(size, file);
  const auto page = huge_page_pool().page.count;
  return map_aligned(size, file, MAP_HUGETLB, std::max(page, huge_page_bytes));
}

}  // namespace

std::byte* map_aligned(std::size_t size, int file, int flags, std::size_t alignment) noexcept {
  return map_with(PROT_READ | PROT_WRITE, size, file, flags, alignment);
}

std::byte* map_reserved(std::size_t size, int file) noexcept {
  auto* const begin = map_with(PROT_NONE, size, file, MAP_NORESERVE, huge_page_bytes);
  if (begin != nullptr) keep_apart(begin, round_up(size, page_size()));
  return begin;
}

bool open_reserved(std::byte* begin, std::size_t size) noexcept {
  if (::mprotect(begin, size, PROT_READ | PROT_WRITE) != 0) return false;
  include_in_dumps(begin, size);
  return true;
}

void include_in_dumps(std::byte* begin, std::size_t size) noexcept { ::madvise(begin, size, MADV_DODUMP); }

/// Tries as many mappings as `map_aligned` needs, because the system's error is the same if addresses are used up.
const char* if_mappings_are_used_up() noexcept {
  const auto error = errno;
  const auto page = page_size();
  void* const all = ::mmap(nullptr, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  const bool some_are_left =
      all != MAP_FAILED && ::mprotect(static_cast<std::byte*>(all) + page, page, PROT_READ) == 0;
  if (all != MAP_FAILED) ::munmap(all, 3 * page);
  errno = error;
  return some_are_left ? "" : ": the process has as many mappings as vm.max_map_count allows";
}

Mapping::Mapping(std::size_t size, int file, const std::string& tier, PageKind pages, bool grows)
    : data_{nullptr}, size_{whole_pages(size, pages)} {
  data_ = map_pages(size_, file, pages, grows);
  if (data_ == nullptr && pages == PageKind::Hugetlb) throw_hugetlb(size_, tier);
  if (data_ == nullptr) throw_mmap(size, tier);
  // A child would write the parent's bytes, or find no reserved huge page left for its copy.
  if (file >= 0 || pages == PageKind::Hugetlb) ::madvise(data_, size_, MADV_DONTFORK);
  if (file >= 0 || pages == PageKind::Hugetlb) return;
  if (pages == PageKind::Small)
    ::madvise(data_, size_, MADV_NOHUGEPAGE);
  else if (size_ >= huge_page_bytes)
    ::madvise(data_, size_, MADV_HUGEPAGE);  // advice: may be off on this system
}

Mapping::~Mapping() { ::munmap(data_, size_); }

}  // namespace tier
