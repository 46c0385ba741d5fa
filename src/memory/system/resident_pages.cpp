// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/system/resident_pages.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <exception>
#include <thread>
#include <vector>

#include "core/cpus.hpp"
#include "core/refusal.hpp"
#include "memory/system/pages.hpp"
#include "memory/system/system_files.hpp"

namespace tier {
namespace {

constexpr std::size_t stride = 64U << 20;  // bytes that a thread faults in at a time

/// Faults in pages by stores, for kernels before 5.14 and systems that refuse MADV_POPULATE_WRITE.
void touch(std::byte* begin, std::size_t size) noexcept {
  for (std::size_t i = 0; i < size; i += page_size())
    *const_cast<volatile std::byte*>(begin + i) = std::byte{0};
}

}  // namespace

Residence residence(const std::byte* begin, std::size_t size) {
  const auto first = reinterpret_cast<std::uintptr_t>(begin);
  Residence sum;
  auto maps = open_text("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t from = 0, to = 0;
    std::size_t kib = 0;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2)
      inside = from < first + size && to > first;
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

void drop_pages(std::byte* begin, std::size_t size) noexcept {
  if (::madvise(begin, size, MADV_DONTNEED) == 0) return;
  constexpr int locked_too =
      24;  // MADV_DONTNEED_LOCKED, from Linux 5.18 on: the program has locked all its memory
  if (::madvise(begin, size, locked_too) == 0) return;
  // The system refuses advice: moves the pages to other addresses, and unmaps those.
  constexpr int leaves_the_range = 4;  // MREMAP_DONTUNMAP, from Linux 5.7 on
  void* const away = ::mremap(begin, size, size, MREMAP_MAYMOVE | leaves_the_range, nullptr);
  if (away != MAP_FAILED) ::munmap(away, size);
}

}  // namespace tier
