// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/tiers/dram_tier.hpp"

#include <tier/core/error.hpp>

#include <cerrno>
#include <exception>
#include <utility>

#include "memory/system/pages.hpp"
#include "memory/system/resident_pages.hpp"
#include "memory/tiers/copy_requests.hpp"

namespace tier {
namespace {

constexpr Bytes extent = 16_MiB;

std::error_code system_error(int error) noexcept { return {error, std::generic_category()}; }

}  // namespace

DramTier::DramTier(const TierSpec& spec, std::string name, const TierModel& model,
                   std::unique_ptr<NumaNodes> nodes)
    : Tier{std::move(name), model, spec.size},
      pages_{spec.pages},
      nodes_{std::move(nodes)},
      memory_{spec.size.count, -1, name_, pages_, !spec.prefault} {
  if (model.addressable)
    base_ = memory_.data();
  else
    io_alignment_ = page_alignment;
  private_pages_ = model.addressable && pages_ != PageKind::Hugetlb;
  copied_by_fork_ = pages_ != PageKind::Hugetlb;
  if (nodes_ != nullptr) {
    nodes_->place(memory_.data(), memory_.size());
    page_policy_ = &nodes_->policy();
  }
  if (spec.prefault)
    fault_in();
  else
    extents_.emplace(Bytes{memory_.size()}, extent, Bytes{memory_.size()} * 2);  // never returned
  reserves_ = extents_.has_value();
}

void DramTier::fault_in() {
  const auto call = "madvise(MADV_POPULATE_WRITE) of " + to_human(capacity_) + " for tier " + name_;
  if (const int error = populate(0, memory_.size()); error != 0)
    throw TierError{system_error(error), call + (nodes_ != nullptr ? " (" + nodes_->room() + ")" : "")};
  if (nodes_ != nullptr) check_places();
}

/// Checks that all pages are on their nodes, because interleaving skips a full node.
void DramTier::check_places() const {
  const auto places = nodes_->find(memory_.data(), memory_.size());
  if (places.astray == 0) return;
  throw TierError{system_error(ENOMEM), std::to_string(places.astray) + " of " +
                                            std::to_string(places.asked) + " pages of tier " + name_ +
                                            " are elsewhere: " + places.where + " (" + nodes_->room() + ")"};
}

std::string DramTier::description() const {
  return "memory" + (nodes_ != nullptr ? " of " + nodes_->description() : "") + page_description() +
         (extents_ ? ", faulted in as it is used" : ", faulted in at once") + place_description();
}

/// Describes the pages requested, and those that the system has given so far.
std::string DramTier::page_description() const {
  if (pages_ == PageKind::Hugetlb) return " in reserved huge pages of " + to_human(huge_page_pool().page);
  if (pages_ == PageKind::Small) return " in small pages";
  return share_in_huge_pages(memory_.data(), memory_.size());
}

std::string DramTier::place_description() const {
  if (nodes_ == nullptr) return "";
  const auto places = nodes_->find(memory_.data(), memory_.size());
  if (places.error) return "; the system does not say where pages are: move_pages: " + places.error.message();
  if (places.asked == 0) return "";
  if (places.astray == 0) return "; " + std::to_string(places.asked) + " pages asked, all are there";
  return "; " + std::to_string(places.astray) + " of " + std::to_string(places.asked) +
         " pages asked are elsewhere: " + places.where;
}

void DramTier::claim(std::uint64_t offset, std::uint64_t size) noexcept {
  if (extents_) extents_->claim(offset, size);
}

bool DramTier::has_space(std::uint64_t offset, std::uint64_t size) const noexcept {
  return !extents_ || extents_->has_space(offset, size);
}

std::error_code DramTier::reserve(std::uint64_t offset, std::uint64_t size) noexcept {
  if (!extents_) return {};
  return extents_->reserve(offset, size, [this](ExtentMap::Run run) {
    try {
      if (nodes_ != nullptr && !nodes_->lacking(run.size, pages_).empty()) return system_error(ENOMEM);
    } catch (const std::exception&) {  // no memory to ask: the system will report a lack
    }
    if (pages_ != PageKind::Hugetlb && growing_.lacks(Bytes{run.size})) return system_error(ENOMEM);
    include_in_dumps(memory_.data() + run.offset, run.size);
    return system_error(populate(run.offset, run.size));
  });
}

int DramTier::populate(std::uint64_t offset, std::size_t size) noexcept {
  auto* const begin = memory_.data() + offset;
  return nodes_ != nullptr ? nodes_->fault_in(begin, size) : populate_in_parallel(begin, size);
}

void DramTier::transfer(Direction direction, std::span<IoRequest> requests) noexcept {
  copy_requests(direction, memory_.data(), requests);
}

}  // namespace tier
