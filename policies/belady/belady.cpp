// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "belady/belady.hpp"

#include <algorithm>
#include <set>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace tier {
namespace {

/// MIN with bypass (Belady 1966): a block comes to the fastest tier only if the blocks that would leave for it are used
/// later. For blocks of one size no policy reads fewer bytes from slower tiers; for others it is a good guess.
class Belady final : public Policy {
 public:
  explicit Belady(const FutureUses& future) : future_{future} {}

  std::string_view name() const noexcept override { return "belady"; }
  bool wants_kernels() const noexcept override { return true; }

  Placement place(const AllocationEvent& event, PolicyContext& context) override {
    granted_.clear();
    const bool stays_out = context.tier_count() > 1 && !deserves_room(event.block, event.size, {}, context);
    return stays_out ? Placement{context.slower(0), false} : Placement{0, true};
  }
  /// The manager asks about all operands of a scope before any of them has come.
  MissDecision on_miss(const MissEvent& event, PolicyContext& context) override {
    if (std::exchange(scope_, event.scope) != event.scope) granted_.clear();
    const bool comes = deserves_room(event.block.id, event.block.size, event.operands, context);
    if (comes) granted_.insert(event.block.id);
    return {comes ? TierIndex{0} : no_tier, false};
  }
  /// The block that is used last leaves first.
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

  /// True if enough is free, or held by blocks used later, for the block and operands to come. Then notes the block.
  bool deserves_room(BlockId id, Bytes size, std::span<const OperandFacts> operands, PolicyContext& context) {
    const auto fast = context.tier_facts(0);
    const auto own = future_.next_use(id);
    const auto wanted = size.count + to_come(id, own, operands, context);
    auto room = (fast.capacity - fast.used).count;
    for (auto it = by_use_.end(); it != by_use_.begin() && room < wanted;) {
      --it;
      if (it->first <= own) return false;
      if (std::ranges::find(operands, it->second, &OperandFacts::block) != operands.end()) continue;
      const auto block = context.block_facts(it->second);
      if (!block || block->tier != 0) {  // it has left since
        uses_.erase(it->second);
        it = by_use_.erase(it);
      } else if (!block->pinned) {
        room += block->size.count;
      }
    }
    if (room < wanted) return false;
    note(id);
    return true;
  }
  /// Returns the bytes of operands that were let in, or will be before this one because they are used again earlier.
  std::uint64_t to_come(BlockId id, std::uint64_t own, std::span<const OperandFacts> operands,
                        PolicyContext& context) const {
    std::uint64_t sum = 0;
    for (const auto& operand : operands) {
      if (operand.block == id) continue;
      const auto block = context.block_facts(operand.block);
      if (!block || block->tier == 0) continue;
      if (granted_.contains(operand.block) || future_.next_use(operand.block) < own) sum += block->size.count;
    }
    return sum;
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
  Uses by_use_;  // blocks in the fastest tier, and some that have left it
  std::unordered_map<BlockId, std::uint64_t> uses_;
  std::uint64_t scope_ = 0;                // the last scope that asked
  std::unordered_set<BlockId> granted_{};  // operands of that scope that were let in
};

}  // namespace

std::unique_ptr<Policy> make_belady(const FutureUses& future) { return std::make_unique<Belady>(future); }

}  // namespace tier
