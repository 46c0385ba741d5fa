// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Question: is PoolResource as fast as the fastest allocators, on one thread, on two, and if one frees what the other has
// allocated?
#include <malloc.h>
#include <tier/pmr/pool_resource.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <memory_resource>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "allocators/allocators.hpp"
#include "harness/rows.hpp"
#include "harness/team.hpp"
#include "random.hpp"
#include "resident.hpp"

namespace tier::bench {
namespace {

constexpr std::size_t live = 100'000;  // of all threads together
constexpr std::uint64_t replacements = 500'000;

std::size_t random_size(Random& random) { return 16 + random.below(1009); }

struct Allocation {
  std::byte* p = nullptr;
  std::size_t size = 0;
};

Allocation allocate(std::pmr::memory_resource& resource, std::size_t size) {
  auto* const p = static_cast<std::byte*>(resource.allocate(size));
  *p = std::byte{1};  // every allocation is written
  return {p, size};
}

/// Allocations of 16 B to 1 KiB, which threads replace at random, each its own.
class Churn {
 public:
  Churn(std::pmr::memory_resource& resource, Team& team) : resource_{resource}, team_{team} {
    shares_.resize(team.size());
    team.run([&](std::size_t i) { fill(shares_[i], i); });
    for (int warm_up = 0; warm_up < 3; ++warm_up) run();
  }
  ~Churn() {
    for (const auto& share : shares_)
      for (const auto& a : share.allocations) resource_.deallocate(a.p, a.size);
  }
  Churn(const Churn&) = delete;
  Churn& operator=(const Churn&) = delete;

  void run() {
    team_.run([&](std::size_t i) { replace(shares_[i]); });
  }
  /// Writes every allocation.   \return  bytes asked for
  std::size_t touch() {
    std::size_t bytes = 0;
    for (const auto& share : shares_)
      for (const auto& a : share.allocations) {
        std::memset(a.p, 1, a.size);
        bytes += a.size;
      }
    return bytes;
  }
  [[nodiscard]] double operations() const { return static_cast<double>(replacements); }

 private:
  struct alignas(128) Share {
    std::vector<Allocation> allocations;
    Random random{1};
  };

  void fill(Share& share, std::size_t number) {
    share.random = Random{number + 1};
    share.allocations.resize(live / team_.size());
    for (auto& a : share.allocations) a = allocate(resource_, random_size(share.random));
  }
  void replace(Share& share) {
    for (std::uint64_t i = 0; i < replacements; ++i) {
      auto& a = share.allocations[share.random.below(share.allocations.size())];
      resource_.deallocate(a.p, a.size);
      a = allocate(resource_, random_size(share.random));
    }
  }

  std::pmr::memory_resource& resource_;
  Team& team_;
  std::vector<Share> shares_;
};

/// One thread allocates and hands over in batches; the other frees.
class Handover {
 public:
  Handover(std::pmr::memory_resource& resource, Team& team) : resource_{resource}, team_{team} {}

  void run() {
    team_.run([&](std::size_t i) { i == 0 ? produce() : consume(); });
  }
  [[nodiscard]] double operations() const { return batches * batch; }

 private:
  static constexpr std::uint64_t batches = 2'000, batch = 256, slots = 64;  // 16,384 in flight at most

  void produce() {
    for (std::uint64_t n = 0; n < batches; ++n) {
      while (produced_ - consumed_.load(std::memory_order_acquire) == slots) std::this_thread::yield();
      for (auto& a : ring_[produced_ % slots]) a = allocate(resource_, random_size(random_));
      produced_.store(produced_ + 1, std::memory_order_release);
    }
  }
  void consume() {
    for (std::uint64_t n = 0; n < batches; ++n) {
      while (produced_.load(std::memory_order_acquire) == consumed_) std::this_thread::yield();
      for (const auto& a : ring_[consumed_ % slots]) resource_.deallocate(a.p, a.size);
      consumed_.store(consumed_ + 1, std::memory_order_release);
    }
  }

  std::pmr::memory_resource& resource_;
  Team& team_;
  Random random_{1};
  std::array<std::array<Allocation, batch>, slots> ring_{};
  alignas(128) std::atomic<std::uint64_t> produced_{0};
  alignas(128) std::atomic<std::uint64_t> consumed_{0};
};

struct Rival {
  const char* name;
  std::pmr::memory_resource* resource;
};

/// Returns the rivals, mimalloc last, because the last pair becomes the row.
std::vector<Rival> rivals(bool one_thread) {
  static std::pmr::synchronized_pool_resource synchronized;
  static std::pmr::unsynchronized_pool_resource unsynchronized;
  std::vector<Rival> all{{"new_delete_resource", std::pmr::new_delete_resource()},
                         {"synchronized_pool_resource", &synchronized}};
  if (one_thread) all.push_back({"unsynchronized_pool_resource", &unsynchronized});
  all.insert(all.end(),
             {{"jemalloc", &jemalloc()}, {"oneTBB scalable", &tbbmalloc()}, {"mimalloc", &mimalloc()}});
  return all;
}

template <class Workload>
double ns(const Workload& workload, const Timings& timings) {
  return timings.median() / workload.operations() * 1e9;
}

/// Returns resident bytes per requested byte, in a process that does nothing else.
double resident_share(std::pmr::memory_resource& resource, std::size_t threads) {
  return in_child([&] {
    Team team{threads};
    ::malloc_trim(0);
    const auto before = resident_bytes();
    Churn churn{resource, team};
    const auto requested = churn.touch();
    return static_cast<double>(resident_bytes() - before) / static_cast<double>(requested);
  });
}

/// Returns the memory left after one thread has freed all that another handed over, in a process that does nothing else.
double mebibytes_after_handover(std::pmr::memory_resource& resource) {
  return in_child([&] {
    Team team{2};
    const auto handover = std::make_unique<Handover>(resource, team);
    ::malloc_trim(0);
    const auto before = resident_bytes();
    for (int i = 0; i < 3; ++i) handover->run();
    const auto after = resident_bytes();
    return static_cast<double>(after - std::min(before, after)) / (1 << 20);
  });
}

void print_resident() {
  PoolResource pool{std::pmr::new_delete_resource()};
  auto all = rivals(true);
  all.insert(all.begin(), {"ours", &pool});
  const auto is_for_two = [](const Rival& rival) {
    return std::string_view{rival.name} != "unsynchronized_pool_resource";
  };
  for (std::size_t threads = 1; threads <= 2; ++threads)
    for (const auto& rival : all)
      if (threads == 1 || is_for_two(rival))
        std::printf("pmr.small: threads: %zu: bytes resident for each asked for: %s %.2f\n", threads,
                    rival.name, resident_share(*rival.resource, threads));
  for (const auto& rival : all)
    if (is_for_two(rival))
      std::printf("pmr.small: allocate on one thread, free on another: MiB resident in the end: %s %.1f\n",
                  rival.name, mebibytes_after_handover(*rival.resource));
}

/// Measures ours against each rival in turn, with a new pool for each; prints all, and returns the last.
template <class Workload>
Row row(const char* what, Team& team) {
  Row last;
  for (const auto& [name, resource] : rivals(team.size() == 1)) {
    PoolResource pool{std::pmr::new_delete_resource()};
    Workload ours{pool, team};
    Workload theirs{*resource, team};
    const Pair pair = time_pair([&] { ours.run(); }, [&] { theirs.run(); }, 15);
    const double ratio = ns(ours, pair.ours) / ns(theirs, pair.baseline);
    std::printf("pmr.small: %s: ours %.1f ns, %s %.1f ns, %.2f of it\n", what, ns(ours, pair.ours), name,
                ns(theirs, pair.baseline), ratio);
    last = checked_row({.id = "pmr.small",
                        .what = what,
                        .value = ns(ours, pair.ours),
                        .unit = "ns",
                        .baseline = name,
                        .baseline_value = ns(theirs, pair.baseline),
                        .ratio = ratio,
                        .reach = "<= 1",
                        .reached = ratio <= 1},
                       pair);
  }
  return last;
}

std::vector<Row> pmr_small() {
  require_the_systems_malloc();
  print_resident();  // before threads exist, which a child would lack
  Team one{1}, two{2};
  std::vector<Row> rows;
  rows.push_back(row<Churn>("free + allocate, 16 B to 1 KiB, one thread", one));
  if (std::thread::hardware_concurrency() > 1) {
    rows.push_back(row<Churn>("free + allocate, 16 B to 1 KiB, each of two threads", two));
    rows.push_back(row<Handover>("allocate on one thread, free on another", two));
  }
  return rows;
}

const bool registered = add_rows("pmr.small", pmr_small);

}  // namespace
}  // namespace tier::bench
