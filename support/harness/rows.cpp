// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/rows.hpp"

#include "harness/registry.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <tier/core/assert.hpp>
#include <tuple>
#include <utility>

namespace tier::bench {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::uint64_t page_faults() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_minflt) + static_cast<std::uint64_t>(usage.ru_majflt);
}

void sample(FunctionRef<void()> timed, Timings& into) {
  const std::uint64_t faults = page_faults();
  const double start = now();
  timed();
  into.seconds.push_back(now() - start);
  into.faults += page_faults() - faults;
}

/// Returns the `q`-quantile of the values, rounded down to one of them.
double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values.at(static_cast<std::size_t>(q * static_cast<double>(values.size() - 1)));
}

double measure_fault() {
  constexpr std::size_t size = std::size_t{64} << 20;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t pages = size / page;
  void* mapped = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::runtime_error{"no memory to measure the cost of a page fault in"};
  ::madvise(mapped, size, MADV_NOHUGEPAGE);  // a benchmark's stray faults are of small pages
  auto* bytes = static_cast<volatile char*>(mapped);
  const double start = now();
  for (std::size_t i = 0; i < size; i += page) bytes[i] = 1;
  const double cost = (now() - start) / static_cast<double>(pages);
  ::munmap(mapped, size);
  return cost;
}

}  // namespace

double Timings::median() const { return quantile(seconds, 0.5); }
double Timings::spread() const { return (quantile(seconds, 0.75) - quantile(seconds, 0.25)) / 2 / median(); }
double Timings::total() const { return std::accumulate(seconds.begin(), seconds.end(), 0.0); }

Timings& Timings::operator+=(const Timings& more) {
  seconds.insert(seconds.end(), more.seconds.begin(), more.seconds.end());
  faults += more.faults;
  return *this;
}

Pair& Pair::operator+=(const Pair& more) {
  ours += more.ours;
  baseline += more.baseline;
  return *this;
}

bool Pair::same_faults() const {
  const bool ours_has_more = ours.faults > baseline.faults;
  const auto& [more, less] = ours_has_more ? std::tie(ours, baseline) : std::tie(baseline, ours);
  return static_cast<double>(more.faults - less.faults) * seconds_per_fault() <= 0.01 * more.total();
}

std::string Pair::to_string() const {
  std::array<char, 200> line{};
  std::snprintf(line.data(), line.size(),
                "ours %.6g s (+-%.1f %%, %llu faults), baseline %.6g s (+-%.1f %%, %llu faults), of %zu",
                ours.median(), 100 * ours.spread(), static_cast<unsigned long long>(ours.faults),
                baseline.median(), 100 * baseline.spread(), static_cast<unsigned long long>(baseline.faults),
                ours.seconds.size());
  return line.data();
}

Pair time_pair(FunctionRef<void()> ours, FunctionRef<void()> baseline, int repeats,
               FunctionRef<void(Side)> prepare) {
  TIER_VERIFY(repeats >= 9, "a median needs at least nine repeats");
  Pair pair;
  for (int i = -1; i < repeats; ++i) {
    Pair warm_up;
    Pair& into = i < 0 ? warm_up : pair;
    // The order alternates, so that neither side always finds the other's data in the cache.
    const bool ours_first = i % 2 == 0;
    const auto sample_of = [&](Side side) {
      prepare(side);
      side == Side::Ours ? sample(ours, into.ours) : sample(baseline, into.baseline);
    };
    sample_of(ours_first ? Side::Ours : Side::Baseline);
    sample_of(ours_first ? Side::Baseline : Side::Ours);
  }
  return pair;
}

Row checked_row(Row row, const Pair& pair) {
  const bool same_faults = pair.same_faults();
  std::printf("%s: %s: %s%s\n", row.id.c_str(), row.what.c_str(), pair.to_string().c_str(),
              same_faults ? "" : ": FAILED, the faults alone cost more than 1 %");
  row.reached = row.reached && same_faults;
  row.spread = std::hypot(pair.ours.spread(), pair.baseline.spread());
  return row;
}

Row timed_row(Row row, const Pair& pair, double units, FunctionRef<bool(const Row&)> reached) {
  row.value = pair.ours.median() * units;
  row.baseline_value = pair.baseline.median() * units;
  row.ratio = row.value / row.baseline_value;
  row.reached = reached(row);
  return checked_row(std::move(row), pair);
}

double seconds_per_fault() {
  static const double cost = measure_fault();
  return cost;
}

std::vector<Registered>& registry() {
  static std::vector<Registered> all;
  return all;
}

bool add_rows(std::string id, Measurement measurement) {
  registry().push_back({std::move(id), measurement});
  return true;
}

}  // namespace tier::bench
