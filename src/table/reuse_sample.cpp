// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table/reuse_sample.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tier::detail {
namespace {

// A bijection (the finaliser of MurmurHash3), so that a hash identifies its row. Adds a constant, because 0 would stay 0.
std::uint32_t hash_of(RowId row) noexcept {
  std::uint32_t hash = row + 0x9E3779B9U;
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

std::uint32_t LiveStamps::before(std::uint32_t stamp) const noexcept {
  const auto word = stamp / 64;
  auto sum = static_cast<std::uint32_t>(std::popcount(bits_[word] & ((std::uint64_t{1} << stamp % 64) - 1)));
  for (auto i = word; i != 0; i &= i - 1) sum += sums_[i];
  return sum;
}

void LiveStamps::change(std::uint32_t stamp, std::uint32_t by) noexcept {
  bits_[stamp / 64] ^= std::uint64_t{1} << stamp % 64;
  for (auto i = stamp / 64 + 1; i < sums_.size(); i += i & (~i + 1)) sums_[i] += by;
}

void LiveStamps::clear() noexcept {
  std::fill(bits_.begin(), bits_.end(), 0);
  std::fill(sums_.begin(), sums_.end(), 0);
}

ReuseSample::ReuseSample(RowId rows, std::size_t most)
    : rows_{rows},
      most_{std::min<std::size_t>(most, rows)},
      table_(std::bit_ceil(2 * most_)),
      hashes_(2 * (most_ + 1) + 1),  // one more is followed until the threshold has fallen
      live_{hashes_.size()} {}

void ReuseSample::note(std::span<const RowId> rows) noexcept {
  asked_.fetch_add(rows.size(), std::memory_order_relaxed);
  std::array<std::uint32_t, 256> chosen;
  while (!rows.empty()) {
    const auto some = rows.first(std::min(rows.size(), chosen.size()));
    const auto last = last_hash_.load(std::memory_order_relaxed);
    std::size_t count = 0;
    for (const auto row : some) {
      chosen[count] = hash_of(row);
      count += chosen[count] <= last;
    }
    if (count != 0) {
      const MutexLock lock{mutex_};
      for (const auto hash : std::span{chosen}.first(count)) use(hash);
    }
    rows = rows.subspan(some.size());
  }
}

// Returns the entry of this hash, or the empty one where it belongs.
ReuseSample::Followed& ReuseSample::entry_of(std::uint32_t hash) noexcept {
  auto at = std::size_t{hash};
  while (table_[at &= table_.size() - 1].stamp != 0 && table_[at].hash != hash) ++at;
  return table_[at];
}

void ReuseSample::use(std::uint32_t hash) noexcept {
  if (hash > last_hash_.load(std::memory_order_relaxed)) return;  // the threshold has fallen meanwhile
  if (last_stamp_ + 1 == hashes_.size()) rebuild();
  auto& entry = entry_of(hash);
  if (entry.stamp == 0) {
    first_uses_ += scale_;
    ++followed_;
  } else {
    const auto since = followed_ - live_.before(entry.stamp);  // rows used since then, itself included
    const auto slots = static_cast<std::uint64_t>(std::lround(static_cast<double>(since) * scale_));
    reuses_.add(std::clamp<std::uint64_t>(slots, 1, rows_), scale_);
    live_.remove(entry.stamp);
  }
  entry = {hash, ++last_stamp_};
  hashes_[last_stamp_] = hash;
  live_.add(last_stamp_);
  while (followed_ > most_) {
    const auto last = last_hash_.load(std::memory_order_relaxed);
    last_hash_.store(last - last / 16 - 1, std::memory_order_relaxed);
    rebuild();
  }
}

// Renumbers the rows that are still followed, when stamps have run out or the threshold has fallen. Counts of rows that
// are no longer followed stay, at the scale at which they were taken.
void ReuseSample::rebuild() noexcept {
  const auto last_hash = last_hash_.load(std::memory_order_relaxed);
  scale_ = 0x1p32 / (last_hash + 1.0);
  std::fill(table_.begin(), table_.end(), Followed{});
  followed_ = 0;
  for (std::uint32_t stamp = 1; stamp <= last_stamp_; ++stamp)
    if (live_.contains(stamp) && hashes_[stamp] <= last_hash) hashes_[++followed_] = hashes_[stamp];
  live_.clear();
  for (last_stamp_ = 0; last_stamp_ < followed_;) {
    ++last_stamp_;
    entry_of(hashes_[last_stamp_]) = {hashes_[last_stamp_], last_stamp_};
    live_.add(last_stamp_);
  }
}

ReuseCounts ReuseSample::counts() const {
  const MutexLock lock{mutex_};
  return {reuses_, first_uses_, asked_.load(std::memory_order_relaxed), followed_};
}

void ReuseSample::reset_counts() noexcept {
  const MutexLock lock{mutex_};
  reuses_ = {};
  first_uses_ = 0;
  asked_.store(0, std::memory_order_relaxed);
}

}  // namespace tier::detail
