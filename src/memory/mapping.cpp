// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/mapping.hpp"

#include <sys/mman.h>
#include <unistd.h>
#include <tier/core/bytes.hpp>
#include <tier/core/error.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>
#include <vector>

namespace tier {
namespace {

constexpr std::size_t huge_page = 2U << 20;
constexpr std::size_t stride = 64U << 20;  // what a thread faults in at a time

[[noreturn]] void throw_mmap(std::size_t size, const std::string& tier) {
  const auto error = last_system_error();
  throw TierError{error,
                  "mmap of " + to_human(Bytes{size}) + " for tier " + tier + if_mappings_are_used_up()};
}

/// For kernels before 5.14.
void touch(std::byte* begin, std::size_t size) noexcept {
  for (std::size_t i = 0; i < size; i += page_size())
    *const_cast<volatile std::byte*>(begin + i) = std::byte{0};
}

}  // namespace

std::size_t page_size() noexcept {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

std::byte* map_aligned(std::size_t size, int file, int flags) noexcept {
  size = round_up(size, page_size());
  const auto whole = size + huge_page;
  void* const all = ::mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<std::byte*>(all);
  const auto address = reinterpret_cast<std::uintptr_t>(all);
  auto* const aligned = begin + (round_up(address, huge_page) - address);
  flags |= MAP_FIXED | (file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED);
  if (::mmap(aligned, size, PROT_READ | PROT_WRITE, flags, file, 0) == MAP_FAILED) {
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

/// As many as `map_aligned` needs on its way; the system's error is the same as where there are no addresses.
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

Mapping::Mapping(std::size_t size, int file, const std::string& tier)
    : data_{map_aligned(size, file)}, size_{round_up(size, page_size())} {
  if (data_ == nullptr) throw_mmap(size, tier);
  // A child would write the parent's bytes.
  if (file >= 0) ::madvise(data_, size_, MADV_DONTFORK);
  if (file < 0 && size_ >= huge_page)
    ::madvise(data_, size_, MADV_HUGEPAGE);  // advice: may be off on this system
}

Mapping::~Mapping() { ::munmap(data_, size_); }

void copy_requests(Direction direction, std::byte* tier, std::span<IoRequest> requests) noexcept {
  for (auto& request : requests) {
    request.error = {};
    if (request.size == 0) continue;  // and the memory perhaps null
    auto* const there = tier + request.offset;
    if (direction == Direction::Read)
      std::memcpy(request.memory, there, request.size);
    else
      std::memcpy(there, request.memory, request.size);
  }
}

int populate(std::byte* begin, std::size_t size) noexcept {
#if defined(MADV_POPULATE_WRITE)
  int error = 0;
  while ((error = ::madvise(begin, size, MADV_POPULATE_WRITE) == 0 ? 0 : errno) == EINTR || error == EAGAIN) {
  }
  if (error != EINVAL) return error;
#endif
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
    const auto useful = std::min<std::size_t>(std::thread::hardware_concurrency(), size / stride);
    while (helpers.size() + 1 < useful) helpers.emplace_back(work);
  } catch (const std::exception&) {  // fewer helpers, or none: this thread does what is left
  }
  work();
  for (auto& helper : helpers) helper.join();
  return error;
}

}  // namespace tier
