// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table/reuse_sample.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace tier::detail {
namespace {

// One to one (the finaliser of MurmurHash3), so that a hash tells its unit. Shifted, for 0 would stay 0.
std::uint32_t hash_of(RowId unit) noexcept {
  std::uint32_t hash = unit + 0x9E3779B9U;
  hash = (hash ^ hash >> 16) * 0x85EBCA6BU;
  hash = (hash ^ hash >> 13) * 0xC2B2AE35U;
  return hash ^ hash >> 16;
}

}  // namespace

std::size_t ReuseHistogram::bucket_of(std::uint64_t slots) noexcept {
  const auto value = slots - 1;
  const auto width = static_cast<unsigned>(std::bit_width(value));
  const auto shift = width > fine_bits + 1 ? width - fine_bits - 1 : 0;
  return (std::size_t{shift} << fine_bits) + static_cast<std::size_t>(value >> shift);
}

std::uint64_t ReuseHistogram::slots(std::size_t bucket) noexcept {
  const auto shift = std::max<std::size_t>(bucket >> fine_bits, 1) - 1;
  return std::uint64_t{bucket - (shift << fine_bits) + 1} << shift;
}

std::uint32_t LiveStamps::up_to(std::uint32_t stamp) const noexcept {
  std::uint32_t sum = 0;
  for (auto i = stamp + 1; i != 0; i &= i - 1) sum += sums_[i];
  return sum;
}

void LiveStamps::change(std::uint32_t stamp, std::uint32_t by) noexcept {
  for (auto i = stamp + 1; i < sums_.size(); i += i & (~i + 1)) sums_[i] += by;
}

void LiveStamps::renumber(std::uint32_t count) noexcept {
  std::fill(sums_.begin(), sums_.end(), 0);
  for (std::uint32_t i = 1; i < sums_.size(); ++i) {
    sums_[i] += i <= count;
    if (const auto above = i + (i & (~i + 1)); above < sums_.size()) sums_[above] += sums_[i];
  }
}

ReuseSample::ReuseSample(RowId units, RowId unit_rows, std::size_t most)
    : units_{units},
      unit_rows_{unit_rows},
      all_(std::min<std::size_t>(most, units) + 1),  // one more until the threshold has fallen
      by_stamp_(2 * all_.size()),
      live_{by_stamp_.size()} {
  spare_.reserve(all_.size());
  for (auto& unit : all_) spare_.push_back(&unit);
}

void ReuseSample::note(std::span<const RowId> rows) noexcept {
  asked_.fetch_add(rows.size(), std::memory_order_relaxed);
  std::array<std::uint32_t, 256> chosen;
  while (!rows.empty()) {
    const auto some = rows.first(std::min(rows.size(), chosen.size()));
    const auto last = last_hash_.load(std::memory_order_relaxed);
    std::size_t count = 0;
    for (const auto row : some) {
      chosen[count] = hash_of(unit_rows_ == 1 ? row : row / unit_rows_);
      count += chosen[count] <= last;
    }
    if (count != 0) {
      const MutexLock lock{mutex_};
      for (const auto hash : std::span{chosen}.first(count)) use(hash);
    }
    rows = rows.subspan(some.size());
  }
}

void ReuseSample::use(std::uint32_t hash) noexcept {
  if (hash > last_hash_.load(std::memory_order_relaxed)) return;  // it has fallen meanwhile
  const auto found = by_hash_.find(hash);
  if (found == by_hash_.end()) return follow(hash);
  const auto since = by_hash_.size() - live_.up_to(found->stamp);  // units used after it
  const auto slots = std::llround(static_cast<double>(since + 1) * scale_);
  reuses_.add(std::clamp<std::uint64_t>(static_cast<std::uint64_t>(slots), 1, units_), scale_);
  by_stamp_[found->stamp] = nullptr;
  live_.remove(found->stamp);
  stamp(*found);
}

void ReuseSample::follow(std::uint32_t hash) noexcept {
  auto& unit = *spare_.back();
  spare_.pop_back();
  unit.hash = hash;
  by_hash_.insert(unit);
  first_uses_ += scale_;
  stamp(unit);
  if (spare_.empty()) narrow();
}

void ReuseSample::stamp(Followed& unit) noexcept {
  if (next_stamp_ == by_stamp_.size()) renumber();
  unit.stamp = next_stamp_++;
  by_stamp_[unit.stamp] = &unit;
  live_.add(unit.stamp);
}

// Stamps have run out: those that are live become the first.
void ReuseSample::renumber() noexcept {
  next_stamp_ = 0;
  for (auto& at : by_stamp_) {
    auto* const unit = std::exchange(at, nullptr);
    if (unit == nullptr) continue;
    unit->stamp = next_stamp_;
    by_stamp_[next_stamp_++] = unit;
  }
  live_.renumber(next_stamp_);
}

// Gives up the unit of the largest hash. Uses that were counted before have stood for fewer units each, and still do.
void ReuseSample::narrow() noexcept {
  auto& unit = *by_hash_.rbegin();
  by_hash_.erase(unit.hash);
  by_stamp_[unit.stamp] = nullptr;
  live_.remove(unit.stamp);
  spare_.push_back(&unit);
  last_hash_.store(unit.hash - 1, std::memory_order_relaxed);
  scale_ = 0x1p32 / unit.hash;
}

ReuseCounts ReuseSample::counts() const {
  const MutexLock lock{mutex_};
  return {reuses_, first_uses_, asked_.load(std::memory_order_relaxed), by_hash_.size()};
}

void ReuseSample::reset_counts() noexcept {
  const MutexLock lock{mutex_};
  reuses_ = {};
  first_uses_ = 0;
  asked_.store(0, std::memory_order_relaxed);
}

}  // namespace tier::detail
