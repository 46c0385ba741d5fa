// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/windows/userfaultfd.hpp"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <tier/core/error.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "core/refusal.hpp"
#include "core/say.hpp"
#include "memory/system/page_policy.hpp"
#include "memory/system/pages.hpp"

// Definitions that older kernel headers lack; the features are asked for at run time.
#ifndef UFFD_FEATURE_MOVE
#define UFFD_FEATURE_MOVE (1ULL << 16)
struct uffdio_move {
  __u64 dst, src, len, mode;
  __s64 move;
};
#define UFFDIO_MOVE _IOWR(UFFDIO, 0x05, struct uffdio_move)
#define UFFDIO_MOVE_MODE_DONTWAKE (1ULL << 0)
#define UFFDIO_MOVE_MODE_ALLOW_SRC_HOLES (1ULL << 1)
#endif
#ifndef UFFD_FEATURE_POISON
#define UFFD_FEATURE_POISON (1ULL << 14)
struct uffdio_poison {
  struct uffdio_range range;
  __u64 mode;
  __s64 updated;
};
#define UFFDIO_POISON _IOWR(UFFDIO, 0x08, struct uffdio_poison)
#endif

namespace tier {
namespace {

std::uint64_t address_of(const void* p) noexcept { return reinterpret_cast<std::uintptr_t>(p); }

/// Returns how many bytes from `begin` on have no page, neither in memory nor swapped out; only `pagemap` tells.
std::size_t absent_bytes(int pagemap, const std::byte* begin, std::size_t size) noexcept {
  const auto page = page_size();
  constexpr std::uint64_t present_or_swapped = std::uint64_t{3} << 62;
  std::size_t absent = 0;
  for (std::array<std::uint64_t, 512> entries{}; absent < size;) {
    const auto wanted = std::min(entries.size(), (size - absent + page - 1) / page);
    const auto read = ::pread(pagemap, entries.data(), wanted * sizeof(entries[0]),
                              static_cast<::off_t>(address_of(begin + absent) / page * sizeof(entries[0])));
    for (std::size_t i = 0; i < wanted; ++i, absent += page)
      if (read < static_cast<::ssize_t>((i + 1) * sizeof(entries[0])) ||
          (entries[i] & present_or_swapped) != 0)
        return absent;
  }
  return size;
}

}  // namespace

detail::Descriptor Userfaultfd::open() {
  constexpr int flags = O_CLOEXEC | O_NONBLOCK;
  const auto by_call = [] { return static_cast<int>(::syscall(SYS_userfaultfd, flags)); };
  if (auto opened = detail::open_descriptor(by_call)) return opened;
  const int error = errno;
  // The device, from Linux 6.1 on, is open to users whom its owner allows.
  if (const auto device = detail::open_file("/dev/userfaultfd", O_RDWR)) {
    const auto by_device = [&] { return ::ioctl(device.get(), _IO(0xAA, 0x00), flags); };
    if (auto opened = detail::open_descriptor(by_device)) return opened;
  }
  throw TierError{{error, std::generic_category()},
                  "opening userfaultfd, which windows need" + detail::if_descriptors_are_used_up(error)};
}

/// Tries feature sets from richest to minimal. UFFDIO_API works once per descriptor, so each try opens a new one.
Userfaultfd::Session Userfaultfd::open_session() {
  constexpr std::uint64_t needed = UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_THREAD_ID;
  constexpr std::array<std::uint64_t, 3> sets{needed | UFFD_FEATURE_MOVE | UFFD_FEATURE_POISON,
                                              needed | UFFD_FEATURE_POISON, needed};
  for (const auto wanted : sets) {
    Session session{open(), wanted};
    ::uffdio_api api{UFFD_API, wanted, 0};
    if (::ioctl(session.descriptor.get(), UFFDIO_API, &api) == 0) return session;
  }
  return {};
}

std::string Userfaultfd::why_not() {
  try {
    const bool is_usable = open_session().features != 0;
    return is_usable ? "" : "the kernel's userfaultfd has no write protection (Linux has it from 5.7 on)";
  } catch (const TierError& error) {
    return error.what();
  }
}

Userfaultfd::Userfaultfd() : session_{open_session()} {
  if (session_.features == 0)
    throw TierError{last_system_error(), "opening userfaultfd with write protection"};
  if (!can_move()) return;
  pagemap_ = detail::open_file("/proc/self/pagemap", O_RDONLY);
  if (pagemap_) return;
  const auto error = last_system_error();
  session_.features &= ~UFFD_FEATURE_MOVE;  // without /proc, pages are copied
  if (error != std::errc::too_many_files_open && error != std::errc::too_many_files_open_in_system) return;
  throw TierError{error, "opening /proc/self/pagemap, which windows need" +
                             detail::if_descriptors_are_used_up(error.value())};
}

bool Userfaultfd::can_move() const noexcept { return (session_.features & UFFD_FEATURE_MOVE) != 0; }

template <class Request>
bool Userfaultfd::request(unsigned long code, Request& argument) noexcept {
  if (::ioctl(descriptor(), code, &argument) == 0) return true;
  if (detail::is_refusal(errno)) tell_of_refusal();
  return false;
}

/// Reports a refusal, only once. Preserves `errno`.
void Userfaultfd::tell_of_refusal() noexcept {
  if (is_refusal_told_.exchange(true)) return;
  const int error = errno;
  std::array<char, 100> words{};
  detail::say(
      "the system now refuses ioctl on userfaultfd, which it allowed when the runtime was made: %s. Accesses "
      "to what is absent from windows wait for ever, and nothing moves into windows. Let the sandbox allow "
      "ioctl, or enter it before the runtime is made",
      ::strerror_r(error, words.data(), words.size()));
  errno = error;
}

std::optional<WindowFault> Userfaultfd::read() const noexcept {
  ::uffd_msg message;
  if (::read(descriptor(), &message, sizeof message) != sizeof message) return std::nullopt;
  if (message.event != UFFD_EVENT_PAGEFAULT) return std::nullopt;
  const auto flags = message.arg.pagefault.flags;
  WindowFault fault;
  fault.address = reinterpret_cast<std::byte*>(message.arg.pagefault.address);
  fault.write = (flags & UFFD_PAGEFAULT_FLAG_WRITE) != 0;
  fault.present = (flags & UFFD_PAGEFAULT_FLAG_WP) != 0;
  fault.thread = static_cast<int>(message.arg.pagefault.feat.ptid);
  return fault;
}

bool Userfaultfd::serve(std::byte* begin, std::size_t size) noexcept {
  ::uffdio_register range{
      {address_of(begin), size}, UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP, 0};
  return request(UFFDIO_REGISTER, range);
}

bool Userfaultfd::fill(std::byte* to, const std::byte* from, std::size_t size, bool protect,
                       const PagePolicy* policy) noexcept {
  const ThreadPolicy whence{policy};  // windows have no policy of their own: the thread's counts
  for (std::size_t done = 0, step = size; done < size;) {
    const auto part = std::min(step, size - done);
    ::uffdio_copy copy{address_of(to + done), address_of(from + done), part,
                       UFFDIO_COPY_MODE_DONTWAKE | (protect ? UFFDIO_COPY_MODE_WP : 0), 0};
    if (request(UFFDIO_COPY, copy))
      done += part;
    else if (copy.copy > 0)
      done += static_cast<std::size_t>(copy.copy);
    else if (errno == ENOENT && part > page_size())  // the part lies in two mappings
      step = std::max(page_size(), part / 2 / page_size() * page_size());
    else if (errno != EAGAIN && errno != EINTR)
      return false;
  }
  return true;
}

const std::byte* Userfaultfd::zeros() noexcept {
  alignas(4096) static std::array<std::byte, huge_page_bytes> bytes;
  return bytes.data();
}

/// `mincore` reports a swapped-out page as absent; filling it fails with EEXIST, as if another thread had been first.
std::error_code Userfaultfd::fill_holes(std::byte* begin, std::size_t size,
                                        const PagePolicy* policy) noexcept {
  const ThreadPolicy whence{policy};
  const auto page = page_size();
  std::array<unsigned char, 512> is_there{};
  for (std::size_t at = 0; at < size; at += is_there.size() * page) {
    const auto pages = std::min(is_there.size(), (size - at + page - 1) / page);
    if (::mincore(begin + at, pages * page, is_there.data()) != 0) {
      if (!detail::is_refusal(errno)) return last_system_error();
      is_there.fill(0);  // refused: tries all pages, since present ones cannot be filled again
    }
    for (std::size_t i = 0; i < pages; ++i) {
      if ((is_there[i] & 1U) != 0) continue;
      ::uffdio_copy copy{address_of(begin + at + i * page), address_of(zeros()), page,
                         UFFDIO_COPY_MODE_DONTWAKE | UFFDIO_COPY_MODE_WP, 0};
      while (!request(UFFDIO_COPY, copy) && errno != EEXIST)
        if (errno != EAGAIN && errno != EINTR) return last_system_error();
    }
  }
  return {};
}

std::size_t Userfaultfd::move(std::byte* to, std::byte* from, std::size_t size) noexcept {
  if (!can_move()) return 0;
  for (std::size_t done = 0;;) {
    ::uffdio_move move{address_of(to + done), address_of(from + done), size - done,
                       UFFDIO_MOVE_MODE_DONTWAKE | UFFDIO_MOVE_MODE_ALLOW_SRC_HOLES, 0};
    if (request(UFFDIO_MOVE, move)) return size;
    if (move.move > 0) {
      done += static_cast<std::size_t>(move.move);
    } else if (errno == EEXIST) {
      // Linux 6.18 says so of pages that it has just moved, if it had to split a huge page because a thread waits for one.
      const auto moved = absent_bytes(pagemap_.get(), from + done, size - done);
      if (moved == 0) return done;
      done += moved;
    } else if (errno != EAGAIN && errno != EINTR) {
      return done;
    }
    if (done == size) return size;
  }
}

bool Userfaultfd::protect(std::byte* begin, std::size_t size) noexcept {
  ::uffdio_writeprotect range{{address_of(begin), size}, UFFDIO_WRITEPROTECT_MODE_WP};
  while (!request(UFFDIO_WRITEPROTECT, range))
    if (errno != EAGAIN && errno != EINTR) return false;
  return true;
}

void Userfaultfd::unprotect(std::byte* begin, std::size_t size) noexcept {
  ::uffdio_writeprotect range{{address_of(begin), size}, UFFDIO_WRITEPROTECT_MODE_DONTWAKE};
  while (!request(UFFDIO_WRITEPROTECT, range) && (errno == EAGAIN || errno == EINTR)) {
  }
}

void Userfaultfd::wake(std::byte* begin, std::size_t size) noexcept {
  ::uffdio_range range{address_of(begin), size};
  request(UFFDIO_WAKE, range);
}

bool Userfaultfd::poison(std::byte* begin, std::size_t size) noexcept {
  if ((session_.features & UFFD_FEATURE_POISON) == 0) return false;
  ::uffdio_poison range{{address_of(begin), size}, 0, 0};
  return request(UFFDIO_POISON, range);
}

bool Userfaultfd::accept(std::byte* begin, std::size_t size) noexcept {
  if (!can_move()) return false;  // `move` moves nothing
  ::uffdio_register range{{address_of(begin), size}, UFFDIO_REGISTER_MODE_WP, 0};
  return request(UFFDIO_REGISTER, range);
}

}  // namespace tier
