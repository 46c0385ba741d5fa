// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plain_memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <tier/core/bytes.hpp>
#include <tier/core/error.hpp>

#include <algorithm>
#include <vector>

namespace dlrm {
namespace {

using namespace tier::literals;

constexpr std::size_t huge_page = (2_MiB).count;
constexpr std::size_t page = (4_KiB).count;
// Rows are asked for this far ahead of their use: a guess that covers DRAM's latency at a few lines a row.
constexpr std::size_t prefetch_distance = 8;

void prefetch_row(const float* row, std::size_t floats) {
  for (std::size_t i = 0; i < floats; i += 16) __builtin_prefetch(row + i);
}

}  // namespace

HugeBuffer::HugeBuffer(std::size_t size_bytes) : memory_{nullptr, Unmap{0}} {
  const auto size =
      tier::round_up(std::max<std::size_t>(size_bytes, 1), size_bytes < huge_page ? page : huge_page);
  const auto reserved = size + (size < huge_page ? 0 : huge_page);  // room to begin at a huge page
  void* memory =
      ::mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    throw tier::TierError{tier::last_system_error(), fmt::format("mmap of {} bytes", reserved)};
  }
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const auto begin = reserved == size ? address : tier::round_up(address, huge_page);
  if (begin > address) ::munmap(memory, begin - address);
  if (begin + size < address + reserved) {
    ::munmap(reinterpret_cast<void*>(begin + size), address + reserved - begin - size);
  }
  memory_ = {reinterpret_cast<void*>(begin), Unmap{size}};
  ::madvise(memory_.get(), size, MADV_HUGEPAGE);  // advice: with small pages it works too
  auto* bytes = static_cast<volatile std::byte*>(memory_.get());
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < size; i += page) bytes[i] = std::byte{};
}

void HugeBuffer::Unmap::operator()(void* memory) const noexcept { ::munmap(memory, size); }

PlainTable::PlainTable(const TableShape& shape) : shape_{shape}, rows_{shape.size_bytes()} {
#pragma omp parallel for schedule(static)
  for (RowId id = 0; id < shape_.rows; ++id) initial_row(shape_, id, row(id));
}

void PlainTable::gather(const Batch& batch, float* out, std::size_t stride) {
  const auto& lookup = batch.lookups[shape_.table];
#pragma omp parallel for schedule(static)
  for (std::size_t sample = 0; sample < lookup.samples(); ++sample) {
    const auto end = std::min<std::size_t>(lookup.starts[sample + 1] + prefetch_distance, lookup.ids.size());
    for (auto i = std::min<std::size_t>(lookup.starts[sample] + prefetch_distance, end); i < end; ++i) {
      prefetch_row(row(lookup.ids[i]), shape_.dim);
    }
    sum_bag(lookup.bag(sample), out + sample * stride);
  }
}

void PlainTable::sum_bag(std::span<const RowId> bag, float* out) const {
  const auto dim = shape_.dim;
  std::fill_n(out, dim, 0.0F);
  for (const auto id : bag) {
    const float* in = row(id);
#pragma omp simd
    for (std::size_t i = 0; i < dim; ++i) out[i] += in[i];
  }
}

void PlainTable::update(const Batch& batch, const float* gradients, std::size_t stride) {
  const auto& lookup = batch.lookups[shape_.table];
  const auto dim = shape_.dim;
#pragma omp parallel
  {
    std::vector<float> sum(dim);
#pragma omp for schedule(static)
    for (std::size_t r = 0; r < lookup.rows.size(); ++r) {
      if (r + prefetch_distance < lookup.rows.size()) {
        prefetch_row(row(lookup.rows[r + prefetch_distance]), shape_.row_floats());
      }
      sum_gradients(lookup.occurrences_of(r), gradients, stride, dim, sum.data());
      shape_.optimizer(row(lookup.rows[r]), sum.data(), dim);
    }
  }
}

void PlainTable::read_all(tier::FunctionRef<void(std::span<const float>)> visit) {
  visit({rows_.data(), shape_.rows * shape_.row_floats()});
}

PlainMemory::Tensor PlainMemory::tensor(std::string_view /*name*/, std::size_t count) {
  live_bytes_ += count * sizeof(float);
  return Tensor{count};
}

std::unique_ptr<EmbeddingTable> PlainMemory::table(const TableShape& shape) {
  live_bytes_ += shape.size_bytes();
  return std::make_unique<PlainTable>(shape);
}

Traffic PlainMemory::traffic() const {
  Traffic traffic;
  traffic.peak_bytes = live_bytes_;
  return traffic;
}

}  // namespace dlrm
