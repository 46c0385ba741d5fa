// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "measure_rows.hpp"

#include <tier/runtime/row_policies.hpp>
#include <tier/table/row_table.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

namespace tier::tool {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t dim = 32, batch = 8192;
constexpr std::uint64_t row_bytes = dim * sizeof(float);
constexpr int runs = 7;
constexpr double ns = 1e9;

struct Add {
  void operator()(std::span<float> row, std::span<float>, std::span<const float> gradient) const noexcept {
    for (std::size_t i = 0; i < row.size(); ++i) row[i] += gradient[i];
  }
};

/// A table whose rows are asked for at random.
class Rows {
 public:
  /// \param slots  as many as there are rows: it is whole
  Rows(const std::shared_ptr<TableContext>& context, std::uint64_t rows, std::uint64_t slots, TierIndex slow)
      : table_{context, options(rows, slots, slow)}, out_(batch * dim) {
    for (std::uint64_t asked = 0; asked < 4 * slots; asked += batch)
      gather();  // the caches are as they will be
  }

  /// ns of a gather, or of a gather and an update, the median of some, and what a row of them has moved.
  struct Taken {
    double gathering = 0, misses = 0, writes = 0;
  };
  Taken take(bool updates) {
    std::vector<double> times;
    if (updates) update();
    table_.reset_statistics();
    for (int run = 0; run < runs; ++run) {
      const auto start = Clock::now();
      gather();
      times.push_back(std::chrono::duration<double>(Clock::now() - start).count() * ns);
      if (updates) update();
    }
    std::ranges::nth_element(times, times.begin() + runs / 2);
    const auto counts = table_.statistics();
    return {times[runs / 2], static_cast<double>(counts.missed_rows) / runs,
            static_cast<double>(counts.written_rows) / runs};
  }

 private:
  static TableOptions options(std::uint64_t rows, std::uint64_t slots, TierIndex slow) {
    TableOptions options;
    options.rows = rows;
    options.dim = dim;
    options.slots = slots;
    if (slots < rows) options.slow = slow;
    options.policy = make_row_policy("lru");
    options.name = "probe";
    return options;
  }
  void gather() {
    ids_.resize(batch);
    for (auto& id : ids_) id = static_cast<RowId>(random_() % table_.rows());
    table_.gather(ids_, out_);
  }
  void update() { table_.update(ids_, out_, Add{}); }

  RowTable<float> table_;
  std::vector<RowId> ids_;
  std::vector<float> out_;
  std::mt19937_64 random_{1};
};

std::chrono::nanoseconds whole_ns(double time) {
  return std::chrono::nanoseconds{std::llround(std::max(0.0, time))};
}

}  // namespace

void measure_rows(const std::shared_ptr<Manager>& manager, replay::Machine& machine) {
  const auto context = std::make_shared<TableContext>(manager);
  constexpr std::uint64_t most = 64 << 20;  // bytes: of which no cache holds much
  const auto rows_in = [&](TierIndex tier) {
    return std::max<std::uint64_t>(2 * batch,
                                   std::min(most, manager->tier(tier).capacity().count / 4) / row_bytes);
  };
  const auto rows = rows_in(Manager::fastest());
  const auto whole = Rows{context, rows, rows, 0}.take(false).gathering / batch;
  for (TierIndex tier = 1; tier < manager->tier_count(); ++tier) {
    auto& device = machine.devices[tier];
    const auto all = std::min(rows, rows_in(tier));
    if (tier == 1)
      machine.row_lookup = whole_ns(Rows{context, all, all - 1, tier}.take(false).gathering / batch - whole);
    const auto found = whole + static_cast<double>(machine.row_lookup.count());
    Rows some{context, all, all / 8, tier};
    const auto clean = some.take(false), dirty = some.take(true);
    const auto moved =
        device.addressable ? row_bytes : std::max(row_bytes, manager->tier(tier).model().granularity.count);
    const auto bytes_ns = [&](double rate) {  // as a replay counts them
      return std::max(static_cast<double>(moved) / rate * ns,
                      static_cast<double>(device.latency.count()) / device.parallelism);
    };
    const auto read = (clean.gathering - found * (batch - clean.misses)) / clean.misses;
    device.row_read = whole_ns(read - bytes_ns(device.mover_read));
    if (dirty.writes > 0)
      device.row_write =
          whole_ns((dirty.gathering - found * (batch - dirty.misses) - read * dirty.misses) / dirty.writes -
                   bytes_ns(device.mover_write));
  }
}

}  // namespace tier::tool
