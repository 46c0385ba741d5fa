// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "computation.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <future>
#include <vector>

namespace tier::tool {
namespace {

constexpr int repeats = 5;
constexpr std::size_t floats = 256;            // per call of multiply_and_add
constexpr std::size_t passes = 400'000;        // over that many floats, by each thread
constexpr std::size_t parts_in_caches = 8192;  // 8 MiB

/// Compiled for several instruction sets if the compiler can; the machine's best one runs.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__SANITIZE_ADDRESS__)
__attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif
void multiply_and_add(float* values, std::size_t count, std::size_t rounds) {
  for (std::size_t r = 0; r < rounds; ++r)
    for (std::size_t i = 0; i < count; ++i) values[i] = values[i] * 0.999F + 0.001F;
}

std::size_t parts_of(Over over) { return over == Over::Caches ? parts_in_caches : 1; }

}  // namespace

Computation::Computation(Arena& arena, Over over) : arena_{arena}, values_(arena.threads()) {
  for (auto& values : values_) values.resize(parts_of(over) * floats);
}

void Computation::once() {
  arena_.parallel_for(arena_.threads(), [&](std::size_t thread) {
    auto& values = values_[thread];
    for (std::size_t at = 0; at < values.size(); at += floats)
      multiply_and_add(values.data() + at, floats, rounds());
  });
}

double Computation::seconds() {
  const auto run = [&] {
    const auto start = std::chrono::steady_clock::now();
    once();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  double shortest = run();
  for (int i = 1; i < repeats; ++i) shortest = std::min(shortest, run());
  return shortest;
}

std::size_t Computation::rounds() const noexcept { return passes * floats / values_.front().size(); }

double Computation::operations() {
  const auto each = 2 * rounds() * values_.front().size();
  return static_cast<double>(each * arena_.threads()) / seconds();
}

double Computation::beside(const std::function<double()>& work) {
  std::atomic<bool> stop{false};
  const auto computing = std::async(std::launch::async, [&] {
    while (!stop.load(std::memory_order_relaxed)) once();
  });
  const struct AtTheEnd {
    std::atomic<bool>& stop;
    ~AtTheEnd() { stop.store(true, std::memory_order_relaxed); }
  } at_the_end{stop};
  return work();
}

}  // namespace tier::tool
