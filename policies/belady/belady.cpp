// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "belady/belady.hpp"

#include <set>
#include <unordered_map>
#include <utility>

namespace tier {
namespace {

/// MIN with bypass (Belady 1966): a block comes to the fastest tier only if what would have to leave for it is used later than
/// it is. For blocks of one size no policy reads fewer bytes from slower tiers; for others it is a good guess.
class Belady final : public Policy {
 public:
  explicit Belady(const FutureUses& future) : future_{future} {}

  std::string_view name() const noexcept override { return "belady"; }
  bool wants_kernels() const noexcept override { return true; }

  Placement place(const AllocationEvent& event, PolicyContext& context) override {
    const bool stays_out = context.tier_count() > 1 && !deserves_room(event.block, event.size, context);
    return stays_out ? Placement{context.slower(0), false} : Placement{0, true};
  }
  MissDecision on_miss(const MissEvent& event, PolicyContext& context) override {
    return {deserves_room(event.block.id, event.block.size, context) ? TierIndex{0} : no_tier, false};
  }
  /// The one that is used last leaves first.
  std::uint64_t rank(const BlockFacts& block) const noexcept override { return ~future_.next_use(block.id); }
  bool prefers(const Run& run, std::uint64_t rank) const noexcept override { return run.hottest < rank; }
  void on_kernel_end(const KernelEvent& event, PolicyContext& context) override {
    for (const auto& operand : event.operands) {
      if (uses_.count(operand.block) > 0) note(operand.block);
      context.rerank(operand.block);
    }
  }
  void on_retire(const RetireEvent& event, PolicyContext&) override { forget(event.block); }

 private:
  using Uses = std::set<std::pair<std::uint64_t, BlockId>>;

  /// If enough is free, or is held by blocks that are used later. It is noted then.
  bool deserves_room(BlockId id, Bytes size, PolicyContext& context) {
    const auto fast = context.tier_facts(0);
    const auto own = future_.next_use(id);
    auto room = (fast.capacity - fast.used).count;
    for (auto it = by_use_.end(); it != by_use_.begin() && room < size.count;) {
      --it;
      if (it->first <= own) return false;
      const auto block = context.block_facts(it->second);
      if (!block || block->tier != 0) {  // it has left since
        uses_.erase(it->second);
        it = by_use_.erase(it);
      } else if (!block->pinned) {
        room += block->size.count;
      }
    }
    if (room < size.count) return false;
    note(id);
    return true;
  }
  void note(BlockId id) {
    forget(id);
    const auto use = future_.next_use(id);
    uses_.emplace(id, use);
    by_use_.emplace(use, id);
  }
  void forget(BlockId id) {
    const auto known = uses_.find(id);
    if (known == uses_.end()) return;
    by_use_.erase({known->second, id});
    uses_.erase(known);
  }

  const FutureUses& future_;
  Uses by_use_;  // of blocks in the fastest tier, and of some that have left it
  std::unordered_map<BlockId, std::uint64_t> uses_;
};

}  // namespace

std::unique_ptr<Policy> make_belady(const FutureUses& future) { return std::make_unique<Belady>(future); }

}  // namespace tier
