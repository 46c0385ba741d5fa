// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Memory in tiers: one libtier tensor per tensor of a step, one scope per kernel.
#include <tier/memory/tiers.hpp>
#include <tier/runtime/runtime.hpp>
#include <tier/tensor/tensor.hpp>

#include <optional>
#include <vector>

#include "trainer/memory.hpp"

namespace training {

struct TieredOptions {
  tier::Bytes fast;
  std::optional<tier::TierSpec> slow{};  ///< none: everything is fast
  std::vector<tier::TierSpec> more{};    ///< further tiers
  std::string policy = "hint_aware";
  unsigned threads = 0;
  unsigned movers = 1;  ///< background threads; without any, blocks move only if a kernel waits for them
  bool hints = true;    ///< pass archives and prefetches on
};

/// True if bytes move ahead of use. They do not without movers, and hardly between memories if all of a few cores compute
/// (`tier::RuntimeOptions::yields`).
/// \param computing, cpus  compute threads, and CPUs that they may run on
[[nodiscard]] bool moves_ahead(const TieredOptions& options, std::size_t computing, std::size_t cpus);

[[nodiscard]] tier::RuntimeOptions runtime_options(const TieredOptions& options);

/// \pre             one of the tiers is `dram`
/// \param operands  `elsewhere` and the bytes brought are replaced by those of the statistics
[[nodiscard]] Traffic traffic_of(const tier::Statistics& statistics, const Operands& operands);

class TieredMemory final : public Memory {
 public:
  /// \throws  as `tier::Runtime`
  explicit TieredMemory(const TieredOptions& options);

  Slot add(std::string name, std::size_t bytes) override;
  void run(std::string_view kernel, std::span<const SlotUse> uses, const Body& body) override;
  void retire(Slot slot) override { tier::retire(*slots_[slot].tensor); }
  void archive(Slot slot) override {
    if (hints_) tier::archive(*slots_[slot].tensor);
  }
  void prefetch(Slot slot) override {
    if (hints_ && moves_ahead_) static_cast<void>(tier::prefetch(*slots_[slot].tensor));
  }
  void end_of_step() override { runtime_.end_of_step(); }
  [[nodiscard]] Traffic traffic() const override { return traffic_of(runtime_.statistics(), operands_); }
  [[nodiscard]] tier::Statistics statistics() const { return runtime_.statistics(); }

 private:
  struct Entry {
    std::string name;
    std::size_t bytes = 0;
    std::optional<tier::Tensor<float>> tensor{};  ///< set by the first kernel that overwrites it
  };
  void sort_by_role(std::span<const SlotUse> uses);
  void make_tensor(Entry& entry);

  tier::Runtime runtime_;
  bool moves_ahead_, hints_;
  std::vector<Entry> slots_;
  std::vector<tier::ObjectRef> reads_, updates_, overwrites_;  // of the current kernel
  std::vector<std::byte*> data_;
  Operands operands_;
};

}  // namespace training
