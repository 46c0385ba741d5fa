// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/system/mapping.hpp"

#include <sys/mman.h>
#include <unistd.h>
#include <tier/core/bytes.hpp>
#include <tier/core/error.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <system_error>
#include <thread>
#include <vector>

#include "core/cpus.hpp"
#include "core/refusal.hpp"
#include "memory/system/system_files.hpp"

namespace tier {
namespace {

constexpr std::size_t huge_page = 2U << 20;
constexpr std::size_t stride = 64U << 20;  // bytes that a thread faults in at a time

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
  auto* const begin = map_with(PROT_NONE, size, file, 0, huge_page);
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
  return map_aligned(size, file, MAP_HUGETLB, std::max(page, huge_page));
}

std::uintptr_t address_of(const std::byte* p) noexcept { return reinterpret_cast<std::uintptr_t>(p); }

/// Faults in pages by stores, for kernels before 5.14 and systems that refuse MADV_POPULATE_WRITE.
void touch(std::byte* begin, std::size_t size) noexcept {
  for (std::size_t i = 0; i < size; i += page_size())
    *const_cast<volatile std::byte*>(begin + i) = std::byte{0};
}

}  // namespace

std::size_t page_size() noexcept {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

HugePagePool huge_page_pool() {
  const std::string meminfo = "/proc/meminfo";
  const auto total = read_value(meminfo, "HugePages_Total:"), free = read_value(meminfo, "HugePages_Free:");
  return {read_kib(meminfo, "Hugepagesize:"), total,
          free - std::min(free, read_value(meminfo, "HugePages_Rsvd:"))};
}

Residence residence(const std::byte* begin, std::size_t size) {
  Residence sum;
  auto maps = open_text("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t from = 0, to = 0;
    std::size_t kib = 0;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2)
      inside = from < address_of(begin) + size && to > address_of(begin);
    else if (inside && std::sscanf(line.c_str(), "Rss: %zu kB", &kib) == 1)
      sum.resident += 1_KiB * kib;
    else if (inside && std::sscanf(line.c_str(), "AnonHugePages: %zu kB", &kib) == 1)
      sum.huge += 1_KiB * kib;
    else if (inside && std::sscanf(line.c_str(), "KernelPageSize: %zu kB", &kib) == 1)
      sum.page = std::max(sum.page, 1_KiB * kib);
  }
  return sum;
}

std::string share_in_huge_pages(const std::byte* begin, std::size_t size) {
  const auto [resident, huge, page] = residence(begin, size);
  return resident == 0_B ? "" : ", " + std::to_string(huge.count * 100 / resident.count) + " % in huge pages";
}

std::byte* map_aligned(std::size_t size, int file, int flags, std::size_t alignment) noexcept {
  return map_with(PROT_READ | PROT_WRITE, size, file, flags, alignment);
}

std::byte* map_reserved(std::size_t size, int file) noexcept {
  auto* const begin = map_with(PROT_NONE, size, file, MAP_NORESERVE, huge_page);
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
  return some_are_left ? "" : ": the process has as many mappings as vm.max_map_count lets it";
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
  else if (size_ >= huge_page)
    ::madvise(data_, size_, MADV_HUGEPAGE);  // advice: may be off on this system
}

Mapping::~Mapping() { ::munmap(data_, size_); }

void copy_requests(Direction direction, std::byte* tier, std::span<IoRequest> requests) noexcept {
  for (auto& request : requests) {
    request.error = {};
    if (request.size == 0) continue;  // its memory may be null
    auto* const there = tier + request.offset;
    if (direction == Direction::Read)
      std::memcpy(request.memory, there, request.size);
    else
      std::memcpy(there, request.memory, request.size);
  }
}

int try_to_populate([[maybe_unused]] std::byte* begin, [[maybe_unused]] std::size_t size) noexcept {
#if defined(MADV_POPULATE_WRITE)
  int error = 0;
  while ((error = ::madvise(begin, size, MADV_POPULATE_WRITE) == 0 ? 0 : errno) == EINTR || error == EAGAIN) {
  }
  return detail::is_refusal(error) ? EINVAL : error;
#else
  return EINVAL;
#endif
}

int populate(std::byte* begin, std::size_t size) noexcept {
  if (const int error = try_to_populate(begin, size); error != EINVAL) return error;
  touch(begin, size);
  return 0;
}

int populate_in_parallel(std::byte* begin, std::size_t size) noexcept {
  std::atomic<std::size_t> next{0};
  std::atomic<int> error{0};
  const auto work = [&] {
    for (std::size_t at; error.load() == 0 && (at = next.fetch_add(stride)) < size;)
      if (const int failed = populate(begin + at, std::min(stride, size - at)); failed != 0) error = failed;
  };
  std::vector<std::thread> helpers;
  try {
    const auto useful = std::min<std::size_t>(detail::usable_cpus(), size / stride);
    while (helpers.size() + 1 < useful) helpers.emplace_back(work);
  } catch (const std::exception&) {  // fewer helpers, or none: this thread does the rest
  }
  work();
  for (auto& helper : helpers) helper.join();
  return error;
}

}  // namespace tier
