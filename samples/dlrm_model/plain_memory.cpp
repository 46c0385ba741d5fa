// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plain_memory.hpp"

#include "plain_table.hpp"

namespace dlrm {

PlainMemory::Tensor PlainMemory::tensor(std::string_view /*name*/, std::size_t count) {
  live_bytes_ += count * sizeof(float);
  return Tensor{count};
}

std::unique_ptr<EmbeddingTable> PlainMemory::table(const TableShape& shape) {
  live_bytes_ += shape.size_bytes();
  return std::make_unique<PlainTable>(shape, arena_);
}

Traffic PlainMemory::traffic() const {
  Traffic traffic;
  traffic.peak_bytes = live_bytes_;
  return traffic;
}

}  // namespace dlrm
