// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/assert.hpp>
#include <tier/core/error.hpp>
#include <tier/manager/manager.hpp>
#include <tier/table/row_table.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <ctime>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "table/advisor.hpp"
#include "table/batch_book.hpp"
#include "table/cache/row_cache.hpp"
#include "table/call_checks.hpp"
#include "table/promotion_pace.hpp"
#include "table/row_kernels.hpp"
#include "table/table_plan.hpp"

namespace tier::detail {
namespace {

// Fewest rows for which another thread pays: a parallel loop costs about as much as gathering a hundred rows.
constexpr std::size_t rows_per_part = 1024;
constexpr std::size_t most_parts = 256;

/// Returns the CPU time of the calling thread, which excludes waits.
std::chrono::nanoseconds thread_time() noexcept {
  ::timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
}

/// Stride in floats between per-thread buffers, padded so that threads share no cache line.
constexpr std::size_t apart(std::size_t floats) noexcept { return round_up(floats, 16) + 16; }

/// A row of a gather that was missed in the first pass.
struct LateRow {
  RowId row;
  std::uint32_t target;  // the output row, or bag
  bool first;            // of its bag, or the only one
};

/// Memory that one call needs, kept for the next call.
struct Scratch {
  std::vector<std::uint32_t> missed;
  std::vector<LateRow> late;
  std::vector<RowId> rows;
  std::vector<std::byte*> addresses;
  std::vector<std::uint32_t> bag_of;
  std::vector<std::uint32_t> entries;
  std::vector<float> sums;       // of gradients, one buffer for each thread
  std::vector<float> wide_rows;  // narrow rows and their state during an update, one buffer for each thread
  RowSession session;
};

class Table final : public TableCore, private BackgroundWork {
 public:
  Table(std::shared_ptr<TableContext> context, TableOptions options);
  ~Table() override;

  bool is_whole() const noexcept override { return cache_ == nullptr; }
  /// True if rows that are in no slot are used in the slow tier.
  bool is_direct() const noexcept { return kind_ == TableKind::Direct && !cache_->is_in_fork_child(); }
  std::uint64_t slots() const noexcept override;
  Bytes fast_bytes() const noexcept override { return is_whole() ? storage_.size_bytes() : cache_->bytes(); }

  void gather(std::span<const RowId> ids, Bags bags, std::span<float> out, std::size_t stride,
              BatchRecord* batch) override;
  void update(std::span<const RowId> ids, Bags bags, std::span<const float> gradients, std::size_t stride,
              RowUpdate update, BatchRecord* batch) override;
  void check_state_columns(std::size_t needed) const override;
  void scatter(std::span<const RowId> ids, std::span<const float> rows) override;
  void read(RowId first, RowPart part, std::span<float> out) override;
  void flush() override;

  BatchNumber announce(std::span<const RowId> ids) override;
  void prefetch(BatchNumber batch) override;
  void cancel(BatchNumber batch) noexcept override;
  void settle() noexcept override;
  BatchRecord* open(std::span<const RowId> ids) override;
  void close(BatchRecord* batch) noexcept override;

  const std::string& name() const noexcept override { return name_; }
  TableStatistics statistics() const override;
  void reset_statistics() override;
  MissRatioCurve advise() const override { return advisor_.advise(); }
  void check_invariants() const override;

 private:
  /// Attaches the table to its context for as long as it lives.
  class Attachment;
  class Resuming;
  /// Borrows a scratch, and gives it back on destruction.
  class Borrowed;
  /// A batch that ends with the enclosing block.
  class Owned;
  /// Changes the row of one group, given the occurrences of its id.
  using GroupUpdate =
      FunctionRef<void(std::byte* row, std::span<const std::uint64_t> occurrences, std::size_t part)>;

  void fill(const std::function<void(RowId, std::span<float>)>& initial);
  void fill_rows(const std::function<void(RowId, std::span<float>)>& initial, RowId first, std::size_t count,
                 std::byte* memory);
  void check_ids(std::span<const RowId> ids) const { detail::check_ids(ids, layout_.rows, name_); }
  /// Checks that `floats` has a row for each id, or bag.   \return  the offsets of bags; empty if rows are gathered singly
  std::span<const std::uint32_t> check_rows(std::size_t ids, Bags bags, const Floats& floats) const;
  [[nodiscard]] std::size_t parts_for(std::size_t rows) const noexcept;

  template <class Rows>
  std::size_t pull(const Rows& rows, std::size_t ids, std::span<const std::uint32_t> offsets,
                   const Output& out, std::uint32_t* missed);
  std::size_t pull_cached(std::span<const RowId> ids, std::span<const std::uint32_t> offsets,
                          const Output& out, std::uint32_t* missed);
  void gather_cached(std::span<const RowId> ids, std::span<const std::uint32_t> offsets, const Output& out,
                     BatchRecord* batch, Owned* ends);
  static void list_late_rows(std::span<const RowId> ids, std::span<const std::uint32_t> offsets, bool all,
                             std::size_t missed, Scratch& scratch);
  void gather_direct(std::span<const RowId> ids, std::span<const std::uint32_t> offsets, const Output& out,
                     std::vector<std::uint32_t>& entries);
  void serve(Scratch& scratch, const Output& out, bool sum);
  void deliver(std::span<const LateRow> late, std::span<std::byte* const> rows, const Output& out, bool sum);

  void update_narrow(std::byte* row, RowId id, const float* gradient, RowUpdate update, float* wide) const;
  void change(std::span<const RowId> ids, BatchRecord* batch, GroupUpdate update);
  void change_rows(BatchRecord& batch, GroupUpdate update);
  void change_cached(const RowGroups& groups, BatchNumber hold, GroupUpdate update);
  void change_direct(BatchRecord& batch, GroupUpdate update);
  template <class F>
  void apply(const RowGroups& groups, IndexRange groups_range, const F& row_of, GroupUpdate update);
  template <class F>
  void apply_part(const RowGroups& groups, IndexRange range, const F& row_of, GroupUpdate update,
                  std::size_t part);
  template <class F>
  void for_each_group(std::size_t count, const F& use);

  bool work() noexcept override;
  bool prefetch_next() noexcept;
  bool promote_next() noexcept;
  void before_fork() noexcept override TIER_NO_THREAD_SAFETY_ANALYSIS;
  void after_fork(bool in_child) noexcept override TIER_NO_THREAD_SAFETY_ANALYSIS;
  void wake() noexcept;
  void resume() noexcept;
  void end(BatchRecord* record) noexcept;
  void count_unique(BatchRecord& batch) noexcept;
  void count_use(std::chrono::steady_clock::time_point since) noexcept;
  void count_wait(std::chrono::steady_clock::time_point since) noexcept;
  /// Tells the observer that rows are gathered or updated. Call without a lock.
  void tell_rows(std::span<const RowId> ids, bool updates) const noexcept {
    if (auto* const observer = context_->manager().thread_observer(); observer != nullptr) [[unlikely]]
      observer->on_rows({name_, layout_.rows, layout_.row_bytes, ids, updates});
  }

  const std::shared_ptr<TableContext> context_;
  const std::string name_;
  RowLayout layout_;
  const RowValues values_;
  TableKind kind_ = TableKind::Whole;
  PlacedStorage storage_;            // of a whole table
  std::unique_ptr<RowCache> cache_;  // null if the table is whole
  Advisor advisor_;
  BatchBook book_;
  Mutex update_mutex_;  // held by updates and flushes; the table's outermost lock
  // Counts updates and scatters, and the first contents. Stochastic rounding depends on it: otherwise a row with the same
  // values and gradients as before would be rounded the same way, and could never move. Written under update_mutex_.
  std::atomic<std::uint64_t> changes_{1};
  Mutex scratch_mutex_;
  std::vector<std::unique_ptr<Scratch>> scratches_ TIER_GUARDED_BY(scratch_mutex_);
  RowSession background_session_;  // for the background thread only
  std::vector<RowId> admitted_;    // for the background thread only
  PromotionPace pace_;             // for the background thread only
  std::atomic<bool> stalled_{false}, closing_{false};
  std::atomic<std::uint64_t> asked_{0}, updated_{0}, unique_{0}, unique_missed_{0}, waited_{0}, waited_ns_{0},
      stalls_{0}, dropped_{0}, direct_{0}, direct_bytes_{0};
  std::unique_ptr<Attachment> attachment_;  // last, so that all other members exist when a fork is reported
};

/// At its end, wakes a stalled prefetch, since the call that ends may have been what stalled it.
class Table::Resuming {
 public:
  explicit Resuming(Table& table) noexcept : table_{table} {}
  ~Resuming() {
    if (table_.stalled_.load(std::memory_order_relaxed)) table_.resume();
  }
  Resuming(const Resuming&) = delete;
  Resuming& operator=(const Resuming&) = delete;

 private:
  Table& table_;
};

class Table::Attachment {
 public:
  explicit Attachment(Table& table) : table_{table} { table_.context_->attach(table_); }
  ~Attachment() {
    table_.closing_ = true;
    table_.context_->remove(table_);
  }
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;

 private:
  Table& table_;
};

class Table::Borrowed {
 public:
  explicit Borrowed(Table& table) : table_{table} {
    const MutexLock lock{table_.scratch_mutex_};
    if (table_.scratches_.empty()) {
      scratch_ = std::make_unique<Scratch>();
    } else {
      scratch_ = std::move(table_.scratches_.back());
      table_.scratches_.pop_back();
    }
  }
  ~Borrowed() {
    const MutexLock lock{table_.scratch_mutex_};
    try {
      table_.scratches_.push_back(std::move(scratch_));
    } catch (const std::bad_alloc&) {  // then the next call makes a new one
    }
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  Scratch& operator*() const noexcept { return *scratch_; }

 private:
  Table& table_;
  std::unique_ptr<Scratch> scratch_;
};

class Table::Owned {
 public:
  Owned(Table& table, BatchRecord* record) noexcept : table_{table}, record_{record} {}
  ~Owned() { reset(); }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;

  [[nodiscard]] BatchRecord* get() const noexcept { return record_; }
  [[nodiscard]] BatchRecord* operator->() const noexcept { return record_; }
  BatchRecord* release() noexcept { return std::exchange(record_, nullptr); }
  void reset() noexcept {
    if (record_ != nullptr) table_.end(release());
  }

 private:
  Table& table_;
  BatchRecord* record_;
};

Table::Table(std::shared_ptr<TableContext> context, TableOptions options)
    : context_{std::move(context)},
      name_{options.name},
      values_{options},
      advisor_{context_->manager(), options} {
  auto plan = plan_table(context_->manager(), options);
  layout_ = plan.layout;
  kind_ = plan.kind;
  if (kind_ == TableKind::Whole) {
    storage_ = std::move(plan.storage);
  } else {
    cache_ = std::make_unique<RowCache>(context_->manager(), layout_, plan.shape, std::move(plan.storage),
                                        std::move(options.policy), name_);
    cache_->reserve(background_session_);
    admitted_.reserve(cache_->most_reviewed());
  }
  attachment_ = std::make_unique<Attachment>(*this);
  fill(options.initial);
}

Table::~Table() = default;

std::uint64_t Table::slots() const noexcept {
  if (is_whole()) return layout_.rows;
  return cache_->shape().slots;
}

// First contents.

void Table::fill(const std::function<void(RowId, std::span<float>)>& initial) {
  if (is_whole()) return fill_rows(initial, 0, layout_.rows, storage_.address());
  cache_->write_all(
      [&](RowId first, RowId count, std::byte* memory) { fill_rows(initial, first, count, memory); });
}

void Table::fill_rows(const std::function<void(RowId, std::span<float>)>& initial, RowId first,
                      std::size_t count, std::byte* memory) {
  const auto parts = std::size_t{8} * context_->arena().threads();
  std::vector<float> values(parts * layout_.dim);
  context_->arena().parallel_for(parts, [&](std::size_t part) {
    const auto range = part_of(count, parts, part);
    float* const own = values.data() + part * layout_.dim;
    for (auto i = range.begin; i < range.end; ++i) {
      auto* const row = memory + layout_.offset(i);
      std::memset(row, 0, layout_.used_row_bytes());
      if (!initial) continue;
      const auto id = first + static_cast<RowId>(i);
      std::fill_n(own, layout_.dim, 0.0F);
      initial(id, {own, layout_.dim});
      values_.store(row, own, id, 0);
    }
  });
}

// Gather.

std::size_t Table::parts_for(std::size_t rows) const noexcept {
  return std::clamp<std::size_t>(rows / rows_per_part, 1,
                                 std::min<std::size_t>(most_parts, context_->arena().threads()));
}

std::span<const std::uint32_t> Table::check_rows(std::size_t ids, Bags bags, const Floats& floats) const {
  if (bags) check_bags(*bags, ids, name_);
  const auto offsets = bags.value_or(std::span<const std::uint32_t>{});
  check_floats(floats, offsets.empty() ? ids : offsets.size() - 1, layout_.dim, name_);
  return offsets;
}

void Table::gather(std::span<const RowId> ids, Bags bags, std::span<float> out, std::size_t stride,
                   BatchRecord* batch) {
  const auto offsets = check_rows(ids.size(), bags, {"the output", out.size(), stride});
  if (batch == nullptr) check_ids(ids);  // else opening the batch has checked them
  const Output output{out.data(), layout_.dim, stride};
  asked_.fetch_add(ids.size(), std::memory_order_relaxed);
  tell_rows(ids, false);
  advisor_.note(ids);
  if (is_whole()) {
    const WholeRows find{storage_.address(), layout_.row_bytes};
    pull(ById<WholeRows>{find, ids.data()}, ids.size(), offsets, output, nullptr);
    return;
  }
  Owned announced{*this, batch == nullptr ? book_.claim(ids) : nullptr};
  auto* const record = batch != nullptr ? batch : announced.get();
  if (!is_direct())
    return gather_cached(ids, offsets, output, record, batch == nullptr ? &announced : nullptr);
  if (record == nullptr) {
    const Borrowed borrowed{*this};
    return gather_direct(ids, offsets, output, (*borrowed).entries);
  }
  record->gathered = true;
  const auto version = cache_->map_version();
  gather_direct(ids, offsets, output, record->entries);
  record->map_version = version;
}

void Table::gather_direct(std::span<const RowId> ids, std::span<const std::uint32_t> offsets,
                          const Output& out, std::vector<std::uint32_t>& entries) {
  const auto since = std::chrono::steady_clock::now();
  entries.resize(ids.size());
  std::size_t late = 0;
  {
    const EpochGuard guard{cache_->epochs()};
    const DirectRows rows{cache_->direct_view(), layout_.bytes(), ids.data(), entries.data()};
    late = pull(rows, ids.size(), offsets, out, nullptr);
  }
  direct_.fetch_add(late, std::memory_order_relaxed);
  direct_bytes_.fetch_add(late * layout_.row_bytes, std::memory_order_relaxed);
  waited_.fetch_add(late, std::memory_order_relaxed);
  if (late != 0)
    cache_->slow().charge(Direction::Read, late * layout_.row_bytes, static_cast<unsigned>(late), since);
  cache_->note_uses(ids, 0);
  count_use(since);
  if (cache_->log_is_full() && context_->is_rested()) wake();
}

// Parts tile the ids, or bags. Each thread writes its misses where its own ids are; they are compacted afterwards. A missed
// bag has at least one id, so there is room for each, however many bags are empty.
template <class Rows>
std::size_t Table::pull(const Rows& rows, std::size_t ids, std::span<const std::uint32_t> offsets,
                        const Output& out, std::uint32_t* missed) {
  const auto targets = offsets.empty() ? ids : offsets.size() - 1;
  const auto parts = parts_for(ids);
  std::array<std::size_t, most_parts> misses{};
  const auto first_id = [&](std::size_t target) { return offsets.empty() ? target : offsets[target]; };
  const auto body = [&](std::size_t part) {
    const auto range = part_of(targets, parts, part);
    auto* const own = missed + (missed == nullptr ? 0 : first_id(range.begin));
    misses[part] = values_.visit([&](const auto& values) {
      return offsets.empty() ? copy_rows(values, rows, range, out, own)
                             : sum_bags(values, rows, offsets, range, out, own);
    });
  };
  if (parts == 1)
    body(0);
  else
    context_->arena().parallel_for(parts, body);
  std::size_t total = 0;
  for (std::size_t part = 0; part < parts; ++part) {
    if (missed != nullptr)
      std::copy_n(missed + first_id(part_of(targets, parts, part).begin), misses[part], missed + total);
    total += misses[part];
  }
  return total;
}

std::size_t Table::pull_cached(std::span<const RowId> ids, std::span<const std::uint32_t> offsets,
                               const Output& out, std::uint32_t* missed) {
  const EpochGuard guard{cache_->epochs()};
  return pull(ById<CachedRows>{{cache_->view()}, ids.data()}, ids.size(), offsets, out, missed);
}

// Takes rows that are in slots without a lock; fetches the others, or uses them in the slow tier.
// `ends`: the batch ends with this gather. It ends before rows are fetched, so that rows no other batch wants can leave.
void Table::gather_cached(std::span<const RowId> ids, std::span<const std::uint32_t> offsets,
                          const Output& out, BatchRecord* batch, Owned* ends) {
  const Resuming resuming{*this};
  const Borrowed borrowed{*this};
  auto& scratch = *borrowed;
  const auto hold = batch == nullptr || ends != nullptr ? 0 : batch->number;
  const bool all = cache_->policy_wants_all();  // then every use is decided one by one
  std::size_t missed = 0;
  if (!all) {
    scratch.missed.resize(ids.size() + 1);
    missed = pull_cached(ids, offsets, out, scratch.missed.data());
    if (batch == nullptr || !batch->prefetched) cache_->note_uses(ids, hold);
  }
  if (batch != nullptr) batch->gathered = true;
  if (batch != nullptr && batch->grouped) count_unique(*batch);
  if (ends != nullptr) ends->reset();
  if (all || missed != 0) {
    list_late_rows(ids, offsets, all, missed, scratch);
    for (auto bag = all ? std::size_t{1} : offsets.size(); bag < offsets.size(); ++bag)
      if (offsets[bag - 1] == offsets[bag]) start_sum(out[bag - 1], out.dim);
    scratch.session.hold = hold;
    serve(scratch, out, !offsets.empty());
  }
}

void Table::list_late_rows(std::span<const RowId> ids, std::span<const std::uint32_t> offsets, bool all,
                           std::size_t missed, Scratch& scratch) {
  scratch.late.clear();
  const auto add = [&](std::size_t target) {
    if (offsets.empty())
      return scratch.late.push_back({ids[target], static_cast<std::uint32_t>(target), true});
    for (auto i = offsets[target]; i < offsets[target + 1]; ++i)
      scratch.late.push_back({ids[i], static_cast<std::uint32_t>(target), i == offsets[target]});
  };
  if (!all) {
    for (std::size_t i = 0; i < missed; ++i) add(scratch.missed[i]);
    return;
  }
  const auto targets = offsets.empty() ? ids.size() : offsets.size() - 1;
  for (std::size_t target = 0; target < targets; ++target) add(target);
}

void Table::serve(Scratch& scratch, const Output& out, bool sum) {
  const std::span late{scratch.late};
  scratch.rows.clear();
  for (const auto& row : late) scratch.rows.push_back(row.row);
  scratch.addresses.resize(late.size());
  auto& session = scratch.session;
  session.purpose = Purpose::Gather;
  session.waited = 0;
  session.told = session.late = false;
  session.missed.reset(late.size());
  const auto since = std::chrono::steady_clock::now();
  for (std::size_t done = 0; done < late.size();) {
    const auto got = cache_->acquire(session, std::span{scratch.rows}.subspan(done),
                                     std::span{scratch.addresses}.subspan(done));
    deliver(late.subspan(done, got), std::span{scratch.addresses}.subspan(done, got), out, sum);
    cache_->release(session);
    done += got;
  }
  waited_.fetch_add(session.waited, std::memory_order_relaxed);
  unique_missed_.fetch_add(session.missed.size(), std::memory_order_relaxed);
  if (session.waited != 0) count_wait(since);
}

void Table::deliver(std::span<const LateRow> late, std::span<std::byte* const> rows, const Output& out,
                    bool sum) {
  const auto parts = parts_for(late.size());
  // Moves a boundary so that all rows of a bag go to one thread.
  const auto from_bag = [&](std::size_t i) {
    while (sum && i > 0 && i < late.size() && late[i].target == late[i - 1].target) ++i;
    return i;
  };
  const auto deliver_some = [&](const auto& values, IndexRange range) {
    for (auto i = from_bag(range.begin); i < from_bag(range.end); ++i) {
      const auto* const row = rows[i];
      float* const to = out[late[i].target];
      if (!sum) {
        values.load(to, row);
        continue;
      }
      if (late[i].first) start_sum(to, out.dim);
      values.add(to, row);
    }
  };
  const auto body = [&](std::size_t part) {
    const auto range = part_of(late.size(), parts, part);
    values_.visit([&](const auto& values) { deliver_some(values, range); });
  };
  if (parts == 1)
    body(0);
  else
    context_->arena().parallel_for(parts, body);
}

void Table::read(RowId first, RowPart part, std::span<float> out) {
  const auto width = part == RowPart::Values ? layout_.dim : layout_.state_columns;
  if (width == 0)
    throw ConfigError{"table '" + name_ + "' has no state columns; TableOptions::state_columns sets them"};
  if (out.empty()) return;
  check_floats({"the output", out.size(), width}, 1, width, name_);
  const auto count = out.size() / width;
  if (std::uint64_t{first} + count > layout_.rows)
    throw std::out_of_range{"table '" + name_ + "': rows " + std::to_string(first) + " to " +
                            std::to_string(std::uint64_t{first} + count - 1) + " are out of range; it has " +
                            std::to_string(layout_.rows) + " rows"};
  const auto copy = [&](std::size_t i, const std::byte* row) {
    float* const to = out.data() + i * width;
    if (part == RowPart::State)
      std::memcpy(to, row + layout_.state_offset(), width * sizeof(float));
    else
      values_.visit([&](const auto& values) { values.load(to, row); });
  };
  if (is_whole()) {
    for (std::size_t i = 0; i < count; ++i) copy(i, storage_.address() + (first + i) * layout_.row_bytes);
    return;
  }
  const Resuming resuming{*this};
  const Borrowed borrowed{*this};
  auto& scratch = *borrowed;
  scratch.session.purpose = Purpose::Peek;
  scratch.session.hold = 0;
  scratch.rows.resize(count);
  std::iota(scratch.rows.begin(), scratch.rows.end(), first);
  scratch.addresses.resize(count);
  for (std::size_t done = 0; done < count;) {
    const auto got = cache_->acquire(scratch.session, std::span{scratch.rows}.subspan(done),
                                     std::span{scratch.addresses}.subspan(done));
    for (auto i = done; i < done + got; ++i) copy(i, scratch.addresses[i]);
    cache_->release(scratch.session);
    done += got;
  }
}

// Update.

void Table::check_state_columns(std::size_t needed) const {
  if (layout_.state_columns >= needed) return;
  throw ConfigError{"table '" + name_ + "' has " + std::to_string(layout_.state_columns) +
                    " state columns, and the optimiser needs " + std::to_string(needed) +
                    "; TableOptions::state_columns sets them"};
}

void Table::update(std::span<const RowId> ids, Bags bags, std::span<const float> gradients,
                   std::size_t stride, RowUpdate update, BatchRecord* batch) {
  TIER_VERIFY(batch != nullptr, "a batch that was moved from is updated");
  const auto offsets = check_rows(ids.size(), bags, {"the gradient", gradients.size(), stride});
  const auto dim = layout_.dim;
  const Borrowed borrowed{*this};
  auto& scratch = *borrowed;
  const auto sum_stride = apart(dim), wide_row = apart(dim + layout_.state_columns);
  scratch.sums.resize(context_->arena().threads() * sum_stride);
  scratch.wide_rows.resize(values_.are_floats() ? 0 : context_->arena().threads() * wide_row);
  scratch.bag_of.resize(offsets.empty() ? 0 : ids.size());
  for (std::size_t bag = 0; bag + 1 < offsets.size(); ++bag)
    for (auto i = offsets[bag]; i < offsets[bag + 1]; ++i)
      scratch.bag_of[i] = static_cast<std::uint32_t>(bag);

  const auto gradient = [&](std::uint64_t occurrence) {
    const auto position = RowGroups::position_of(occurrence);
    return gradients.data() + (offsets.empty() ? position : scratch.bag_of[position]) * stride;
  };
  change(ids, batch, [&](std::byte* row, std::span<const std::uint64_t> occurrences, std::size_t part) {
    const float* sum = gradient(occurrences.front());
    if (occurrences.size() > 1) {
      float* const own = scratch.sums.data() + part * sum_stride;
      std::copy_n(sum, dim, own);
      for (const auto occurrence : occurrences.subspan(1)) add_row(own, gradient(occurrence), dim);
      sum = own;
    }
    if (values_.are_floats()) return update(reinterpret_cast<float*>(row), sum);
    update_narrow(row, RowGroups::row_of(occurrences.front()), sum, update,
                  scratch.wide_rows.data() + part * wide_row);
  });
}

// Widens the row to floats, with its state behind it as in a stored row of floats, updates it, and rounds it back.
void Table::update_narrow(std::byte* row, RowId id, const float* gradient, RowUpdate update,
                          float* wide) const {
  auto* const state = row + layout_.state_offset();
  const auto state_bytes = layout_.state_columns * sizeof(float);
  values_.visit([&](const auto& values) { values.load(wide, row); });
  std::memcpy(wide + layout_.dim, state, state_bytes);
  update(wide, gradient);
  values_.store(row, wide, id, changes_.load(std::memory_order_relaxed));
  std::memcpy(state, wide + layout_.dim, state_bytes);
}

void Table::scatter(std::span<const RowId> ids, std::span<const float> rows) {
  check_floats({"the rows' span", rows.size(), layout_.dim}, ids.size(), layout_.dim, name_);
  const Owned batch{*this, open(ids)};
  change(ids, batch.get(), [&](std::byte* row, std::span<const std::uint64_t> occurrences, std::size_t) {
    const auto last = RowGroups::position_of(occurrences.back());
    values_.store(row, rows.data() + last * layout_.dim, RowGroups::row_of(occurrences.back()),
                  changes_.load(std::memory_order_relaxed));
  });
}

void Table::change(std::span<const RowId> ids, BatchRecord* batch, GroupUpdate update) {
  if (ids.empty()) return;
  const Resuming resuming{*this};
  if (!batch->grouped) batch->groups.build(ids, layout_.rows);
  batch->grouped = true;
  count_unique(*batch);
  tell_rows(ids, true);
  const MutexLock one_at_a_time{update_mutex_};
  updated_.fetch_add(ids.size(), std::memory_order_relaxed);
  change_rows(*batch, update);
  // A change that throws is not counted, so that a retry rounds as if it had succeeded at once.
  changes_.fetch_add(1, std::memory_order_relaxed);
}

void Table::change_rows(BatchRecord& batch, GroupUpdate update) {
  const auto& groups = batch.groups;
  if (!is_whole())
    return is_direct() ? change_direct(batch, update) : change_cached(groups, batch.number, update);
  auto* const base = storage_.address();
  apply(
      groups, {0, groups.rows().size()},
      [&](std::size_t group) { return base + groups.rows()[group] * layout_.row_bytes; }, update);
}

void Table::change_cached(const RowGroups& groups, BatchNumber hold, GroupUpdate update) {
  const Borrowed borrowed{*this};
  auto& scratch = *borrowed;
  const auto rows = groups.rows();
  auto& session = scratch.session;
  scratch.addresses.resize(rows.size());
  session.purpose = Purpose::Update;
  session.hold = hold;
  session.waited = 0;
  session.late = false;
  session.missed.reset(rows.size());
  for (std::size_t done = 0; done < rows.size();) {
    const auto since = std::chrono::steady_clock::now();
    const auto got = cache_->acquire(session, rows.subspan(done), std::span{scratch.addresses}.subspan(done));
    if (session.waited != 0) count_wait(since);
    apply(
        groups, {done, done + got}, [&](std::size_t group) { return scratch.addresses[group]; }, update);
    cache_->release(session);
    done += got;
  }
  unique_missed_.fetch_add(session.missed.size(), std::memory_order_relaxed);
}

// Runs under the update lock, which moving rows needs too, so rows stay where they are found. If the map has not changed
// since the batch's gather, uses the entries that the gather noted: the map's lines have left the CPU cache by now. Each
// thread finds all its rows before it changes the first, because their entries are in no order, and a loop that only finds
// overlaps many cache misses.
void Table::change_direct(BatchRecord& batch, GroupUpdate update) {
  const Borrowed borrowed{*this};
  auto& addresses = (*borrowed).addresses;
  const auto& groups = batch.groups;
  const auto rows = groups.rows();
  addresses.resize(rows.size());
  const auto writer = cache_->direct_writer();
  const auto& view = writer.view();
  const bool noted = batch.map_version % 2 == 0 && batch.map_version == cache_->map_version();
  const auto find = [&](IndexRange range, const auto& entry_of) {
    std::size_t late = 0;
    for (auto group = range.begin; group < range.end; ++group) {
      const auto entry = entry_of(group);
      addresses[group] = writer.at(entry, rows[group]);
      late += DirectView::home_bit(entry);
    }
    return late;
  };
  std::array<std::size_t, most_parts> late_of_part{};
  const auto since = std::chrono::steady_clock::now();
  for_each_group(rows.size(), [&](IndexRange range, std::size_t part) {
    const auto noted_entry = [&](std::size_t group) {
      return batch.entries[RowGroups::position_of(groups.occurrences(group).front())];
    };
    const auto entry = [&](std::size_t group) {
      __builtin_prefetch(view.entry_address(rows[std::min(group + entries_ahead, range.end - 1)]));
      return view.entry(rows[group]);
    };
    late_of_part[part] = noted ? find(range, noted_entry) : find(range, entry);
    apply_part(
        groups, range, [&](std::size_t group) { return addresses[group]; }, update, part);
  });
  if (const auto late = std::accumulate(late_of_part.begin(), late_of_part.end(), std::size_t{0});
      late != 0) {
    const auto bytes = late * layout_.row_bytes;
    direct_.fetch_add(late, std::memory_order_relaxed);
    unique_missed_.fetch_add(late, std::memory_order_relaxed);
    direct_bytes_.fetch_add(bytes, std::memory_order_relaxed);
    cache_->slow().charge(Direction::Read, bytes, static_cast<unsigned>(late), since);
    cache_->slow().charge(Direction::Write, bytes, static_cast<unsigned>(late), since);
  }
  count_use(since);
}

template <class F>
void Table::apply(const RowGroups& groups, IndexRange groups_range, const F& row_of, GroupUpdate update) {
  for_each_group(groups_range.end - groups_range.begin, [&](IndexRange range, std::size_t part) {
    apply_part(groups, {groups_range.begin + range.begin, groups_range.begin + range.end}, row_of, update,
               part);
  });
}

template <class F>
void Table::apply_part(const RowGroups& groups, IndexRange range, const F& row_of, GroupUpdate update,
                       std::size_t part) {
  Ahead ahead{row_of, range, layout_.used_row_bytes(), before_arithmetic};
  for (auto group = range.begin; group < range.end; ++group) {
    ahead(group);
    update(row_of(group), groups.occurrences(group), part);
  }
}

/// Calls `use` in parallel, with ranges that tile `count`.
template <class F>
void Table::for_each_group(std::size_t count, const F& use) {
  const auto parts = parts_for(2 * count);  // an update does more for each row than a gather
  if (parts == 1) return use(IndexRange{0, count}, 0);
  context_->arena().parallel_for(parts, [&](std::size_t part) { use(part_of(count, parts, part), part); });
}

void Table::flush() {
  if (is_whole()) return;
  const Resuming resuming{*this};
  const Borrowed borrowed{*this};
  const MutexLock no_update{update_mutex_};
  cache_->flush((*borrowed).session);
}

// Batches and hints.

BatchNumber Table::announce(std::span<const RowId> ids) {
  check_ids(ids);
  if (is_whole() || ids.empty() || is_direct()) return 0;  // no row is fetched or kept for a batch
  Owned record{*this, book_.take()};
  record->groups.build(ids, layout_.rows);
  record->grouped = true;
  record->number = cache_->open_batch();
  if (record->number == 0) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
    return 0;
  }
  cache_->announce(record->number, record->groups.rows());
  record->announced = true;
  const auto number = record->number;
  book_.add(record.release(), ids);
  return number;
}

void Table::settle() noexcept {
  if (!is_whole() && is_direct()) wake();  // so that the uses in the log are reviewed
  context_->settle(*this);
}

void Table::prefetch(BatchNumber batch) {
  if (batch == 0 || is_whole() || is_direct()) return;  // then rows are used in the slow tier
  if (book_.want(batch)) wake();
}

void Table::cancel(BatchNumber batch) noexcept {
  auto* const record = batch == 0 ? nullptr : book_.claim(batch);
  if (record != nullptr) end(record);
}

BatchRecord* Table::open(std::span<const RowId> ids) {
  check_ids(ids);
  if (is_whole()) return book_.take();
  if (auto* const announced = book_.claim(ids)) return announced;
  auto* const record = book_.take();
  record->number = cache_->open_batch();
  return record;
}

void Table::close(BatchRecord* batch) noexcept { end(batch); }

void Table::end(BatchRecord* record) noexcept {
  if (!is_whole()) {
    const auto announced = record->announced ? record->groups.rows() : std::span<const RowId>{};
    // A row that other batches want too was held for only the last of them.
    if (record->announced)
      book_.for_each_prefetched_before(record->number, [&](BatchNumber number, std::span<const RowId> rows) {
        cache_->hold(number, rows, record->number);
      });
    cache_->end_batch(record->number, announced, record->gathered);
  }
  book_.give_back(record);
  if (stalled_.load(std::memory_order_relaxed)) resume();
}

/// Wakes the background to look for work. If there is no background thread, drops the hint and counts it.
void Table::wake() noexcept {
  try {
    if (context_->enqueue(*this)) return;
  } catch (const std::exception&) {  // no memory, or no thread
  }
  dropped_.fetch_add(1, std::memory_order_relaxed);
}

void Table::resume() noexcept {
  stalled_ = false;
  wake();
}

bool Table::work() noexcept {
  if (closing_.load(std::memory_order_relaxed)) return false;
  return is_direct() ? promote_next() : prefetch_next();
}

bool Table::promote_next() noexcept {
  const auto since = thread_time();
  const bool log_was_full = cache_->log_is_full();
  const bool more = cache_->review(admitted_);
  pace_.admit(admitted_.size());
  if (!admitted_.empty()) {
    const MutexLock no_update{update_mutex_};
    cache_->promote(background_session_, admitted_);
  }
  context_->rest_for(pace_.rest_after(thread_time() - since));
  if (!more) pace_.end_log(log_was_full ? cache_->shape().log : 0);
  return more;
}

bool Table::prefetch_next() noexcept {
  auto* const record = book_.begin_prefetch();
  if (record == nullptr) return false;
  bool full = false;
  // Set before the search for room, so that a thread that makes room from now on resumes the prefetch.
  stalled_ = true;
  const auto fetched =
      cache_->prefetch(background_session_, record->number, BatchBook::unfetched(*record), full);
  book_.end_prefetch(record, fetched);
  if (full)
    stalls_.fetch_add(1, std::memory_order_relaxed);
  else
    stalled_ = false;
  return !full;
}

// Takes locks in the order in which calls do. The cache is last, because calls open sessions while they hold the others.
void Table::before_fork() noexcept {
  update_mutex_.lock();
  scratch_mutex_.lock();
  book_.before_fork();
  advisor_.before_fork();
  if (!is_whole()) cache_->before_fork();
}

void Table::after_fork(bool in_child) noexcept {
  if (!is_whole()) cache_->after_fork(in_child);
  advisor_.after_fork();
  book_.after_fork();
  scratch_mutex_.unlock();
  update_mutex_.unlock();
}

// Counting.

void Table::count_unique(BatchRecord& batch) noexcept {
  if (!std::exchange(batch.counted, true))
    unique_.fetch_add(batch.groups.rows().size(), std::memory_order_relaxed);
}

void Table::count_use(std::chrono::steady_clock::time_point since) noexcept {
  context_->count_use(std::chrono::steady_clock::now() - since);
}

void Table::count_wait(std::chrono::steady_clock::time_point since) noexcept {
  const auto ns = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - since).count());
  waited_ns_.fetch_add(ns, std::memory_order_relaxed);
  if (auto* const observer = context_->manager().thread_observer(); observer != nullptr) [[unlikely]]
    observer->on_rows_awaited(name_);
  context_->manager().count_stall(ns);
}

TableStatistics Table::statistics() const {
  auto all = is_whole() ? TableStatistics{} : cache_->statistics();
  all.asked = asked_.load(std::memory_order_relaxed);
  all.updated = updated_.load(std::memory_order_relaxed);
  all.unique = unique_.load(std::memory_order_relaxed);
  all.unique_missed_rows = unique_missed_.load(std::memory_order_relaxed);
  all.waited = waited_.load(std::memory_order_relaxed);
  all.hits = all.asked - std::min(all.asked, all.waited);  // a running gather may be half counted
  const auto direct = direct_.load(std::memory_order_relaxed);
  all.missed_rows += direct;
  all.in_place_rows += direct;
  all.in_place_bytes += direct_bytes_.load(std::memory_order_relaxed);
  all.prefetches_stalled = stalls_.load(std::memory_order_relaxed);
  all.hints_dropped = dropped_.load(std::memory_order_relaxed);
  all.waited_ns = waited_ns_.load(std::memory_order_relaxed);
  return all;
}

void Table::reset_statistics() {
  if (!is_whole()) cache_->reset_statistics();
  for (auto* counter : {&asked_, &updated_, &unique_, &unique_missed_, &waited_, &waited_ns_, &stalls_,
                        &dropped_, &direct_, &direct_bytes_})
    counter->store(0);
  advisor_.reset_counts();
}

void Table::check_invariants() const {
  if (!is_whole()) cache_->check_invariants();
}

}  // namespace

std::unique_ptr<TableCore> TableCore::make(std::shared_ptr<TableContext> context, TableOptions options) {
  return std::make_unique<Table>(std::move(context), std::move(options));
}

}  // namespace tier::detail
