// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/tiers/emulated_tier.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "memory/io/io_pieces.hpp"

namespace tier {

namespace {

std::size_t accesses(std::span<const IoRequest> requests) noexcept {
  return static_cast<std::size_t>(std::count_if(requests.begin(), requests.end(),
                                                [](const IoRequest& request) { return !request.joined; }));
}

}  // namespace

EmulatedTier::EmulatedTier(const TierSpec& spec, std::string name, const TierModel& model)
    : DramTier{spec, std::move(name), model},
      blur_{clock_cost() * 3},
      read_{model.read_bytes_per_second, model.latency, model.parallelism, blur_},
      write_{model.write_bytes_per_second, model.latency, model.parallelism, blur_} {
  charges_ = true;
}

std::string EmulatedTier::description() const { return DramTier::description() + ", with imposed delays"; }

void EmulatedTier::transfer(Direction direction, std::span<IoRequest> requests) noexcept {
  if (requests.empty()) return;
  const auto since = EmulatedLink::Clock::now();
  // A device that is reached by I/O takes adjacent requests as one operation, as a disk behind a file does.
  const auto count = model_.addressable ? accesses(requests) : operations(requests);
  EmulatedLink::Flight flight{link(direction), static_cast<unsigned>(count)};
  DramTier::transfer(direction, requests);
  std::uint64_t bytes = 0;
  for (const auto& request : requests) bytes += request.size;
  wait_until(flight.book(bytes, since));
}

void EmulatedTier::charge(Direction direction, std::uint64_t bytes, unsigned requests,
                          std::chrono::steady_clock::time_point since) noexcept {
  EmulatedLink::Flight flight{link(direction), requests};
  wait_until(flight.book(bytes, since));
}

}  // namespace tier
