// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Threads that read, write and make system calls in windows while other threads move their blocks all the time.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <ctime>
#include <random>
#include <span>
#include <stdexcept>
#include <thread>

#include "manager/rig.hpp"

namespace tier::test {

inline void migrate(Manager& manager, const ObjectHandle& object, TierIndex tier) {
  std::vector<BlockId> ids;
  for (const auto* b : object.ref().object->blocks) ids.push_back(b->id);
  manager.migrate(ids, tier);
}
inline void migrate(Rig& rig, const ObjectHandle& object, TierIndex tier) {
  migrate(*rig.manager, object, tier);
}

/// Stores a growing count in each word of a window, each by one thread. A reader that sees a count shrink has seen an older
/// page after a newer one; a writer that finds another count than it stored last has lost a store.
class WindowFire {
 public:
  using Word = std::uint64_t;

  WindowFire(Manager& manager, std::span<const Bytes> sizes, std::uint64_t seed)
      : manager_{manager}, seed_{seed} {
    for (const auto size : sizes) {
      handles_.push_back(manager.create_window(size, 64, "under fire"));
      auto* const first = reinterpret_cast<Word*>(handles_.back().ref().object->window);
      words_.emplace_back(first, size.count / sizeof(Word));
      std::ranges::fill(words_.back(), 0);
      last_.emplace_back(words_.back().size(), 0);
    }
    handles_.push_back(manager.create_window(Bytes{sizeof(Word)}, 64, "slept on"));
  }

  /// \throws  `std::logic_error` that says what was lost
  void run(std::chrono::duration<double> time) {
    std::vector<std::future<void>> threads;
    for (unsigned i = 0; i < writers; ++i) threads.push_back(in_thread([this, i] { write(i); }));
    for (unsigned i = 0; i < 2; ++i) threads.push_back(in_thread([this, i] { read(i); }));
    threads.push_back(in_thread([this] { call_the_system(); }));
    threads.push_back(in_thread([this] { sleep(); }));
    threads.push_back(in_thread([this] { wake(); }));
    for (unsigned i = 0; i < 2; ++i) threads.push_back(in_thread([this, i] { move(i); }));
    const auto end = std::chrono::steady_clock::now() + time;
    const auto is_short = [&] { return moves_ == 0 || woken_ == 0; };  // on a busy machine
    while (!over_ && (std::chrono::steady_clock::now() < end || is_short()))
      std::this_thread::sleep_for(std::chrono::milliseconds{10});
    over_ = true;
    for (auto& thread : threads) thread.wait();
    for (auto& thread : threads) thread.get();
    for (std::size_t object = 0; object < words_.size(); ++object)  // lost after its owner's last check
      require(std::ranges::equal(words_[object], last_[object]), "a store is lost, as the end shows");
  }
  [[nodiscard]] std::uint64_t stores() const { return stores_; }
  [[nodiscard]] std::uint64_t loads() const { return loads_; }
  [[nodiscard]] std::uint64_t calls() const { return calls_; }
  [[nodiscard]] std::uint64_t moves() const { return moves_; }
  /// Number of threads that slept on a word in a window, and were woken after it had moved.
  [[nodiscard]] std::uint64_t woken() const { return woken_; }

 private:
  static constexpr unsigned writers = 2;
  static constexpr unsigned owners = writers + 1;  // the third makes system calls

  /// Calls `step` until a thread finds something wrong or the time is over; an exception ends all threads.
  template <class F>
  void until_over(F&& step) {
    try {
      while (!over_) step();
    } catch (...) {
      over_ = true;
      throw;
    }
  }
  static void require(bool holds, const char* what) {
    if (!holds) throw std::logic_error{what};
  }
  static Word load(const Word& word) {
    return std::atomic_ref{const_cast<Word&>(word)}.load(std::memory_order_relaxed);
  }
  static void store(Word& word, Word value) { std::atomic_ref{word}.store(value, std::memory_order_relaxed); }

  /// A stretch of words, of which the thread owns every third.
  struct Stretch {
    std::span<Word> words;
    std::size_t object, first;
  };
  Stretch pick(std::mt19937_64& random, std::size_t longest) {
    const auto object = random() % words_.size();
    const auto words = words_[object];
    const auto first = random() % words.size();
    return {words.subspan(first, std::min<std::size_t>(1 + random() % longest, words.size() - first)), object,
            first};
  }

  void write(unsigned self) {
    std::mt19937_64 random{seed_ + self};
    std::uint64_t stores = 0;
    until_over([&] {
      const auto at = pick(random, 3000);
      for (std::size_t i = 0; i < at.words.size(); ++i) {
        if ((at.first + i) % owners != self) continue;
        auto& mine = last_[at.object][at.first + i];
        require(load(at.words[i]) == mine, "a store is lost");
        store(at.words[i], ++mine);
        ++stores;
      }
    });
    stores_ += stores;
  }

  void read(unsigned self) {
    std::mt19937_64 random{seed_ + 100 + self};
    std::vector<std::vector<Word>> seen;
    for (const auto words : words_) seen.emplace_back(words.size(), 0);
    std::uint64_t loads = 0;
    until_over([&] {
      const auto at = pick(random, 3000);
      for (std::size_t i = 0; i < at.words.size(); ++i) {
        if ((at.first + i) % owners == writers) continue;  // system calls do not store atomically
        auto& before = seen[at.object][at.first + i];
        const auto now = load(at.words[i]);
        require(now >= before, "a load has seen an older page than one before");
        before = now;
        ++loads;
      }
    });
    loads_ += loads;
  }

  /// read(2), write(2), their vectored forms and futex(2): the system accesses this thread's own words in pages that are
  /// absent or write-protected.
  void call_the_system() {
    std::mt19937_64 random{seed_ + 200};
    std::array<int, 2> ends{};
    require(::pipe(ends.data()) == 0, "no pipe");
    const int in = ends[1], out = ends[0];
    struct Closing {
      std::array<int, 2> ends;
      ~Closing() {
        ::close(ends[0]);
        ::close(ends[1]);
      }
    } const closing{ends};
    std::uint64_t calls = 0;
    until_over([&] {
      auto at = pick(random, 400);
      while (at.words.size() > 0 && at.first % owners != writers) {
        at.words = at.words.subspan(1);
        ++at.first;
      }
      std::vector<::iovec> mine;
      std::vector<Word> values, back;
      for (std::size_t i = 0; i < at.words.size(); i += owners) {
        mine.push_back({&at.words[i], sizeof(Word)});
        values.push_back(++last_[at.object][at.first + i]);
      }
      if (mine.empty()) return;
      back.resize(mine.size());
      const auto bytes = static_cast<::ssize_t>(mine.size() * sizeof(Word));
      const auto count = static_cast<int>(mine.size());
      const auto all = [&](::ssize_t result, const char* what) {
        if (result != bytes) throw std::logic_error{std::string{what} + ": " + std::strerror(errno)};
      };
      all(::write(in, values.data(), values.size() * sizeof(Word)), "write from plain memory");
      all(::readv(out, mine.data(), count), "readv into a window");
      all(::writev(in, mine.data(), count), "writev from a window");
      all(::read(out, back.data(), back.size() * sizeof(Word)), "read into plain memory");
      require(back == values, "a system call has lost a store");
      // No thread waits on it, but the address must be readable.
      const auto woken = ::syscall(SYS_futex, mine.front().iov_base, FUTEX_WAIT, ~0U, nullptr, nullptr, 0);
      require(woken == -1 && errno == EAGAIN, "futex on a window");
      calls += 5;
    });
    calls_ += calls;
  }

  using SleptOn = std::uint32_t;  // the type that futex(2) requires
  SleptOn& slept_on() { return *reinterpret_cast<SleptOn*>(handles_.back().ref().object->window); }
  /// Alternates between futexes of one process and those shared by several.
  static int any_futex(SleptOn value) { return value % 2 == 0 ? FUTEX_PRIVATE_FLAG : 0; }

  void sleep() {
    struct Gone {
      std::atomic<std::uint64_t>& rounds;
      ~Gone() { rounds = over; }
    } const gone{sleeps_};
    constexpr ::timespec too_long{60, 0};
    until_over([&] {
      const auto before = std::atomic_ref{slept_on()}.load();
      ++sleeps_;
      const auto slept =
          ::syscall(SYS_futex, &slept_on(), FUTEX_WAIT | any_futex(before), before, &too_long, nullptr, 0);
      require(slept == 0 || errno == EAGAIN || errno == EINTR,
              "who sleeps on a word in a window is not woken");
    });
  }

  /// Moves the word on which a thread sleeps, changes it, and wakes the thread.
  void wake() {
    std::mt19937_64 random{seed_ + 400};
    for (std::uint64_t seen = 0, now = 0; (now = sleeps_) != over; seen = now) {
      if (now == seen && !over_) {
        std::this_thread::yield();
        continue;
      }
      move_to_any_tier(handles_.back(), random);
      const auto before = std::atomic_ref{slept_on()}.fetch_add(1);
      const auto woken =
          ::syscall(SYS_futex, &slept_on(), FUTEX_WAKE | any_futex(before), 1, nullptr, nullptr, 0);
      require(woken >= 0, "futex on a window");
      woken_ += static_cast<std::uint64_t>(woken);
    }
  }

  /// \return  false if faults of other threads pin the blocks in the way
  bool move_to_any_tier(const ObjectHandle& object, std::mt19937_64& random) {
    try {
      migrate(manager_, object, static_cast<TierIndex>(random() % manager_.tier_count()));
      return true;
    } catch (const OutOfTierMemory&) {
      return false;
    }
  }

  void move(unsigned self) {
    std::mt19937_64 random{seed_ + 300 + self};
    until_over([&] {
      if (move_to_any_tier(handles_[random() % handles_.size()], random)) ++moves_;
    });
  }

  Manager& manager_;
  std::uint64_t seed_;
  std::vector<ObjectHandle> handles_;
  std::vector<std::span<Word>> words_;
  std::vector<std::vector<Word>> last_;  // the last store to each word, used by its owner alone
  std::atomic<bool> over_{false};
  static constexpr std::uint64_t over = ~std::uint64_t{0};
  std::atomic<std::uint64_t> sleeps_{0};  // sleeps begun; `over` after the last
  std::atomic<std::uint64_t> stores_{0}, loads_{0}, calls_{0}, moves_{0}, woken_{0};
};

}  // namespace tier::test
