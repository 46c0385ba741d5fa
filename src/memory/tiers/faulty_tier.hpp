// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A tier that fails when a test says so.
#include <tier/memory/io_faults.hpp>
#include <tier/memory/tier.hpp>

#include <memory>
#include <string>

namespace tier {

/// Injects errors into another tier; all else passes through.
class FaultyTier final : public Tier {
 public:
  FaultyTier(std::unique_ptr<Tier> upstream, std::shared_ptr<IoFaults> faults);

  std::string description() const override { return upstream_->description() + ", with injected faults"; }
  bool direct_io() const noexcept override { return upstream_->direct_io(); }
  std::string_view directory() const noexcept override { return upstream_->directory(); }
  std::string_view path() const noexcept override { return upstream_->path(); }
  std::error_code access_error(Direction direction, std::uint64_t offset, std::size_t size) noexcept override;
  void claim(std::uint64_t offset, std::uint64_t size) noexcept override;
  std::error_code reserve(std::uint64_t offset, std::uint64_t size) noexcept override;
  bool has_space(std::uint64_t offset, std::uint64_t size) const noexcept override;
  void release(std::uint64_t offset, std::uint64_t size) noexcept override;
  Bytes back(Bytes total, std::error_code& cause) noexcept override { return upstream_->back(total, cause); }
  Bytes keep(Bytes total) noexcept override { return upstream_->keep(total); }
  [[nodiscard]] Bytes metadata() const noexcept override { return upstream_->metadata(); }
  void transfer(Direction direction, std::span<IoRequest> requests) noexcept override;
  void charge(Direction direction, std::uint64_t bytes, unsigned requests,
              std::chrono::steady_clock::time_point since) noexcept override;

 private:
  std::unique_ptr<Tier> upstream_;
  std::shared_ptr<IoFaults> faults_;
};

}  // namespace tier
