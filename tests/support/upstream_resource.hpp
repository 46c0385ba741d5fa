// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  An upstream for tests of resources, which tracks its live allocations and fails when told to.
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory_resource>
#include <mutex>
#include <new>
#include <utility>

namespace tier::test {

/// Allocates by new and delete. Ends the program if an allocation is freed with another size or alignment, or never; does
/// so without doctest, because it is also used where no test runs.
/// \threadsafety  Internally synchronised; records whether that was needed.
class UpstreamResource final : public std::pmr::memory_resource {
 public:
  ~UpstreamResource() override { require(live_.empty(), "something was not given back"); }

  [[nodiscard]] std::size_t outstanding() const noexcept { return live_.size(); }
  [[nodiscard]] std::size_t outstanding_bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t allocations() const noexcept { return allocations_; }
  /// True if two threads have called it at once.
  [[nodiscard]] bool called_at_once() const noexcept { return called_at_once_; }
  /// True if this allocation is live, with this size and alignment.
  [[nodiscard]] bool holds(void* p, std::size_t size, std::size_t alignment) const {
    const auto found = live_.find(p);
    return found != live_.end() && found->second == std::pair{size, alignment};
  }

  /// Lets `n` more allocations succeed; each later one fails.
  void fail_after(std::size_t n) noexcept { left_ = n; }
  void succeed() noexcept { left_ = never; }
  [[nodiscard]] bool failed() const noexcept { return left_ == 0; }

 private:
  static constexpr std::size_t never = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t most = std::size_t{1}
                                      << 40;  // sanitizers end a program that asks malloc for more

  static void require(bool condition, const char* broken) {
    if (condition) return;
    std::fprintf(stderr, "upstream: %s\n", broken);
    std::abort();
  }
  [[nodiscard]] std::unique_lock<std::mutex> lock() {
    std::unique_lock lock{mutex_, std::try_to_lock};
    if (lock) return lock;
    called_at_once_ = true;
    return std::unique_lock{mutex_};
  }
  void* do_allocate(std::size_t size, std::size_t alignment) override {
    const auto held = lock();
    if (left_ == 0 || size > most) throw std::bad_alloc{};
    left_ -= left_ != never;
    void* const p = ::operator new (size, std::align_val_t{alignment});
    live_.emplace(p, std::pair{size, alignment});
    bytes_ += size;
    ++allocations_;
    return p;
  }
  void do_deallocate(void* p, std::size_t size, std::size_t alignment) override {
    const auto held = lock();
    require(holds(p, size, alignment), "something is given back that was not taken so");
    live_.erase(p);
    bytes_ -= size;
    ::operator delete (p, std::align_val_t{alignment});
  }
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
    return this == &other;
  }

  std::mutex mutex_;
  std::atomic<bool> called_at_once_{false};
  std::map<void*, std::pair<std::size_t, std::size_t>> live_;
  std::size_t bytes_ = 0, allocations_ = 0, left_ = never;
};

}  // namespace tier::test
