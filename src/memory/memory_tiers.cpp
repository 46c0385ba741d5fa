// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/memory_tiers.hpp"

#include <tier/core/error.hpp>
#include <tier/memory/discovery.hpp>

#include <cerrno>

#include "memory/io_engine.hpp"

namespace tier {
namespace {

constexpr Bytes extent = 16_MiB;
/// Devices that the CPU cannot address are reached in pages.
constexpr std::size_t page_alignment = 4096;

std::error_code system_error(int error) noexcept { return {error, std::generic_category()}; }

}  // namespace

DramTier::DramTier(const TierSpec& spec, std::string name, const TierModel& model)
    : Tier{std::move(name), model, spec.size}, memory_{spec.size.count, -1, name_} {
  if (model.addressable)
    base_ = memory_.data();
  else
    io_alignment_ = page_alignment;
  private_pages_ = model.addressable;
  if (spec.prefault)
    fault_in();
  else
    extents_.emplace(Bytes{memory_.size()}, extent, Bytes{memory_.size()} * 2);  // kept until the end
  reserves_ = extents_.has_value();
}

/// More than there is would not fail: the system would end the program.
void DramTier::fault_in() {
  const auto bound = memory_bound();
  const bool too_large = bound != 0_B && capacity_ > bound;
  const int error = too_large ? ENOMEM : populate_in_parallel(memory_.data(), memory_.size());
  if (error == 0) return;
  throw TierError{system_error(error), "madvise(MADV_POPULATE_WRITE) of " + to_human(capacity_) +
                                           " for tier " + name_ +
                                           (too_large ? " (there is " + to_human(bound) + ")" : "")};
}

std::string DramTier::description() const {
  return extents_ ? "memory, faulted in as it is used" : "memory, faulted in at once";
}

std::error_code DramTier::reserve(std::uint64_t offset, std::uint64_t size) noexcept {
  if (!extents_) return {};
  return extents_->reserve(offset, size, [this](ExtentMap::Run run) {
    return system_error(populate_in_parallel(memory_.data() + run.offset, run.size));
  });
}

void DramTier::transfer(Direction direction, std::span<IoRequest> requests) noexcept {
  copy_requests(direction, memory_.data(), requests);
}

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
  // A device that is reached by I/O takes adjacent requests as one, as a disk behind a file does.
  const auto count = model_.addressable ? requests.size() : operations(requests);
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

SimulatedTier::SimulatedTier(std::string name, const TierModel& model, Bytes size)
    : Tier{std::move(name), model, size} {
  has_bytes_ = false;
  if (!model.addressable) io_alignment_ = page_alignment;
}

void SimulatedTier::transfer(Direction, std::span<IoRequest> requests) noexcept {
  for (auto& request : requests) request.error = {};
}

}  // namespace tier
