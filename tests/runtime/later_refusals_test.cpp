// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  System calls that work while a runtime is made and are refused later, as in a sandbox that a program enters late.
#include "support/child.hpp"
#include "support/denied_calls.hpp"
#include "support/sanitized.hpp"
#include "support/temporary_directory.hpp"
#include "support/windows.hpp"

#include <doctest/doctest.h>
#include <sys/syscall.h>
#include <tier/core/error.hpp>
#include <tier/pmr/migrating_resource.hpp>
#include <tier/runtime/runtime.hpp>
#include <tier/scope/scope.hpp>
#include <tier/tensor/tensor.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory_resource>
#include <string>
#include <thread>
#include <vector>

namespace tier::later_refusals_test {
namespace {

using namespace literals;
using ByteTensor = Tensor<unsigned char>;

/// Says that the test is skipped.
void skip() { MESSAGE("SKIPPED: this system does not let a test enter a sandbox, or has no io_uring"); }

struct Call {
  std::string name;
  long number;
};
/// Calls that libtier makes after a runtime is made, and can do without. Other code also needs `madvise` and `poll`.
const std::vector<Call> calls {
  {"io_uring_enter", SYS_io_uring_enter}, {"io_uring_setup", SYS_io_uring_setup},
      {"fallocate", SYS_fallocate}, {"madvise", SYS_madvise}, {"mbind", SYS_mbind}, {"mincore", SYS_mincore},
      {"move_pages", SYS_move_pages},
#if defined(SYS_poll)
      {"poll", SYS_poll},
#endif
  {
    "sync_file_range", SYS_sync_file_range
  }
};

/// Keeps tensors and containers that exceed fast memory, and uses them in turns.
class Use {
 public:
  explicit Use(Runtime& runtime) : runtime_{runtime}, memory_{runtime} {}

  void add() {
    tensors_.emplace_back(runtime_, Shape{(1_MiB).count});
    KernelScope scope{"fill", overwrites(tensors_.back())};
    std::memset(scope.out(tensors_.back()).data(), rounds_ + static_cast<int>(tensors_.size()) - 1,
                (1_MiB).count);
    containers_.emplace_back(
        (1_MiB).count, static_cast<unsigned char>(rounds_ + static_cast<int>(containers_.size())), &memory_);
  }
  /// \return  how many of them have lost their contents
  int round() {
    int wrong = 0;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const auto expected = static_cast<unsigned char>(static_cast<int>(i) + rounds_);
      {
        const WriteScope scope{tensors_[i]};
        wrong += update(scope[tensors_[i]].data(), expected) ? 0 : 1;
      }
      wrong += update(containers_[i].data(), expected) ? 0 : 1;
    }
    ++rounds_;
    return wrong;
  }

 private:
  static bool update(unsigned char* bytes, unsigned char expected) {
    const bool whole = std::all_of(bytes, bytes + (1_MiB).count, [&](auto b) { return b == expected; });
    std::memset(bytes, expected + 1, (1_MiB).count);
    return whole;
  }

  Runtime& runtime_;
  MigratingResource memory_;
  std::vector<ByteTensor> tensors_;
  std::vector<std::pmr::vector<unsigned char>> containers_;
  int rounds_ = 0;
};

/// \return  0 if nothing went wrong
int use_beyond(const Call& call, int error, WindowMode windows, const std::string& folder) {
  RuntimeOptions options;
  options.tiers = {tiers::dram(16_MiB), tiers::file(folder, 256_MiB)};
  options.tiers.front().prefault = false;
  options.windows = windows;
  Runtime runtime{std::move(options)};
  Use use{runtime};
  for (int i = 0; i < 16; ++i) use.add();
  if (use.round() != 0) return 3;
  if (!test::deny_call_from_now_on(call.number, error)) return 77;
  for (int i = 0; i < 16; ++i) use.add();
  return use.round() + use.round() == 0 ? 0 : 4;
}

}  // namespace

TEST_CASE("a runtime goes on when a system call that worked is refused, and loses nothing") {
  if (test::sanitized) return;  // sanitizers need such calls
  const test::TemporaryDirectory folder;
  for (const auto& call : calls)
    for (const int error : {EPERM, ENOSYS})
      for (const auto windows : test::window_modes()) {
        const auto label = call.name + " " + std::to_string(error) + " " + std::string{to_string(windows)};
        CAPTURE(label);
        const auto ended =
            test::run_in_child(label, [&] { std::_Exit(use_beyond(call, error, windows, folder.path())); });
        CAPTURE(ended.errors);
        if (ended.code == 77) return skip();
        CHECK(ended.signal == 0);
        CHECK(ended.code == 0);
      }
}

TEST_CASE("io_uring may be refused while requests are in flight") {
  if (test::sanitized) return;
  const test::TemporaryDirectory folder;
  for (int delay = 0; delay < 4; ++delay) {
    const auto label = "delay " + std::to_string(delay);
    CAPTURE(label);
    const auto ended = test::run_in_child(label, [&] {
      constexpr std::size_t size = (8_MiB).count;
      const auto tier = make_tier(tiers::file(folder.path(), 2 * Bytes{size}));
      if (tier->description().find("by io_uring") == std::string::npos) std::_Exit(77);
      if (tier->reserve(0, 2 * size)) std::_Exit(3);
      std::atomic<bool> refused{false};
      std::atomic<int> wrong{0};
      const auto run = [&](std::uint64_t offset) {
        std::vector<std::byte> memory(size + 4096);
        auto* const begin =
            memory.data() + (4096 - reinterpret_cast<std::uintptr_t>(memory.data()) % 4096) % 4096;
        for (int round = 0, after = 0; after < 3; ++round) {
          if (refused.load()) ++after;
          for (const auto direction : {Direction::Write, Direction::Read}) {
            std::memset(begin, direction == Direction::Write ? round : ~round, size);
            std::vector<IoRequest> requests;
            for (std::size_t at = 0; at < size; at += 8192)  // pieces that are not adjacent
              requests.push_back({offset + at, begin + at, 4096, {}});
            tier->transfer(direction, requests);
            for (const auto& request : requests) {
              if (request.error) ++wrong;
              if (std::to_integer<int>(*request.memory) != (round & 0xFF)) ++wrong;
            }
          }
        }
      };
      std::thread other{[&] { run(size); }};
      std::thread sandbox{[&] {
        std::this_thread::sleep_for(std::chrono::milliseconds{5 + 7 * delay});
        if (!test::deny_call_from_now_on(SYS_io_uring_enter, EPERM)) std::_Exit(78);
        refused = true;
      }};
      run(0);
      other.join();
      sandbox.join();
      std::_Exit(wrong == 0 ? 0 : 4);
    });
    CAPTURE(ended.errors);
    if (ended.code == 77 || ended.code == 78) return skip();
    CHECK(ended.signal == 0);
    CHECK(ended.code == 0);
  }
}

TEST_CASE("where windows are refused what they need, that is said and nothing aborts") {
  if (test::sanitized || !test::has_windows()) return;
  const test::TemporaryDirectory folder;
  const auto ended = test::run_in_child("ioctl", [&] {
    RuntimeOptions options;
    options.tiers = {tiers::dram(16_MiB), tiers::file(folder.path(), 256_MiB)};
    options.windows = WindowMode::Full;
    Runtime runtime{std::move(options)};
    MigratingResource memory{runtime};
    std::pmr::vector<unsigned char> small((1_MiB).count, 7, &memory);
    if (!test::deny_call_from_now_on(SYS_ioctl, EPERM)) std::_Exit(77);
    std::thread{[&] {
      try {
        auto* const block = static_cast<unsigned char*>(memory.allocate((1_MiB).count));
        block[0] = 1;                    // an absent page
      } catch (const std::exception&) {  // an exception would also do
      }
    }}.detach();
    std::this_thread::sleep_for(std::chrono::milliseconds{500});
    const bool is_kept = std::ranges::all_of(small, [](auto b) { return b == 7; });
    std::_Exit(is_kept ? 0 : 3);
  });
  CAPTURE(ended.errors);
  if (ended.code == 77) return skip();
  CHECK(ended.signal == 0);
  CHECK(ended.code == 0);
  CHECK(
      ended.errors.find(
          "libtier: the system now refuses ioctl on userfaultfd, which it allowed when the runtime was made: "
          "Operation not permitted.") != std::string::npos);
}

}  // namespace tier::later_refusals_test
