// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/disk_rates.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <memory>
#include <new>
#include <random>
#include <thread>
#include <tier/core/error.hpp>
#include <tier/memory/tiers.hpp>
#include <vector>

namespace tier::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned deepest = 64;

void check(bool holds, const std::string& problem) {
  if (!holds) throw ConfigError{"a mix of requests to a disk: " + problem};
}

void check(const DiskMix& mix) {
  check(mix.write_share >= 0 && mix.write_share <= 1, "the share of writes must be from 0 to 1");
  check(mix.depth >= 1 && mix.depth <= deepest, "there must be 1 to 64 requests in flight");
  check(mix.block.count > 0 && mix.block <= mix.span, "a block must have bytes, and no more than the file");
  check(mix.seconds > 0, "it must take some time");
}

class Buffer {
 public:
  Buffer(std::size_t size, std::size_t alignment)
      : alignment_{alignment}, bytes_{static_cast<std::byte*>(::operator new(size, alignment_))} {
    std::fill_n(bytes_, size, std::byte{0x5a});
  }
  ~Buffer() { ::operator delete(bytes_, alignment_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  [[nodiscard]] std::byte* data() const { return bytes_; }

 private:
  std::align_val_t alignment_;
  std::byte* bytes_;
};

std::unique_ptr<Tier> make_file(const std::string& folder, const DiskMix& mix) {
  auto tier = make_tier(tiers::file(folder, mix.span));
  check(tier->direct_io(), "\"" + folder + "\" has no direct I/O: its rates would be those of memory");
  check(mix.block.count % tier->io_alignment() == 0,
        "a block must be a multiple of " + std::to_string(tier->io_alignment()) + " bytes");
  return tier;
}

void transfer(Tier& tier, Direction direction, IoRequest request) {
  tier.transfer(direction, {&request, 1});
  if (request.error) throw TierError{request.error, "measuring " + tier.description()};
}

/// Reading what was never written would not touch the disk.
void fill(Tier& tier, Bytes span) {
  constexpr std::size_t at_once = std::size_t{8} << 20;
  if (const auto error = tier.reserve(0, span.count))
    throw TierError{error, "room for " + tier.description()};
  const Buffer buffer{at_once, tier.io_alignment()};
  for (std::size_t offset = 0; offset < span.count; offset += at_once)
    transfer(tier, Direction::Write, {offset, buffer.data(), std::min(at_once, span.count - offset)});
}

struct Counts {
  std::atomic<std::uint64_t> read{0}, written{0};
};

/// One request after the other, until `end`.
void issue(Tier& tier, const DiskMix& mix, unsigned thread, Clock::time_point end, Counts& counts) {
  const Buffer buffer{mix.block.count, tier.io_alignment()};
  std::mt19937_64 random{mix.seed * deepest + thread};
  std::uniform_int_distribution<std::uint64_t> block{0, mix.span.count / mix.block.count - 1};
  std::bernoulli_distribution write{mix.write_share};
  while (Clock::now() < end) {
    const bool writes = write(random);
    transfer(tier, writes ? Direction::Write : Direction::Read,
             {block(random) * mix.block.count, buffer.data(), mix.block.count});
    (writes ? counts.written : counts.read).fetch_add(mix.block.count, std::memory_order_relaxed);
  }
}

}  // namespace

DiskRates measure_disk(const std::string& folder, const DiskMix& mix) {
  check(mix);
  const auto tier = make_file(folder, mix);
  const Bytes span{mix.span.count / mix.block.count * mix.block.count};
  fill(*tier, span);

  Counts counts;
  std::vector<std::exception_ptr> failures(mix.depth);
  const auto start = Clock::now();
  const auto end =
      start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>{mix.seconds});
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < mix.depth; ++i) {
      threads.emplace_back([&, i] {
        try {
          issue(*tier, mix, i, end, counts);
        } catch (...) {
          failures[i] = std::current_exception();
        }
      });
    }
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  for (const auto& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  return {.read = static_cast<double>(counts.read) / seconds,
          .write = static_cast<double>(counts.written) / seconds};
}

double seconds_for(const DiskRates& rates, Bytes read, Bytes written) {
  const auto seconds = [](Bytes bytes, double rate) {
    if (bytes.count == 0) return 0.0;
    return rate > 0 ? static_cast<double>(bytes.count) / rate : std::numeric_limits<double>::infinity();
  };
  return std::max(seconds(read, rates.read), seconds(written, rates.write));
}

}  // namespace tier::bench
