// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plain_table.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "common/huge_buffer.hpp"

// Compiles a function for two kinds of CPU; the choice is made at run time.
#if defined(__x86_64__)
#define DLRM_WIDEST_VECTORS __attribute__((target_clones("avx2", "default")))
#else
#define DLRM_WIDEST_VECTORS
#endif

namespace dlrm {
namespace {

// How many rows ahead of their use rows are prefetched, as in libtier's tables.
constexpr std::size_t prefetch_distance = 18;
constexpr std::size_t cache_line = 64;

// Always inlined: GCC takes a call of a function that only prefetches to have no effect, and drops it.
[[gnu::always_inline]] inline void prefetch_row(const std::byte* row, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += cache_line) __builtin_prefetch(row + i);
  __builtin_prefetch(row + bytes - 1);
}

DLRM_WIDEST_VECTORS void add(float* out, const float* in, std::size_t count) {
#pragma omp simd
  for (std::size_t i = 0; i < count; ++i) out[i] += in[i];
}

RowId row_of(std::uint64_t occurrence) { return static_cast<RowId>(occurrence >> 32); }
std::size_t sample_of(std::uint64_t occurrence) { return occurrence & 0xffffffff; }

std::shared_ptr<std::byte> huge_rows(std::size_t size_bytes) {
  auto buffer = std::make_shared<sample::HugeBuffer>(size_bytes);
  return {buffer, reinterpret_cast<std::byte*>(buffer->data())};
}

}  // namespace

PlainTable::PlainTable(const TableShape& shape, std::shared_ptr<tbb::task_arena> arena)
    : PlainTable{shape, std::move(arena), huge_rows(shape.size_bytes())} {}

// Runs on the same threads as libtier's tables, so that the two differ only in where rows are.
PlainTable::PlainTable(const TableShape& shape, std::shared_ptr<tbb::task_arena> arena,
                       std::shared_ptr<std::byte> rows)
    : shape_{shape},
      row_bytes_{shape.row_bytes()},
      format_{shape.storage},
      arena_{std::move(arena)},
      rows_{std::move(rows)} {
  in_parallel(shape_.rows, [this](std::size_t begin, std::size_t end) {
    std::vector<float> values(shape_.dim);
    for (auto id = begin; id < end; ++id) {
      initial_row(shape_, static_cast<RowId>(id), values);
      format_.store(row(static_cast<RowId>(id)), values);
    }
  });
}

void PlainTable::gather(const Lookup& lookup, std::span<float> out) {
  in_parallel(lookup.samples(), [&](std::size_t begin, std::size_t last) {
    for (auto sample = begin; sample < last; ++sample) {
      const auto end =
          std::min<std::size_t>(lookup.starts[sample + 1] + prefetch_distance, lookup.ids.size());
      for (auto i = std::min<std::size_t>(lookup.starts[sample] + prefetch_distance, end); i < end; ++i) {
        prefetch_row(row(lookup.ids[i]), shape_.state_offset());
      }
      sum_bag(lookup.bag(sample), out.data() + sample * shape_.dim);
    }
  });
}

void PlainTable::sum_bag(std::span<const RowId> bag, float* out) const {
  std::fill_n(out, shape_.dim, 0.0F);
  if (stores_floats()) {
    for (const auto id : bag) add(out, reinterpret_cast<const float*>(row(id)), shape_.dim);
  } else {
    for (const auto id : bag) format_.add({out, shape_.dim}, row(id));
  }
}

void PlainTable::update(const Lookup& lookup, std::span<const float> gradients) {
  order_by_row(lookup);
  shape_.learning.with_row_optimizer([&](const auto& optimizer) { update_rows(gradients, optimizer); });
}

void PlainTable::order_by_row(const Lookup& lookup) {
  occurrences_.clear();
  starts_.clear();
  for (std::size_t sample = 0; sample < lookup.samples(); ++sample) {
    for (const auto id : lookup.bag(sample)) occurrences_.push_back(std::uint64_t{id} << 32 | sample);
  }
  sort_by_row();
  for (std::size_t i = 0; i < occurrences_.size(); ++i) {
    if (i == 0 || row_of(occurrences_[i - 1]) != row_of(occurrences_[i]))
      starts_.push_back(static_cast<std::uint32_t>(i));
  }
  starts_.push_back(static_cast<std::uint32_t>(occurrences_.size()));
}

// A radix sort with counting, as in libtier's tables: with a library's sort this baseline would be slower for reasons other
// than its memory. Each pass is stable, so samples stay in order.
void PlainTable::sort_by_row() {
  constexpr unsigned digit_bits = 11;
  spare_.resize(occurrences_.size());
  const auto row_bits = static_cast<unsigned>(std::bit_width(shape_.rows - 1));
  for (unsigned shift = 32; shift < 32 + row_bits; shift += digit_bits) {
    std::array<std::uint32_t, 1 << digit_bits> next{};
    const auto digit = [&](std::uint64_t occurrence) { return occurrence >> shift & (next.size() - 1); };
    for (const auto occurrence : occurrences_) ++next[digit(occurrence)];
    std::uint32_t before = 0;
    for (auto& n : next) before += std::exchange(n, before);
    for (const auto occurrence : occurrences_) spare_[next[digit(occurrence)]++] = occurrence;
    occurrences_.swap(spare_);
  }
}

template <class Optimizer>
void PlainTable::update_rows(std::span<const float> gradients, const Optimizer& optimizer) {
  const auto dim = shape_.dim;
  const auto rows = starts_.size() - 1;
  in_parallel(rows, [&](std::size_t begin, std::size_t end) {
    std::vector<float> sum(dim), wide(dim);
    for (auto r = begin; r < end; ++r) {
      if (r + prefetch_distance < rows) {
        prefetch_row(row(row_of(occurrences_[starts_[r + prefetch_distance]])), row_bytes_);
      }
      const auto gradient = [&](std::size_t i) {
        return gradients.data() + sample_of(occurrences_[i]) * dim;
      };
      const float* total = gradient(starts_[r]);
      if (starts_[r + 1] - starts_[r] > 1) {
        std::copy_n(total, dim, sum.data());
        for (auto i = starts_[r] + 1; i < starts_[r + 1]; ++i) add(sum.data(), gradient(i), dim);
        total = sum.data();
      }
      const auto id = row_of(occurrences_[starts_[r]]);
      float* const values = stores_floats() ? reinterpret_cast<float*>(row(id)) : wide.data();
      if (!stores_floats()) format_.load(wide, row(id));
      optimizer(std::span{values, dim}, std::span{state(id), shape_.learning.row_states()},
                std::span{total, dim});
      if (!stores_floats()) format_.store(row(id), wide);
    }
  });
}

void PlainTable::read_all(tier::FunctionRef<void(std::span<const float>)> visit) {
  std::vector<float> values(shape_.dim);
  for (RowId id = 0; id < shape_.rows; ++id) {
    format_.load(values, row(id));
    visit(values);
  }
  if (shape_.learning.row_states() == 0) return;
  for (RowId id = 0; id < shape_.rows; ++id) visit({state(id), shape_.learning.row_states()});
}

}  // namespace dlrm
