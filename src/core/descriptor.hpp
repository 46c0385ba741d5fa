// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Descriptors that are never 0, 1 or 2. In a program that was started with one of these closed the next file opened
///        would take its place, and what anybody prints there would be written into that file.
#include <sys/types.h>

#include <array>
#include <optional>
#include <string>
#include <utility>

namespace tier::detail {

/// Owns a descriptor, or none.
class Descriptor {
 public:
  Descriptor() noexcept = default;
  /// \param opened  what a system call has returned: negative for none. One of 0, 1 and 2 is exchanged for one above them
  explicit Descriptor(int opened) noexcept;
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : number_{other.release()} {}
  Descriptor& operator=(Descriptor&& other) noexcept;

  [[nodiscard]] int get() const noexcept { return number_; }
  explicit operator bool() const noexcept { return number_ >= 0; }
  /// The caller closes it.
  [[nodiscard]] int release() noexcept { return std::exchange(number_, -1); }

 private:
  int number_ = -1;
};

/// While it lives, those of 0, 1 and 2 that are closed are held by descriptors that can neither be read nor written, so that
/// what is opened meanwhile gets others. For libraries that open files of their own; there is no promise where several
/// threads do so at once.
class StandardPlaces {
 public:
  StandardPlaces() noexcept;
  ~StandardPlaces();
  StandardPlaces(const StandardPlaces&) = delete;
  StandardPlaces& operator=(const StandardPlaces&) = delete;

 private:
  std::array<int, 3> held_{-1, -1, -1};
};

/// Calls `open`, which returns a new descriptor or -1 with `errno`.
/// \return  that descriptor; none, with `errno`, where there is none
template <class Open>
[[nodiscard]] Descriptor open_descriptor(Open&& open) noexcept {
  const StandardPlaces held;
  return Descriptor{std::forward<Open>(open)()};
}

/// As `open(2)`, closed on `exec`.
[[nodiscard]] Descriptor open_file(const std::string& path, int flags, ::mode_t mode = 0) noexcept;

/// All of a file, such as those that the kernel shows in /proc; nothing where it cannot be read, with `errno`.
[[nodiscard]] std::optional<std::string> whole_file(const std::string& path);

/// Words to add to the error of an opening call: how many descriptors the process or the system may have, or nothing.
[[nodiscard]] std::string if_descriptors_are_used_up(int error);

}  // namespace tier::detail
