// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "copy/kernel_measurement.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace tier::detail {
namespace {

constexpr std::size_t memory_bytes = 2 * KernelMeasurement::copy_bytes;

}  // namespace

void KernelMeasurement::Unmap::operator()(std::byte* memory) const noexcept {
  ::munmap(memory, memory_bytes);
}

KernelMeasurement::KernelMeasurement(std::span<const StreamKernel> candidates, Limits limits)
    : candidates_{candidates.first(std::min(candidates.size(), limits.candidates))},
      limits_{limits},
      times_(candidates_.size()) {
  for (auto& times : times_) times.reserve(limits.rounds);
}

bool KernelMeasurement::step() noexcept {
  const auto round = next_ / candidates_.size(), candidate = next_ % candidates_.size();
  if (round == limits_.rounds || spent_ >= limits_.time) return false;
  const auto began = Clock::now();
  if (memory_ == nullptr) {
    void* const memory =
        ::mmap(nullptr, memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    memory_.reset(static_cast<std::byte*>(memory));
    ::madvise(memory, memory_bytes, MADV_HUGEPAGE);
    std::memset(memory, 1, memory_bytes);
  }
  auto* const source = memory_.get();
  flush_caches(source, memory_bytes);
  const auto copy_began = Clock::now();
  stream_bytes(candidates_[candidate], source + copy_bytes, source, copy_bytes);
  const auto ended = Clock::now();
  note(candidate, ended - copy_began);
  spent_ += ended - began;
  ++next_;
  return true;
}

void KernelMeasurement::note(std::size_t candidate, Clock::duration time) {
  times_[candidate].push_back(std::max(time, Clock::duration{1}));
}

bool KernelMeasurement::is_complete() const noexcept {
  return std::ranges::all_of(times_, [](const auto& times) { return times.size() >= 3; });
}

KernelMeasurement::Clock::duration KernelMeasurement::median(std::size_t candidate) const {
  auto times = times_[candidate];
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

bool KernelMeasurement::beats_guess_in_most_rounds(std::size_t candidate) const noexcept {
  const auto rounds = std::min(times_[0].size(), times_[candidate].size());
  std::size_t wins = 0;
  for (std::size_t round = 0; round < rounds; ++round) wins += times_[candidate][round] < times_[0][round];
  return 3 * wins >= 2 * rounds;
}

const StreamKernel& KernelMeasurement::fastest() const noexcept {
  std::size_t best = 0;
  try {
    for (std::size_t i = 1; is_complete() && i < candidates_.size(); ++i) {
      const bool faster_than_guess =
          static_cast<double>(median(0).count()) > margin * static_cast<double>(median(i).count());
      if (faster_than_guess && beats_guess_in_most_rounds(i) && (best == 0 || median(i) < median(best)))
        best = i;
    }
  } catch (const std::bad_alloc&) {
    return candidates_[0];
  }
  return candidates_[best];
}

std::vector<KernelRate> KernelMeasurement::rates() const {
  std::vector<KernelRate> rates;
  for (std::size_t i = 0; i < candidates_.size(); ++i)
    if (!times_[i].empty())
      rates.push_back({&candidates_[i],
                       static_cast<double>(copy_bytes) / std::chrono::duration<double>{median(i)}.count()});
  return rates;
}

std::span<const StreamKernel> candidate_kernels() noexcept {
  const auto all = stream_kernels();
  return all.first(std::min(all.size(), KernelMeasurement::most_candidates));
}

}  // namespace tier::detail
