// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/tiers/faulty_tier.hpp"

#include <algorithm>

namespace tier {

FaultyTier::FaultyTier(std::unique_ptr<Tier> upstream, std::shared_ptr<IoFaults> faults)
    : Tier{std::string{upstream->name()}, upstream->model(), upstream->capacity()},
      upstream_{std::move(upstream)},
      faults_{std::move(faults)} {
  base_ = upstream_->base();
  io_alignment_ = upstream_->io_alignment();
  has_bytes_ = upstream_->has_bytes();
  copies_itself_ = upstream_->copies_itself();
  charges_ = upstream_->charges();
  reserves_ = upstream_->reserves();
  copied_by_fork_ = upstream_->is_copied_by_fork();
  checks_accesses_ = true;
}

std::error_code FaultyTier::access_error(Direction direction, std::uint64_t offset,
                                         std::size_t size) noexcept {
  return faults_->on_io(direction, offset, size);
}

void FaultyTier::claim(std::uint64_t offset, std::uint64_t size) noexcept { upstream_->claim(offset, size); }

/// False if the upstream tier may refuse a region, so that each region calls `reserve`: tests count the calls.
bool FaultyTier::has_space(std::uint64_t, std::uint64_t) const noexcept { return !reserves_; }

std::error_code FaultyTier::reserve(std::uint64_t offset, std::uint64_t size) noexcept {
  if (const auto error = faults_->on_reserve(offset, size)) return error;
  return upstream_->reserve(offset, size);
}

void FaultyTier::release(std::uint64_t offset, std::uint64_t size) noexcept {
  upstream_->release(offset, size);
}

/// Passes on each run of requests that do not fail, so that it stays a batch.
void FaultyTier::transfer(Direction direction, std::span<IoRequest> requests) noexcept {
  while (!requests.empty()) {
    std::error_code error;
    const auto failing = std::find_if(requests.begin(), requests.end(), [&](const IoRequest& request) {
      return static_cast<bool>(error = faults_->on_io(direction, request.offset, request.size));
    });
    const auto passing = static_cast<std::size_t>(failing - requests.begin());
    if (passing > 0) upstream_->transfer(direction, requests.first(passing));
    if (failing == requests.end()) return;
    failing->error = error;
    requests = requests.subspan(passing + 1);
    for (; !requests.empty() && requests.front().joined; requests = requests.subspan(1))
      requests.front().error = error;  // the same access
  }
}

void FaultyTier::charge(Direction direction, std::uint64_t bytes, unsigned requests,
                        std::chrono::steady_clock::time_point since) noexcept {
  upstream_->charge(direction, bytes, requests, since);
}

}  // namespace tier
