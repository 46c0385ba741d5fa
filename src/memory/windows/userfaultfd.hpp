// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The system's interface by which a process serves its own page faults.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>

#include <atomic>

#include "core/descriptor.hpp"
#include "memory/windows/window_fault.hpp"

namespace tier {

class PagePolicy;

/// Tells of page faults in ranges of this process's memory, and provides, moves, protects and poisons pages there, in whole
/// pages. Threads that wait for pages made present go on after `wake`. Owns one descriptor of `userfaultfd`.
/// \threadsafety  Internally synchronised; the caller orders calls on overlapping ranges.
class Userfaultfd {
 public:
  /// Returns why this process cannot have one; empty if it can.
  [[nodiscard]] static std::string why_not();
  /// Asks for all features of use that the kernel has.
  /// \throws  `TierError` naming the system call that was refused
  Userfaultfd();
  Userfaultfd(const Userfaultfd&) = delete;
  Userfaultfd& operator=(const Userfaultfd&) = delete;

  /// Returns a descriptor that `poll` reports as readable while faults wait to be read.
  [[nodiscard]] int descriptor() const noexcept { return session_.descriptor.get(); }
  /// Reads a fault.   \return  nothing if there is none, as another thread has read it
  [[nodiscard]] std::optional<WindowFault> read() const noexcept;

  /// Serves a range from now on: accesses to absent pages, and stores to protected ones, wait.
  /// \return  false, with `errno`, if the system refuses
  [[nodiscard]] bool serve(std::byte* begin, std::size_t size) noexcept;
  /// Lets `move` bring pages to a range that is not served; in served ones it always may.
  bool accept(std::byte* begin, std::size_t size) noexcept;

  /// Makes absent pages present with the bytes at `from`, in memory that the system provides.
  /// \param policy  NUMA policy for that memory; null: this thread's own policy
  /// \return        false if there is no memory; pages made present before stay present
  bool fill(std::byte* to, const std::byte* from, std::size_t size, bool protect,
            const PagePolicy* policy) noexcept;
  /// Makes the absent pages of a range present with zeros, protected so that a store to them is reported. Other threads may
  /// touch or fill them meanwhile.   \return  the system's error if it has no memory for them
  std::error_code fill_holes(std::byte* begin, std::size_t size, const PagePolicy* policy) noexcept;
  /// Returns zeros, as many bytes as a huge page has. They are never written, so the system needs one page for all of them.
  static const std::byte* zeros() noexcept;
  /// Moves the pages of one range of private memory to another in which they are absent, if one is served and the other
  /// served or accepted.   \return  the bytes moved; the system may refuse the rest
  std::size_t move(std::byte* to, std::byte* from, std::size_t size) noexcept;

  /// Write-protects pages: from its return on, stores wait.   \return  false if there is no memory for that
  bool protect(std::byte* begin, std::size_t size) noexcept;
  /// Lets stores through. Threads that wait for that go on after `wake`.
  void unprotect(std::byte* begin, std::size_t size) noexcept;
  /// Makes waiting threads try their access again.
  void wake(std::byte* begin, std::size_t size) noexcept;
  /// Makes accesses raise SIGBUS.   \return  false if the system cannot do that (before Linux 6.6)
  bool poison(std::byte* begin, std::size_t size) noexcept;

 private:
  /// An open descriptor, with the features that were granted.
  struct Session {
    detail::Descriptor descriptor;
    std::uint64_t features = 0;  // 0: the kernel is too old
  };
  static detail::Descriptor open();
  static Session open_session();

  [[nodiscard]] bool can_move() const noexcept;
  template <class Request>
  bool request(unsigned long code, Request& argument) noexcept;
  void tell_of_refusal() noexcept;

  Session session_;
  detail::Descriptor pagemap_;  // for `move`
  std::atomic<bool> is_refusal_told_{false};
};

}  // namespace tier
