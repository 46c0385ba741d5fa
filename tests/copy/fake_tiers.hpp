// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Tiers whose accesses a test can hold up, count and make fail, and a task that records how it ended.
#include <tier/copy/copy_engine.hpp>
#include <tier/core/mutex.hpp>
#include <tier/memory/tier.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace tier::test {

/// Holds up threads until the test lets them pass; the test can wait until one has come.
class Gate {
 public:
  void pass() {
    const MutexLock lock{mutex_};
    ++arrived_;
    changed_.notify_all();
    while (!open_) changed_.wait(mutex_);
  }
  void wait_for_arrival() {
    const MutexLock lock{mutex_};
    while (arrived_ == 0) changed_.wait(mutex_);
  }
  void open() {
    const MutexLock lock{mutex_};
    open_ = true;
    changed_.notify_all();
  }
  bool is_open() {
    const MutexLock lock{mutex_};
    return open_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool open_ TIER_GUARDED_BY(mutex_) = false;
  int arrived_ TIER_GUARDED_BY(mutex_) = 0;
};

/// Called for every access; returns the error that the access gets.
using Hook = std::function<std::error_code(Direction, std::uint64_t offset, std::size_t size)>;

/// A tier in ordinary memory, addressable or reached by `transfer()`.
class FakeTier : public Tier {
 public:
  enum class Kind { Memory, EmulatedMemory, SelfCopying, Device, NoBytes, PrivateMemory };

  FakeTier(Kind kind, Bytes capacity, const TierModel& model = {})
      : Tier{"fake", model, capacity}, bytes_(capacity.count + alignment) {
    std::byte* start = bytes_.data();
    start += round_up(reinterpret_cast<std::uintptr_t>(start), alignment) -
             reinterpret_cast<std::uintptr_t>(start);
    contents_ = {start, capacity.count};
    if (kind != Kind::Device && kind != Kind::NoBytes) base_ = start;
    if (kind == Kind::Device) io_alignment_ = 512;
    has_bytes_ = kind != Kind::NoBytes;
    copies_itself_ = kind == Kind::SelfCopying;
    charges_ = kind == Kind::EmulatedMemory;
    private_pages_ = kind == Kind::PrivateMemory;
  }

  std::span<std::byte> contents(std::uint64_t offset, std::uint64_t size) const {
    return contents_.subspan(offset, size);
  }
  void fill(std::uint64_t offset, std::uint64_t size, std::uint64_t seed) {
    for (std::byte& b : contents(offset, size))
      b = static_cast<std::byte>((seed += 0x9e3779b97f4a7c15) >> 56);
  }
  TierRange at(std::uint64_t offset) { return {this, offset}; }

  std::string description() const override { return "a test's"; }
  std::error_code access_error(Direction direction, std::uint64_t offset,
                               std::size_t size) noexcept override {
    return on_access ? on_access(direction, offset, size) : std::error_code{};
  }
  void transfer(Direction direction, std::span<IoRequest> requests) noexcept override {
    ++transfers;
    for (IoRequest& request : requests) {
      ++requested;
      misaligned += (request.offset | request.size | reinterpret_cast<std::uintptr_t>(request.memory)) %
                        io_alignment_ !=
                    0;
      if (on_access) request.error = on_access(direction, request.offset, request.size);
      if (request.error) continue;
      const auto here = contents(request.offset, request.size);
      if (direction == Direction::Read)
        std::memcpy(request.memory, here.data(), here.size());
      else
        std::memcpy(here.data(), request.memory, here.size());
    }
  }
  void charge(Direction direction, std::uint64_t bytes, unsigned requests,
              std::chrono::steady_clock::time_point) noexcept override {
    (direction == Direction::Read ? read_charged : write_charged) += bytes;
    charges_made += requests;
    if (on_charge) on_charge();
  }

  Hook on_access;
  std::function<void()> on_charge;
  std::atomic<std::uint64_t> transfers{0}, requested{0}, misaligned{0};
  std::atomic<std::uint64_t> read_charged{0}, write_charged{0}, charges_made{0};

 private:
  static constexpr std::size_t alignment = 4096;
  std::vector<std::byte> bytes_;
  std::span<std::byte> contents_;
};

/// A task that records how it ended, and can be waited for.
class TestTask : public CopyTask {
 public:
  TestTask(TierRange to_range, TierRange from_range, std::uint64_t bytes) {
    to = to_range;
    from = from_range;
    size = bytes;
  }

  void wait() {
    const MutexLock lock{mutex_};
    while (times_ == 0) ended_.wait(mutex_);
  }
  int times_finished() {
    const MutexLock lock{mutex_};
    return times_;
  }
  std::error_code error() {
    const MutexLock lock{mutex_};
    return error_;
  }
  bool cancelled() {
    const MutexLock lock{mutex_};
    return cancelled_;
  }
  bool arrived() {
    const auto expected = static_cast<FakeTier*>(from.tier)->contents(from.offset, size);
    const auto actual = static_cast<FakeTier*>(to.tier)->contents(to.offset, size);
    return size == 0 || std::memcmp(expected.data(), actual.data(), size) == 0;
  }

  std::function<void()> on_finish;

 protected:
  void finished(std::error_code error, bool cancelled) noexcept override {
    if (on_finish) on_finish();
    const MutexLock lock{mutex_};
    ++times_;
    error_ = error;
    cancelled_ = cancelled;
    ended_.notify_all();
  }

 private:
  Mutex mutex_;
  CondVar ended_;
  int times_ TIER_GUARDED_BY(mutex_) = 0;
  std::error_code error_ TIER_GUARDED_BY(mutex_);
  bool cancelled_ TIER_GUARDED_BY(mutex_) = false;
};

}  // namespace tier::test
