// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  One pool of memory: where its bytes are, how fast it is, how to reach what the CPU cannot.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

namespace tier {

class PagePolicy;

enum class Direction : std::uint8_t { Read, Write };

/// How fast a tier is and what it can do; declared, measured, or imposed by emulation.
struct TierModel {
  double read_bytes_per_second = 0;
  double write_bytes_per_second = 0;
  std::chrono::nanoseconds latency{0};
  unsigned parallelism = 1;  ///< requests that the device serves at once
  Bytes granularity{64};     ///< smallest transfer that pays; regions are aligned to it
  bool addressable = true;   ///< the CPU can load and store in it
  bool persistent = false;
};

/// Of 64 KiB: a block of small objects, and about where latency ceases to count.
[[nodiscard]] TIER_EXPORT double seconds_to_read_block(const TierModel& model) noexcept;
/// How tiers are ordered: before those that the CPU cannot address those that it can, and among them by
/// `seconds_to_read_block()`. So HBM stands before DRAM, although its latency is higher.
[[nodiscard]] TIER_EXPORT bool is_faster(const TierModel& a, const TierModel& b) noexcept;
/// A copy from one tier to the other: both latencies, and the bytes at the lower of the two rates, if they have any.
[[nodiscard]] TIER_EXPORT double seconds_to_copy(const TierModel& from, const TierModel& to,
                                                 Bytes size) noexcept;

/// One transfer between memory and a tier, part of a batch.
struct IoRequest {
  std::uint64_t offset =
      0;  ///< in the tier; on a tier that is not addressable a multiple of `io_alignment()`
  std::byte* memory = nullptr;  ///< likewise aligned there
  std::size_t size = 0;         ///< likewise a multiple there
  std::error_code error{};      ///< set on return
};

/// One pool of memory with a capacity and a speed. Knows nothing of objects: offsets in, bytes out.
/// \threadsafety  Internally synchronised; transfers on disjoint ranges may run side by side.
class TIER_EXPORT Tier {
 public:
  Tier(const Tier&) = delete;
  Tier& operator=(const Tier&) = delete;
  virtual ~Tier() = default;

  /// The spec's words for it: `dram`, `numa:1`, `file`, `mapped`, `emulated:cxl`, `simulated:optane`.
  [[nodiscard]] std::string_view name() const noexcept { return name_; }
  [[nodiscard]] const TierModel& model() const noexcept { return model_; }
  [[nodiscard]] Bytes capacity() const noexcept { return capacity_; }

  /// The address of offset 0; null where the CPU cannot load and store.
  [[nodiscard]] std::byte* base() const noexcept { return base_; }
  /// False for `simulated`: addresses and a capacity with nothing behind them; copies move no bytes.
  [[nodiscard]] bool has_bytes() const noexcept { return has_bytes_; }
  /// Offsets, sizes and memory of an `IoRequest` are multiples of it; 1 where any will do.
  [[nodiscard]] std::size_t io_alignment() const noexcept { return io_alignment_; }
  /// True where copies go through `transfer()` although the CPU can load and store: there what cannot be read is an error.
  [[nodiscard]] bool copies_itself() const noexcept { return copies_itself_; }
  /// True where accesses must be declared with `charge()` because a device is emulated.
  [[nodiscard]] bool charges() const noexcept { return charges_; }
  /// True where `reserve()` and `back()` ask the system, which takes time.
  [[nodiscard]] bool reserves() const noexcept { return reserves_; }
  /// True where the memory at `base()` is private pages, which may change places with those of a window.
  [[nodiscard]] bool has_private_pages() const noexcept { return private_pages_; }
  /// Which nodes pages are to come from that take the place of its own in a window; null where any will do.
  [[nodiscard]] const PagePolicy* page_policy() const noexcept { return page_policy_; }
  /// True where the child of a fork finds a copy of its bytes at `base()`. Else it faults there.
  [[nodiscard]] bool is_copied_by_fork() const noexcept { return copied_by_fork_; }

  /// Where it lies and how it is reached, for people: `direct I/O by io_uring in /mnt (ext4)`.
  [[nodiscard]] virtual std::string description() const = 0;
  /// True where transfers bypass the page cache, so that their speed is the device's.
  [[nodiscard]] virtual bool direct_io() const noexcept { return false; }
  /// Of its scratch file; empty where it has none.
  [[nodiscard]] virtual std::string_view directory() const noexcept { return {}; }
  /// As its spec has it: that directory, or a device.
  [[nodiscard]] virtual std::string_view path() const noexcept { return directory(); }
  /// What loads and stores of an addressable range would meet: no error, unless a test injects one. A copy that
  /// does not go through `transfer()` asks first.
  [[nodiscard]] virtual std::error_code access_error(Direction direction, std::uint64_t offset,
                                                     std::size_t size) noexcept;

  /// True where `access_error()` must be asked before each access.
  [[nodiscard]] bool checks_accesses() const noexcept { return checks_accesses_; }

  // Space behind regions. Where `reserves()` is true the calls marked so ask the system, may wait for a disk or for a lock
  // of a file, and are made without a lock of the caller's; all others return at once.
  /// A region is given out: space that its range has stays there.
  virtual void claim(std::uint64_t offset, std::uint64_t size) noexcept;
  /// Makes a claimed range usable: file space reserved, memory faulted in. Asks the system, but for what has space already;
  /// several threads may ask for the same range.
  /// \return  The system's error, as `ENOSPC`; the range is then not usable, and may be asked for again.
  virtual std::error_code reserve(std::uint64_t offset, std::uint64_t size) noexcept;
  /// True if the range is usable, so that `reserve` would have nothing to do.
  [[nodiscard]] virtual bool has_space(std::uint64_t offset, std::uint64_t size) const noexcept;
  /// A claimed range is free again; space may go back to the system later, in batches.
  virtual void release(std::uint64_t offset, std::uint64_t size) noexcept;
  /// Takes space on disk ahead of regions, until there is enough for `total` bytes of them; memory has it from the start.
  /// Asks the system.
  /// \param[out] cause  The system's error where there is less than that; else untouched.
  /// \return  Bytes that have space, used or not: at least `total` without an error.
  virtual Bytes back(Bytes total, std::error_code& cause) noexcept;
  /// Keeps `total` bytes of the space that there is from going back to the system.   \return  Bytes that have space.
  virtual Bytes keep(Bytes total) noexcept;
  /// Bytes of ordinary memory that the tier takes for what it knows of its space.
  [[nodiscard]] virtual Bytes metadata() const noexcept { return {}; }

  /// Moves a batch with as many requests in flight as the device likes, and returns when all have ended.
  /// Each request's `error` is set; on an emulated tier the modelled time has passed. A device that the CPU cannot
  /// address takes neighbours in the batch that are adjacent there, too, as one operation; each has its own error still.
  virtual void transfer(Direction direction, std::span<IoRequest> requests) noexcept = 0;

  /// Waits for as long as the emulated device would take for `requests` accesses of `bytes` in total, beyond
  /// the time already passed since `since`. A no-op where `charges()` is false.
  /// \param since  when the real access began, so that its own time counts towards the device's
  virtual void charge(Direction direction, std::uint64_t bytes, unsigned requests,
                      std::chrono::steady_clock::time_point since) noexcept;

 protected:
  Tier(std::string name, TierModel model, Bytes capacity)
      : name_{std::move(name)}, model_{model}, capacity_{capacity} {}

  std::string name_;
  TierModel model_;
  Bytes capacity_;
  std::byte* base_ = nullptr;
  std::size_t io_alignment_ = 1;
  bool has_bytes_ = true;
  bool copies_itself_ = false;
  bool charges_ = false;
  bool reserves_ = false;
  bool private_pages_ = false;
  const PagePolicy* page_policy_ = nullptr;
  bool copied_by_fork_ = true;
  bool checks_accesses_ = false;
};

}  // namespace tier
