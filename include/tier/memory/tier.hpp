// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A tier: where its bytes are, how fast it is, and how to reach bytes that the CPU cannot address.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>
#include <tier/memory/io_request.hpp>
#include <tier/memory/tier_model.hpp>

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

/// A pool of memory or of storage with a capacity and a speed. A `Runtime` makes its tiers itself; `make_tier` makes one
/// for other uses, and a new kind of device is a class derived from this one. A tier addresses bytes by offsets and does
/// not know objects.
/// \code{.cpp}
/// #include <tier/memory/tiers.hpp>
/// const auto slow = tier::make_tier(tier::tiers::emulated("cxl", 64_MiB));
/// std::byte* const memory = slow->base();  // null if the CPU cannot load and store there
/// assert(slow->capacity() == 64_MiB && slow->model().addressable && memory != nullptr);
/// std::puts(slow->description().c_str());
/// \endcode
/// \threadsafety  Internally synchronised; transfers on disjoint ranges may run concurrently.
class TIER_EXPORT Tier {
 public:
  Tier(const Tier&) = delete;
  Tier& operator=(const Tier&) = delete;
  virtual ~Tier() = default;

  /// Returns its name in a spec: `dram`, `numa:1`, `file`, `mapped`, `emulated:cxl`, `simulated:optane`.
  [[nodiscard]] std::string_view name() const noexcept { return name_; }
  [[nodiscard]] const TierModel& model() const noexcept { return model_; }
  [[nodiscard]] Bytes capacity() const noexcept { return capacity_; }

  /// Returns the address of offset 0; null if the CPU cannot load and store.
  [[nodiscard]] std::byte* base() const noexcept { return base_; }
  /// False for `simulated` tiers, which have no memory behind their addresses: copies move no bytes.
  [[nodiscard]] bool has_bytes() const noexcept { return has_bytes_; }
  /// Returns the alignment of offsets, sizes and memory of an `IoRequest`; 1 if any will do.
  [[nodiscard]] std::size_t io_alignment() const noexcept { return io_alignment_; }
  /// True if copies go through `transfer()` although the CPU can load and store, so that unreadable bytes are an error.
  [[nodiscard]] bool copies_itself() const noexcept { return copies_itself_; }
  /// True if accesses must be declared with `charge()` because a device is emulated.
  [[nodiscard]] bool charges() const noexcept { return charges_; }
  /// True if `reserve()` and `back()` ask the system, which takes time.
  [[nodiscard]] bool reserves() const noexcept { return reserves_; }
  /// True if the memory at `base()` is private pages, which may be exchanged with the pages of a window.
  [[nodiscard]] bool has_private_pages() const noexcept { return private_pages_; }
  /// Returns the NUMA policy for pages that replace the tier's own pages in a window; null if any node will do.
  [[nodiscard]] const PagePolicy* page_policy() const noexcept { return page_policy_; }
  /// True if the child of a fork finds a copy of the bytes at `base()`; otherwise an access there faults.
  [[nodiscard]] bool is_copied_by_fork() const noexcept { return copied_by_fork_; }

  /// Describes for people where the tier lies and how it is reached: `direct I/O by io_uring in /mnt (ext4)`.
  [[nodiscard]] virtual std::string description() const = 0;
  /// True if transfers bypass the page cache, so that their speed is the device's.
  [[nodiscard]] virtual bool direct_io() const noexcept { return false; }
  /// Returns the directory of its scratch file; empty if it has none.
  [[nodiscard]] virtual std::string_view directory() const noexcept { return {}; }
  /// Returns the path in its spec: that directory, or a device.
  [[nodiscard]] virtual std::string_view path() const noexcept { return directory(); }
  /// Returns the error that loads or stores of an addressable range would meet: none, unless a test injects one. A copy
  /// that does not go through `transfer()` asks first.
  [[nodiscard]] virtual std::error_code access_error(Direction direction, std::uint64_t offset,
                                                     std::size_t size) noexcept;

  /// True if `access_error()` must be called before each access.
  [[nodiscard]] bool checks_accesses() const noexcept { return checks_accesses_; }

  // Space behind regions. If `reserves()` is true, the calls marked "Asks the system" may wait for a disk or for a file
  // lock, and the caller holds no lock of its own; all others return at once.
  /// Marks a range as used by a region, so that space behind it stays there.
  virtual void claim(std::uint64_t offset, std::uint64_t size) noexcept;
  /// Makes a claimed range usable: reserves file space, or faults in memory. Asks the system, except for parts that have
  /// space already; several threads may ask for the same range.
  /// \return  The system's error, such as `ENOSPC`; the range is then not usable, and may be asked for again.
  virtual std::error_code reserve(std::uint64_t offset, std::uint64_t size) noexcept;
  /// True if the range is usable, so that `reserve` would have nothing to do.
  [[nodiscard]] virtual bool has_space(std::uint64_t offset, std::uint64_t size) const noexcept;
  /// Releases a claimed range; its space may go back to the system later, in batches.
  virtual void release(std::uint64_t offset, std::uint64_t size) noexcept;
  /// Takes space on disk ahead of regions, until `total` bytes have space; memory has it from the start. Asks the system.
  /// \param[out] cause  The system's error if there is less than that; otherwise unchanged.
  /// \return  Bytes that have space, used or not: at least `total` if there was no error.
  virtual Bytes back(Bytes total, std::error_code& cause) noexcept;
  /// Keeps `total` bytes of the existing space from going back to the system.   \return  Bytes that have space.
  virtual Bytes keep(Bytes total) noexcept;
  /// Returns the bytes of ordinary memory that the tier takes for its metadata.
  [[nodiscard]] virtual Bytes metadata() const noexcept { return {}; }

  /// Moves a batch with as many requests in flight as suits the device, and returns when all have ended. Sets each
  /// request's `error`; on an emulated tier the modelled time has passed. If the CPU cannot address the device, requests
  /// that are adjacent in the batch and on the device become one operation; each still has its own error.
  virtual void transfer(Direction direction, std::span<IoRequest> requests) noexcept = 0;

  /// Waits until the emulated device would have ended `requests` accesses of `bytes` in total, begun at `since`. Does
  /// nothing if `charges()` is false.
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
