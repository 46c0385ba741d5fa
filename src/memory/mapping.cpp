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

std::size_t page_size() noexcept { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

[[noreturn]] void throw_mmap(std::size_t size, const std::string& tier) {
  throw TierError{last_system_error(), "mmap of " + to_human(Bytes{size}) + " for tier " + tier};
}

/// Address space alone, to place the mapping in.
std::byte* claim_addresses(std::size_t size, const std::string& tier) {
  void* p = ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) throw_mmap(size - huge_page, tier);
  return static_cast<std::byte*>(p);
}

std::byte* align_up(std::byte* p, std::size_t alignment) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(p);
  return p + (round_up(address, alignment) - address);
}

void unmap(std::byte* begin, std::byte* end) noexcept {
  if (begin != end) ::munmap(begin, static_cast<std::size_t>(end - begin));
}

/// For kernels before 5.14.
void touch(std::byte* begin, std::size_t size) noexcept {
  for (std::size_t i = 0; i < size; i += page_size())
    *const_cast<volatile std::byte*>(begin + i) = std::byte{0};
}

}  // namespace

Mapping::Mapping(std::size_t size, int file, const std::string& tier) : size_{round_up(size, page_size())} {
  auto* const claimed = claim_addresses(size_ + huge_page, tier);
  data_ = align_up(claimed, huge_page);
  const int flags = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  if (::mmap(data_, size_, PROT_READ | PROT_WRITE, flags | MAP_FIXED, file, 0) == MAP_FAILED) {
    const auto error = errno;
    unmap(claimed, claimed + size_ + huge_page);
    errno = error;
    throw_mmap(size, tier);
  }
  unmap(claimed, data_);
  unmap(data_ + size_, claimed + size_ + huge_page);
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
