// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Memory whose pages migrate by what is touched, as a comparison: plain memory, but in windows.
#include <tier/memory/tiers.hpp>
#include <tier/runtime/runtime.hpp>
#include <tier/tensor/tensor.hpp>

#include <cstdint>
#include <list>
#include <string_view>
#include <vector>

#include "trainer/plain_memory.hpp"
#include "trainer/tiered_memory.hpp"

namespace training {

/// Emulates an operating system's view: a few large areas, in which pieces are allocated and freed without its knowledge.
/// Scopes tell which pages a kernel reads and writes, as hardware would, and nothing else is told.
class PageMigrationMemory final : public PlainMemory {
 public:
  /// \throws  as `tier::Runtime`
  explicit PageMigrationMemory(const tier::RuntimeOptions& options);

  void run(std::string_view kernel, std::span<const SlotUse> uses, const Body& body) override;
  void end_of_step() override { runtime_.end_of_step(); }
  [[nodiscard]] Traffic traffic() const override { return traffic_of(runtime_.statistics(), operands_); }

 private:
  struct Area {
    tier::Tensor<float> tensor;     ///< shape {rows, floats of a row}
    std::vector<std::size_t> ends;  ///< of its blocks, in bytes from its start
    [[nodiscard]] std::byte* data() const { return tensor.object().object->window; }
  };
  struct Rows {
    Area* area;
    std::size_t begin, end;
  };
  std::byte* add_area(std::size_t bytes);
  [[nodiscard]] Rows rows_of(const std::byte* data, std::size_t bytes);
  void count(const Rows& rows);
  void say_if_restricted() const;

  tier::Runtime runtime_;
  std::list<Area> areas_;
  Operands operands_;  // in pages
};

}  // namespace training
