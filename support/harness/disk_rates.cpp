// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/disk_rates.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <exception>
#include <limits>
#include <new>
#include <random>
#include <thread>
#include <tier/core/error.hpp>
#include <tier/memory/tiers.hpp>
#include <vector>

#include "harness/unnamed_file.hpp"

namespace tier::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned deepest = 64;
constexpr std::size_t page = 4096;

void check(bool holds, const std::string& problem) {
  if (!holds) throw ConfigError{"a mix of requests to a disk: " + problem};
}

std::string without_direct_io(const std::string& folder) {
  return "\"" + folder + "\" has no direct I/O: its rates would be those of memory";
}

void check(const DiskMix& mix) {
  check(mix.write_share >= 0 && mix.write_share <= 1, "the share of writes must be from 0 to 1");
  check(mix.depth >= 1 && mix.depth <= deepest, "there must be 1 to 64 requests in flight");
  check(mix.block.count > 0 && mix.block <= mix.span, "a block must have bytes, and no more than the file");
  check(mix.seconds > 0, "it must take some time");
}

/// A buffer for direct I/O, with its size and alignment, full of random bytes.
class Buffer {
 public:
  Buffer(std::size_t size, std::size_t alignment, std::uint64_t seed)
      : alignment_{alignment}, bytes_{static_cast<std::byte*>(::operator new(size, alignment_)), size} {
    fill_incompressible(bytes_, seed);
  }
  ~Buffer() { ::operator delete(bytes_.data(), alignment_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }

 private:
  std::align_val_t alignment_;
  std::span<std::byte> bytes_;
};

/// A file accessed past the page cache. Requests bypass the library, which has its own limit on concurrent requests.
class DirectFile {
 public:
  DirectFile(const std::string& folder, const DiskMix& mix) : file_{folder} {
    const auto tier = make_tier(tiers::file(folder, mix.span));  // knows the needs of direct I/O
    alignment_ = tier->io_alignment();
    check(tier->direct_io(), without_direct_io(folder));
    check(mix.block.count % alignment_ == 0,
          "a block must be a multiple of " + std::to_string(alignment_) + " bytes");
    const int flags = ::fcntl(file_.descriptor(), F_GETFL);
    if (::fcntl(file_.descriptor(), F_SETFL, flags | O_DIRECT) != 0) file_.fail("fcntl(O_DIRECT)");
    file_.allocate(mix.span);
  }

  [[nodiscard]] std::size_t alignment() const noexcept { return alignment_; }
  void read(std::uint64_t offset, std::span<std::byte> bytes) const {
    finish("pread", bytes.size(), [&](std::size_t done) {
      return ::pread(file_.descriptor(), bytes.data() + done, bytes.size() - done,
                     static_cast<::off_t>(offset + done));
    });
  }
  void write(std::uint64_t offset, std::span<const std::byte> bytes) const {
    finish("pwrite", bytes.size(), [&](std::size_t done) {
      return ::pwrite(file_.descriptor(), bytes.data() + done, bytes.size() - done,
                      static_cast<::off_t>(offset + done));
    });
  }

 private:
  template <class Call>
  void finish(const char* name, std::size_t size, const Call& call) const {
    for (std::size_t done = 0; done < size;) {
      const auto moved = call(done);
      if (moved < 0 && errno == EINTR) continue;
      if (moved <= 0) file_.fail(name, moved < 0 ? errno : EIO);
      done += static_cast<std::size_t>(moved);
    }
  }

  UnnamedFile file_;
  std::size_t alignment_ = page;
};

/// Writes the whole file, because reading unwritten parts would not touch the disk.
void fill(const DirectFile& file, Bytes span, std::uint64_t seed) {
  constexpr std::size_t at_once = std::size_t{8} << 20;
  const Buffer buffer{std::min(at_once, span.count), file.alignment(), seed};
  for (std::size_t offset = 0; offset < span.count; offset += at_once) {
    fill_incompressible(buffer.bytes(), seed + offset);
    file.write(offset, buffer.bytes().first(std::min(at_once, span.count - offset)));
  }
}

/// Makes written pages distinct, because some disks store equal pages once.
void make_unique(std::span<std::byte> bytes, std::uint64_t number) noexcept {
  for (std::size_t at = 0; at < bytes.size(); at += page)
    std::memcpy(&bytes[at], &number, std::min(sizeof number, bytes.size() - at));
}

/// Spreads writes evenly: after n requests of all threads, the share of writes is off by only a few.
class Turns {
 public:
  Turns(double write_share, double start) noexcept : share_{write_share}, due_{start} {}
  bool next_writes() noexcept {
    due_ += share_;
    if (due_ < 1) return false;
    due_ -= 1;
    return true;
  }

 private:
  double share_, due_;
};

struct Counts {
  std::atomic<std::uint64_t> read{0}, written{0};
};

/// Issues one request after the other, until `end`.
void issue(const DirectFile& file, const DiskMix& mix, unsigned thread, Clock::time_point end,
           Counts& counts) {
  const auto seed = mix.seed * deepest + thread;
  const Buffer buffer{mix.block.count, file.alignment(), seed};
  std::mt19937_64 random{seed};
  std::uniform_int_distribution<std::uint64_t> block{0, mix.span.count / mix.block.count - 1};
  Turns turns{mix.write_share, static_cast<double>(thread) / mix.depth};
  while (Clock::now() < end) {
    const auto offset = block(random) * mix.block.count;
    const bool writes = turns.next_writes();
    if (writes) {
      make_unique(buffer.bytes(), random());
      file.write(offset, buffer.bytes());
    } else {
      file.read(offset, buffer.bytes());
    }
    (writes ? counts.written : counts.read).fetch_add(mix.block.count, std::memory_order_relaxed);
  }
}

}  // namespace

DiskMix mix_of(Bytes read, Bytes written, Bytes block, unsigned depth) {
  const auto moved = static_cast<double>(read.count) + static_cast<double>(written.count);
  return {.block = block,
          .write_share = moved > 0 ? static_cast<double>(written.count) / moved : 0,
          .depth = depth};
}

void require_direct_io(const std::string& folder) {
  check(make_tier(tiers::file(folder, Bytes{1 << 20}))->direct_io(), without_direct_io(folder));
}

DiskRates measure_disk(const std::string& folder, const DiskMix& mix) {
  check(mix);
  const DirectFile file{folder, mix};
  fill(file, {mix.span.count / mix.block.count * mix.block.count}, mix.seed);

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
          issue(file, mix, i, end, counts);
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
  const double moved = static_cast<double>(read.count) + static_cast<double>(written.count);
  const double rate = rates.read + rates.write;
  if (moved == 0) return 0;
  if (rate <= 0) return std::numeric_limits<double>::infinity();
  const double asked = static_cast<double>(written.count) / moved, measured = rates.write / rate;
  check(std::abs(asked - measured) <= 0.02, "rates with a share of writes of " + std::to_string(measured) +
                                                " do not tell those of " + std::to_string(asked));
  return moved / rate;
}

void fill_incompressible(std::span<std::byte> bytes, std::uint64_t seed) {
  std::mt19937_64 random{seed};
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = random();
    std::memcpy(&bytes[at], &word, std::min(sizeof word, bytes.size() - at));
  }
}

}  // namespace tier::bench
