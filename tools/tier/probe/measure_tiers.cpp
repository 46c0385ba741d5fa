// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "measure_tiers.hpp"

#include <tier/copy/copy_engine.hpp>
#include <tier/copy/parallel_for.hpp>
#include <tier/core/error.hpp>
#include <tier/memory/tiers.hpp>
#include <tier/runtime/policies.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <stdexcept>

#include "computation.hpp"
#include "copy_rate.hpp"
#include "measure_rows.hpp"

namespace tier::tool {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int runs = 5;
constexpr std::uint64_t piece = 16 << 20;  // about the size of an activation
constexpr double seconds_of_cores_and_rows = 8;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Returns the shortest of several runs.
double best(const std::function<double()>& run) {
  double shortest = run();
  for (int i = 1; i < runs; ++i) shortest = std::min(shortest, run());
  return shortest;
}

/// Returns half of the tier, in whole pieces: copies within the tier need the other half.
std::uint64_t measured_bytes(const Tier& tier) {
  constexpr std::uint64_t most = 512 << 20;
  const auto half = std::min(most, tier.capacity().count / 2) / piece * piece;
  if (half == 0)
    throw ConfigError{std::string{tier.name()} + " of " + to_string(tier.capacity()) +
                      " is too small to measure: two pieces of 16MiB at least"};
  return half;
}

void reserve(Tier& tier, std::uint64_t bytes) {
  if (const auto error = tier.reserve(0, bytes))
    throw TierError{error, "reserving " + to_string(Bytes{bytes}) + " of " + std::string{tier.name()}};
}

std::uint64_t bytes_of_both(const Tier& tier, const Tier& fastest) {
  return std::min(measured_bytes(tier), measured_bytes(fastest));
}

/// Writes everything that is read later, since a device may answer sooner for bytes never written.
/// \return  the seconds that measuring the tier will take
double fill(Tier& tier, Tier& fastest) {
  constexpr double passes = runs * 6;  // all cores and a mover in each direction, loads and stores
  const auto start = Clock::now();
  if (&tier == &fastest)
    std::memset(tier.base(), 1, measured_bytes(tier));
  else
    (void)copy_rate({&fastest, &tier, 0, bytes_of_both(tier, fastest), piece}, By::Waiter);
  return seconds_since(start) * passes / (&tier == &fastest ? 1 : runs);
}

/// Opens the disk below a file tier that uses the page cache, by direct I/O. \return  none if that is not possible
std::unique_ptr<Tier> disk_below(const Tier& tier) try {
  if (tier.directory().empty() || tier.direct_io() || tier.model().persistent) return {};
  auto disk = make_tier(tiers::file(std::string{tier.directory()}, {2 * measured_bytes(tier)}));
  return disk->direct_io() ? std::move(disk) : nullptr;
} catch (const std::runtime_error&) {  // no room for a second file
  return {};
}

/// Streams through objects in place as a kernel does, including the delays of an emulated device.
class Streams {
 public:
  Streams(Tier& tier, Arena& arena) : tier_{tier}, arena_{arena}, bytes_{measured_bytes(tier)} {
    std::memset(tier_.base(), 1, bytes_);
  }
  double rate(Direction direction) {
    return static_cast<double>(bytes_) / best([&] {
             const auto start = Clock::now();
             for (std::uint64_t at = 0; at < bytes_; at += piece) {
               const auto since = Clock::now();
               direction == Direction::Read ? load(at) : store(at);
               tier_.charge(direction, piece, 1, since);
             }
             return seconds_since(start);
           });
  }

 private:
  void load(std::uint64_t at) {
    arena_.parallel_for(arena_.threads(), [&](std::size_t part) {
      const auto range = part_of(piece / sizeof(std::uint64_t), arena_.threads(), part);
      const auto* const words = reinterpret_cast<const std::uint64_t*>(tier_.base() + at);
      std::uint64_t sum = 0;
      for (auto i = range.begin; i < range.end; ++i) sum += words[i];
      sum_.fetch_add(sum, std::memory_order_relaxed);
    });
  }
  void store(std::uint64_t at) {
    arena_.parallel_for(arena_.threads(), [&](std::size_t part) {
      const auto range = part_of(piece / sizeof(std::uint64_t), arena_.threads(), part);
      auto* const words = reinterpret_cast<std::uint64_t*>(tier_.base() + at);
      const auto value = sum_.load(std::memory_order_relaxed) + at;
      for (auto i = range.begin; i < range.end; ++i)
        words[i] = value + i;  // no memset, whose stores may be non-temporal
    });
  }

  Tier& tier_;
  Arena& arena_;
  std::uint64_t bytes_;
  std::atomic<std::uint64_t> sum_{0};  // keeps the compiler from removing the loads
};

/// Returns the ns of one dependent load over up to half a tier; if the CPU cannot address it, of one small read.
double latency_ns(Tier& tier) {
  constexpr std::size_t accesses = 200'000, sector = 4096;
  const auto bytes = std::min<std::uint64_t>(measured_bytes(tier), 128 << 20);
  std::mt19937_64 random{1};
  if (tier.base() == nullptr) {
    constexpr std::size_t reads = 200;
    const std::unique_ptr<std::byte, void (*)(void*)> buffer{
        static_cast<std::byte*>(std::aligned_alloc(64 << 10, 64 << 10)), std::free};
    return best([&] {
             const auto start = Clock::now();
             for (std::size_t i = 0; i < reads; ++i) {
               IoRequest request{random() % (bytes / sector) * sector, buffer.get(), sector};
               tier.transfer(Direction::Read, {&request, 1});
               if (request.error) throw TierError{request.error, "reading " + std::string{tier.name()}};
             }
             return seconds_since(start);
           }) /
           reads * 1e9;
  }
  // One cycle through all cache lines: each line holds the place of the next.
  const auto lines = bytes / 64;
  std::vector<std::uint32_t> order(lines);
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::shuffle(order, random);
  const auto at = [&](std::uint64_t line) {
    return reinterpret_cast<std::uint64_t*>(tier.base() + line * 64);
  };
  for (std::size_t i = 0; i < lines; ++i) *at(order[i]) = order[(i + 1) % lines];
  std::uint64_t line = 0;
  const auto taken = best([&] {
    const auto start = Clock::now();
    for (std::size_t i = 0; i < accesses; ++i) line = *at(line);
    return seconds_since(start);
  });
  static std::atomic<std::uint64_t> last;
  last = line;
  const auto measured = taken / accesses * 1e9;
  return tier.charges() ? std::max(measured, static_cast<double>(tier.model().latency.count())) : measured;
}

/// Returns the start-up time of a copy of 1 MiB from the fastest tier to the slowest addressable one.
std::chrono::nanoseconds copy_start_of(const std::vector<std::unique_ptr<Tier>>& tiers,
                                       const replay::Machine& machine) {
  constexpr std::uint64_t size = 1 << 20, most = 64 << 20;
  std::size_t slow = tiers.size() - 1;
  while (slow > 0 && tiers[slow]->base() == nullptr) --slow;
  if (slow == 0) return {};
  Tier &from = *tiers.front(), &to = *tiers[slow];
  const double rate = std::min(machine.devices.front().copy_read, machine.devices[slow].copy_write);
  const auto bytes = std::min({most, measured_bytes(from), measured_bytes(to)});
  const double start = seconds_of_one({&from, &to, 0, bytes, size}) - static_cast<double>(size) / rate;
  return std::chrono::nanoseconds{std::llround(std::max(0.0, start) * 1e9)};
}

void measure_copies(Tier& tier, Tier& fastest, Computation& kernels, replay::Device& d) {
  const auto both = bytes_of_both(tier, fastest);
  const Way from{&tier, &fastest, measured_bytes(fastest), both, piece};
  const Way to{&fastest, &tier, measured_bytes(tier), both, piece};
  d.copy_read = copy_rate(from, By::Waiter);
  d.copy_write = copy_rate(to, By::Waiter);
  d.mover_read = kernels.beside([&] { return copy_rate(from, By::Mover); });
  d.mover_write = kernels.beside([&] { return copy_rate(to, By::Mover); });
}

/// Limits the device's rates to those of its disk.
void slow_to(Tier& disk, Tier& fastest, Computation& kernels, replay::Device& d) {
  replay::Device below;
  measure_copies(disk, fastest, kernels, below);
  for (const auto rate : {&replay::Device::copy_read, &replay::Device::copy_write,
                          &replay::Device::mover_read, &replay::Device::mover_write})
    d.*rate = std::min(d.*rate, below.*rate);
  d.read = std::min(d.read, below.copy_read);
  d.store = std::min(d.store, below.copy_write);
  d.latency = std::max(d.latency, std::chrono::nanoseconds{std::llround(latency_ns(disk))});
  d.source += "; at the rates of its disk, by direct I/O: the page cache is faster";
}

/// Raises the latency so that managers, which order tiers by read time, keep the order despite noise.
void keep_order(replay::Device& device, const replay::Device& faster) {
  const auto model = device.tier_model();
  const double missing = seconds_to_read_block(faster.tier_model()) - seconds_to_read_block(model);
  if (model.addressable == faster.addressable && missing > 0)
    device.latency += std::chrono::nanoseconds{std::llround(std::ceil(missing * 1e9))};
}

}  // namespace

replay::Machine measure(std::vector<std::unique_ptr<Tier>> tiers, const std::string& name,
                        const std::function<void(const std::string& what, double share)>& told,
                        const std::function<void(double seconds)>& expected) {
  std::ranges::stable_sort(tiers, is_faster, [](const auto& t) { return t->model(); });
  if (tiers.empty() || !tiers.front()->model().addressable)
    throw ConfigError{"one of the tiers must be one that the CPU can reach, such as dram:1GiB"};
  Arena arena;
  Computation kernels{arena, Over::Caches};
  replay::Machine machine;
  machine.name = name;
  machine.source = "tier probe, the best of " + std::to_string(runs) + " runs each";
  machine.cores = arena.threads();
  Tier& fastest = *tiers.front();
  const auto measurements = static_cast<double>(tiers.size() + 3);  // filling, each tier, cores, rows
  told("filling", 0);
  for (auto& tier : tiers) reserve(*tier, 2 * measured_bytes(*tier));
  std::vector<std::unique_ptr<Tier>> disks;  // by tier; null for tiers without one
  double seconds = seconds_of_cores_and_rows;
  for (auto& tier : tiers) {
    seconds += fill(*tier, fastest);
    disks.push_back(disk_below(*tier));
    if (disks.back()) reserve(*disks.back(), 2 * measured_bytes(*disks.back()));
    if (disks.back()) seconds += fill(*disks.back(), fastest);
  }
  expected(seconds);
  for (std::size_t i = 0; i < tiers.size(); ++i) {
    const auto& tier = tiers[i];
    told(std::string{tier->name()}, static_cast<double>(1 + machine.devices.size()) / measurements);
    replay::Device d;
    d.name = tier->name();
    d.source = tier->description();
    d.addressable = tier->base() != nullptr;
    d.persistent = tier->model().persistent;
    d.parallelism = tier->model().parallelism;
    measure_copies(*tier, fastest, kernels, d);
    d.read = d.addressable ? Streams{*tier, arena}.rate(Direction::Read) : d.copy_read;
    d.store = d.addressable ? Streams{*tier, arena}.rate(Direction::Write) : d.copy_write;
    d.latency = std::chrono::nanoseconds{std::llround(latency_ns(*tier))};
    if (disks[i]) slow_to(*disks[i], fastest, kernels, d);
    disks[i].reset();
    if (!machine.devices.empty()) keep_order(d, machine.devices.back());
    machine.devices.push_back(std::move(d));
  }
  told("cores", 1 - 2 / measurements);
  machine.operations = Computation{arena, Over::Little}.operations();
  const double alone = kernels.seconds();
  const auto both = bytes_of_both(*tiers.back(), fastest);
  const double beside = while_copying({tiers.back().get(), &fastest, measured_bytes(fastest), both, piece},
                                      [&] { return kernels.seconds(); });
  machine.lost_to_mover = std::clamp(1 - alone / beside, 0.0, 0.99);
  machine.copy_start = copy_start_of(tiers, machine);
  told("rows", 1 - 1 / measurements);
  measure_rows(Manager::make(std::move(tiers), make_policy("first_touch"), {}), kernels, machine);
  return machine;
}

}  // namespace tier::tool
