// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Makes a tier's I/O fail: the n-th request, or each one that overlaps a range.
#include <tier/memory/io_faults.hpp>

#include <atomic>
#include <cstdint>
#include <limits>
#include <system_error>

namespace tier::test {

/// Counts accesses of the chosen directions, and fails those it was told to. It starts without any fault.
/// \threadsafety  Internally synchronised. A change while I/O runs takes effect from one of the next requests on.
class FailingIo final : public IoFaults {
 public:
  enum class What : std::uint8_t { Reads, Writes, Both };
  static constexpr auto never = std::numeric_limits<std::uint64_t>::max();

  explicit FailingIo(What what = What::Both) : what_{what} {}

  /// Makes the n-th access from now fail (0 is the next); later ones pass.
  void fail_nth(std::uint64_t n, std::errc error = std::errc::io_error) {
    error_ = error;
    seen_ = 0;
    nth_ = n;
  }
  /// Makes every access that overlaps the range fail, until `heal`.
  void fail_range(std::uint64_t begin, std::uint64_t end, std::errc error = std::errc::io_error) {
    error_ = error;
    end_ = 0;  // an empty range during the change
    begin_ = begin;
    end_ = end;
  }
  void fail_nth_reserve(std::uint64_t n, std::errc error = std::errc::no_space_on_device) {
    reserve_error_ = error;
    reserves_seen_ = 0;
    nth_reserve_ = n;
  }
  void heal() { nth_ = nth_reserve_ = never, begin_ = end_ = 0; }

  [[nodiscard]] std::uint64_t seen() const { return seen_; }
  [[nodiscard]] std::uint64_t reserves_seen() const { return reserves_seen_; }
  [[nodiscard]] std::uint64_t failed() const { return failed_; }
  /// Offset of the very first access, in either direction; in a tier that holds only a table, that of its first row.
  [[nodiscard]] std::uint64_t first_offset() const { return first_offset_; }

  std::error_code on_io(Direction direction, std::uint64_t offset, std::size_t size) noexcept override {
    auto unknown = never;
    first_offset_.compare_exchange_strong(unknown, offset);
    if (what_ != What::Both && (what_ == What::Reads) != (direction == Direction::Read)) return {};
    const bool chosen = seen_.fetch_add(1) == nth_;
    return chosen || (offset < end_ && offset + size > begin_) ? fail(error_) : std::error_code{};
  }
  std::error_code on_reserve(std::uint64_t, std::uint64_t) noexcept override {
    return reserves_seen_.fetch_add(1) == nth_reserve_ ? fail(reserve_error_) : std::error_code{};
  }

 private:
  std::error_code fail(std::errc error) noexcept { return ++failed_, std::make_error_code(error); }

  What what_;
  std::atomic<std::errc> error_{}, reserve_error_{};
  std::atomic<std::uint64_t> seen_{0}, reserves_seen_{0}, failed_{0};
  std::atomic<std::uint64_t> nth_{never}, nth_reserve_{never};
  std::atomic<std::uint64_t> begin_{0}, end_{0}, first_offset_{never};
};

}  // namespace tier::test
