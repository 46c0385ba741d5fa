// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Patterns of stress tests of allocators, over a file: allocations are partly written, and freed by other threads;
///        the file takes its space slowly, and while others write to it.
#include <doctest/doctest.h>
#include <unistd.h>
#include <tier/memory/io_faults.hpp>
#include <tier/pmr/arena_resource.hpp>
#include <tier/pmr/group_resource.hpp>
#include <tier/pmr/migrating_resource.hpp>
#include <tier/pmr/pool_resource.hpp>
#include <tier/runtime/runtime.hpp>

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "support/child.hpp"
#include "support/sanitized.hpp"
#include "support/seed.hpp"
#include "support/steps.hpp"
#include "support/temporary_directory.hpp"
#include "support/windows.hpp"

namespace tier::stress_test {
namespace {

using namespace literals;

/// Delays each reservation of space, as a disk that other programs use.
class SlowSpace final : public IoFaults {
 public:
  std::error_code on_io(Direction, std::uint64_t, std::size_t) noexcept override { return {}; }
  std::error_code on_reserve(std::uint64_t, std::uint64_t) noexcept override {
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
    return {};
  }
};

/// An allocation of which a few bytes are written, all with the same tag.
struct Piece {
  static constexpr std::size_t stretch = 4096;

  unsigned char* bytes = nullptr;
  std::size_t size = 0;
  std::size_t written = 0;  // bytes at its beginning
  std::size_t island = 0;   // where one further byte is written
  unsigned char tag = 0;

  void write(std::mt19937_64& random) {
    tag = static_cast<unsigned char>(1 + random() % 255);
    written = std::min<std::size_t>(size, 1 + random() % stretch);
    island = random() % size;
    std::memset(bytes, tag, written);
    bytes[island] = tag;
  }
  [[nodiscard]] bool is_whole() const {
    for (std::size_t i = 0; i < written; i += 64)
      if (bytes[i] != tag) return false;
    return bytes[written - 1] == tag && bytes[island] == tag;
  }
};

/// Threads that allocate, write a part, and free allocations of their own or of other threads.
class Stress {
 public:
  Stress(std::pmr::memory_resource& resource, std::uint64_t seed) : resource_{resource}, seed_{seed} {}

  /// \return  number of allocations; errors are printed to stderr
  std::uint64_t run(std::chrono::milliseconds time, void (Stress::*pattern)(unsigned)) {
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 2; ++i) threads.emplace_back([this, pattern, i] { (this->*pattern)(i); });
    std::this_thread::sleep_for(time);
    over_ = true;
    for (auto& thread : threads) thread.join();
    for (auto& slot : shared_) free(std::unique_ptr<Piece>{slot.exchange(nullptr)});
    return made_;
  }

  /// As rpmalloc's test: a ring of blocks, most of them small and some of up to 2 MiB, each freed when its turn comes.
  void ring(unsigned self) {
    std::mt19937_64 random{seed_ + self};
    std::vector<std::unique_ptr<Piece>> pieces(256);
    for (std::size_t i = 0; !over_; ++i) {
      auto& piece = pieces[random() % pieces.size()];
      free(std::move(piece));
      piece = make(i % 3 != 0 ? 4096 + random() % (64 << 10) : (64 << 10) + random() % (2 << 20), random);
    }
    for (auto& piece : pieces) free(std::move(piece));
  }

  /// As mimalloc's test: sizes by a power law, some kept long, many freed by another thread than their allocator.
  void transfer(unsigned self) {
    std::mt19937_64 random{seed_ + self};
    std::vector<std::unique_ptr<Piece>> kept(200);
    while (!over_) {
      const auto most = std::size_t{16} << (random() % 18);  // up to 2 MiB
      auto piece = make(1 + random() % most, random);
      if (random() % 4 == 0) {
        std::swap(kept[random() % kept.size()], piece);
      } else {
        piece.reset(shared_[random() % shared_.size()].exchange(piece.release()));
      }
      free(std::move(piece));
    }
    for (auto& piece : kept) free(std::move(piece));
  }

 private:
  std::unique_ptr<Piece> make(std::size_t size, std::mt19937_64& random) {
    auto piece = std::make_unique<Piece>();
    piece->size = size;
    piece->bytes = static_cast<unsigned char*>(resource_.allocate(size, 16));
    piece->write(random);
    ++made_;
    return piece;
  }
  void free(std::unique_ptr<Piece> piece) {
    if (piece == nullptr) return;
    if (!piece->is_whole()) std::fprintf(stderr, "wrong bytes in an allocation of %zu\n", piece->size);
    resource_.deallocate(piece->bytes, piece->size, 16);
  }

  std::pmr::memory_resource& resource_;
  std::uint64_t seed_;
  std::atomic<bool> over_{false};
  std::atomic<std::uint64_t> made_{0};
  std::array<std::atomic<Piece*>, 100> shared_{};
};

void stress(const std::string& kind, IoEngine engine, bool slow_space, std::uint64_t seed,
            std::chrono::milliseconds time) {
  const test::TemporaryDirectory directory;
  auto file = tiers::file(directory.path(), 2_GiB);
  file.engine = engine;
  if (slow_space) file.faults = std::make_shared<SlowSpace>();
  Runtime runtime{{.tiers = {tiers::dram(64_MiB), file}}};  // blocks of up to 2 MiB
  MigratingResource migrating{runtime};
  ArenaResource arena{runtime, 1_GiB};
  GroupResource group{migrating};
  PoolResource pool{&migrating};
  std::pmr::memory_resource* const resource =
      kind == "arena"   ? static_cast<std::pmr::memory_resource*>(&arena)
      : kind == "group" ? &group
      : kind == "pool"  ? static_cast<std::pmr::memory_resource*>(&pool)
                        : &migrating;
  for (const auto pattern : {&Stress::ring, &Stress::transfer}) {
    Stress of{*resource, seed};
    if (of.run(time, pattern) < 10) std::fputs("hardly anything was allocated\n", stderr);
  }
  const auto moved = runtime.statistics().bytes_moved(0, 1);
  if (moved == 0) std::fputs("nothing has left fast memory\n", stderr);
}

}  // namespace

TEST_CASE("allocations of which parts are written go to a file and come back, whoever frees them meanwhile") {
  if (!test::has_windows()) return;
  const auto seed = test::seed();
  CAPTURE(seed);
  const std::chrono::milliseconds time{test::long_form() ? 10'000 : test::sanitized ? 1500 : 700};
  unsigned turn = 0;
  for (const std::string kind : {"migrating", "pool", "group", "arena"})
    for (unsigned way = 0; way < (test::long_form() ? 4 : 1); ++way, ++turn) {
      const auto engine = (turn + seed) % 2 == 0 ? IoEngine::Uring : IoEngine::Threads;
      const bool slow_space = (turn + seed) / 2 % 2 == 0;
      const auto label = kind + (engine == IoEngine::Uring ? " by io_uring" : " by threads") +
                         (slow_space ? ", slowly" : "");
      CAPTURE(label);
      // Runs in its own process, which an alarm ends if it hangs.
      const auto ended = test::run_in_child(label,
                                            [&] {
                                              ::alarm(300);
                                              stress(kind, engine, slow_space, seed, time);
                                            },
                                            {{"TIER_SEED", std::to_string(seed)}});
      CHECK(ended.errors == "");
      CHECK(ended.signal == 0);
      CHECK(ended.code == 0);
    }
}

}  // namespace tier::stress_test
