// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Memory without libtier, with which tiered runs are compared.
///
/// Memory is freed early and reused at once, in huge pages that are touched before use, as libtier's are.
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "common/huge_buffer.hpp"
#include "trainer/memory.hpp"

namespace training {

/// Allocates pieces of large buffers by best fit, and merges free neighbours.
class PlainPool {
 public:
  static constexpr std::size_t alignment = 64;
  /// Returns buffers of at least the given size, which live as long as the pool.
  using Source = std::function<std::byte*(std::size_t)>;

  explicit PlainPool(Source source) : source_{std::move(source)} {}

  [[nodiscard]] std::byte* take(std::size_t bytes);
  void give_back(std::byte* piece, std::size_t bytes);

 private:
  using Piece = std::pair<std::size_t, std::byte*>;  // bytes first, which orders by size
  void add_free(std::byte* begin, std::size_t bytes);
  void remove_free(std::byte* begin, std::size_t bytes);
  void grow(std::size_t bytes);

  Source source_;
  std::set<Piece> by_size_;
  std::map<std::byte*, std::size_t> by_address_;
};

class PlainMemory : public Memory {
 public:
  PlainMemory();

  Slot add(std::string name, std::size_t bytes) override;
  void run(std::string_view kernel, std::span<const SlotUse> uses, const Body& body) override;
  void retire(Slot slot) override;
  void archive(Slot) override {}
  void prefetch(Slot) override {}
  void end_of_step() override {}
  [[nodiscard]] Traffic traffic() const override;

 protected:
  explicit PlainMemory(PlainPool::Source source) : pool_{std::move(source)} {}
  /// Returns the slot's bytes; empty while it has none.
  [[nodiscard]] std::span<std::byte> bytes_of(Slot slot) const {
    return {slots_[slot].data, slots_[slot].data == nullptr ? 0 : slots_[slot].bytes};
  }

 private:
  struct Entry {
    std::size_t bytes = 0;
    std::byte* data = nullptr;
  };
  std::vector<sample::HugeBuffer> buffers_;
  PlainPool pool_;
  std::vector<Entry> slots_;
  std::vector<std::byte*> data_;  // of the current kernel
  std::size_t live_ = 0;
  std::size_t peak_ = 0;
  Operands operands_;
};

}  // namespace training
