// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Descriptors that are never 0, 1 or 2. If a program starts with one of these closed, the next file opened would
///        take its number, and output printed there would go into that file.
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
  /// \param opened  the result of a system call; negative for none. 0, 1 and 2 are replaced by a higher number
  explicit Descriptor(int opened) noexcept;
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : number_{other.release()} {}
  Descriptor& operator=(Descriptor&& other) noexcept;

  [[nodiscard]] int get() const noexcept { return number_; }
  explicit operator bool() const noexcept { return number_ >= 0; }
  /// Gives up the descriptor; the caller closes it.
  [[nodiscard]] int release() noexcept { return std::exchange(number_, -1); }

 private:
  int number_ = -1;
};

/// Occupies closed descriptors among 0, 1 and 2 during its lifetime, so that files opened meanwhile get other numbers. The
/// placeholders can be neither read nor written. For libraries that open their own files; not reliable if several threads
/// open files at once.
class StandardPlaces {
 public:
  StandardPlaces() noexcept;
  ~StandardPlaces();
  StandardPlaces(const StandardPlaces&) = delete;
  StandardPlaces& operator=(const StandardPlaces&) = delete;

 private:
  std::array<int, 3> held_{-1, -1, -1};
};

/// Calls `open`, which returns a new descriptor, or -1 with `errno`, while descriptors 0, 1 and 2 are occupied.
/// \return  the descriptor; none, with `errno`, if `open` failed
template <class Open>
[[nodiscard]] Descriptor open_descriptor(Open&& open) noexcept {
  const StandardPlaces held;
  return Descriptor{std::forward<Open>(open)()};
}

/// Calls `open(2)` with `O_CLOEXEC`.
[[nodiscard]] Descriptor open_file(const std::string& path, int flags, ::mode_t mode = 0) noexcept;

/// Reads a whole file, also one in /proc; returns nothing, with `errno`, if it cannot be read.
[[nodiscard]] std::optional<std::string> whole_file(const std::string& path);

/// Returns text to append to the error of an opening call: the descriptor limit that `error` reports, or nothing.
[[nodiscard]] std::string if_descriptors_are_used_up(int error);

}  // namespace tier::detail
