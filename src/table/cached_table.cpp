// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table/cached_table.hpp"

#include <exception>
#include <numeric>
#include <utility>

namespace tier::detail {

namespace {

void clear_empty_bags(std::span<const std::uint32_t> offsets, const Output& out) noexcept {
  for (std::size_t bag = 1; bag < offsets.size(); ++bag)
    if (offsets[bag - 1] == offsets[bag]) start_sum(out[bag - 1], out.dim);
}

}  // namespace

/// At its end, wakes a stalled prefetch, since the call that ends may have been what stalled it.
class CachedTable::Resuming {
 public:
  explicit Resuming(CachedTable& table) noexcept : table_{table} {}
  ~Resuming() { table_.resume(); }
  Resuming(const Resuming&) = delete;
  Resuming& operator=(const Resuming&) = delete;

 private:
  CachedTable& table_;
};

CachedTable::CachedTable(TableSetup& setup)
    : TableBase{setup},
      cache_{context().manager(),
             layout(),
             setup.plan.shape,
             std::move(setup.plan.storage),
             std::move(setup.options.policy),
             name()} {
  cache_.reserve(background_session_);
}

void CachedTable::fill(const Initial& initial) {
  cache_.write_all(
      [&](RowId first, RowId count, std::byte* memory) { fill_rows(initial, first, count, memory); });
}

// Gathers and reads.

void CachedTable::gather_rows(const Gather& gather) {
  OwnedBatch announced{gather.batch == nullptr ? book().claim(gather.ids) : nullptr, {this}};
  auto* const batch = gather.batch != nullptr ? gather.batch : announced.get();
  const auto hold = gather.batch != nullptr ? gather.batch->number : 0;
  const Resuming resuming{*this};
  const auto scratch = scratches_.borrow();
  const bool all = cache_.policy_wants_all();  // then every use is decided one by one
  std::size_t missed = 0;
  if (!all) {
    scratch->missed.resize(gather.ids.size() + 1);
    missed = gather_slots(gather, scratch->missed.data());
    if (batch == nullptr || !batch->prefetched) cache_.note_uses(gather.ids, hold);
  }
  if (batch != nullptr) batch->gathered = true;
  if (batch != nullptr && batch->grouped) count_unique(*batch);
  announced.reset();  // before rows are fetched, so that rows no other batch wants can leave
  if (!all && missed == 0) return;
  auto& late = scratch->late;
  if (all) {
    late.list_all(gather.ids, gather.offsets);
    clear_empty_bags(gather.offsets, gather.out);
  } else {
    late.list(gather.ids, gather.offsets, std::span{scratch->missed}.first(missed));
  }
  scratch->session.start(Purpose::Gather, hold, late.rows().size());
  serve(*scratch, gather.out);
}

// Takes rows that are in slots, without a lock.   \return  how many rows, or bags, were missed
std::size_t CachedTable::gather_slots(const Gather& gather, std::uint32_t* missed) {
  const EpochGuard guard{cache_.epochs()};
  return loops().gather(ById<CachedRows>{{cache_.view()}, gather.ids.data()}, gather.ids.size(),
                        gather.offsets, gather.out, missed);
}

void CachedTable::serve(Scratch& scratch, const Output& out) {
  auto& session = scratch.session;
  const auto& late = scratch.late;
  const auto since = std::chrono::steady_clock::now();
  use_rows(session, late.rows(), scratch.addresses,
           [&](std::size_t first, std::span<const RowAddress> addresses) {
             late.deliver(first, addresses, out, loops());
           });
  TableCounters::add(counters().waited, session.waited);
  TableCounters::add(counters().unique_missed_rows, session.missed.size());
  if (session.waited != 0) count_wait(since);
}

template <class F>
void CachedTable::use_rows(RowSession& session, std::span<const RowId> rows,
                           std::vector<RowAddress>& addresses, const F& use) {
  addresses.resize(rows.size());
  for (std::size_t done = 0; done < rows.size();) {
    const auto left = std::span{addresses}.subspan(done);
    const auto got = cache_.acquire(session, rows.subspan(done), left);
    use(done, left.first(got));
    cache_.release(session);
    done += got;
  }
}

void CachedTable::read_rows(RowId first, std::size_t count, const PartCopy& copy) {
  const Resuming resuming{*this};
  const auto scratch = scratches_.borrow();
  scratch->session.start(Purpose::Peek, 0, 0);
  scratch->rows.resize(count);
  std::iota(scratch->rows.begin(), scratch->rows.end(), first);
  use_rows(scratch->session, scratch->rows, scratch->addresses,
           [&](std::size_t begin, std::span<const RowAddress> addresses) {
             for (std::size_t i = 0; i < addresses.size(); ++i) copy(begin + i, addresses[i]);
           });
}

// Updates.

void CachedTable::change(std::span<const RowId> ids, BatchRecord& batch, GroupUpdate update) {
  const Resuming resuming{*this};
  TableBase::change(ids, batch, update);
}

void CachedTable::change_rows(BatchRecord& batch, GroupUpdate update) {
  const auto scratch = scratches_.borrow();
  const auto rows = batch.groups.rows();
  auto& session = scratch->session;
  auto& addresses = scratch->addresses;
  session.start(Purpose::Update, batch.number, rows.size());
  addresses.resize(rows.size());
  for (std::size_t done = 0; done < rows.size();) {
    const auto since = std::chrono::steady_clock::now();
    const auto got = cache_.acquire(session, rows.subspan(done), std::span{addresses}.subspan(done));
    if (session.waited != 0) count_wait(since);
    loops().change(
        batch.groups, {done, done + got}, [&](std::size_t group) { return addresses[group]; }, update);
    cache_.release(session);
    done += got;
  }
  TableCounters::add(counters().unique_missed_rows, session.missed.size());
}

void CachedTable::flush() {
  const Resuming resuming{*this};
  const auto scratch = scratches_.borrow();
  const MutexLock no_update{update_mutex()};
  cache_.flush(scratch->session);
}

// Batches and hints.

BatchNumber CachedTable::announce(std::span<const RowId> ids) {
  check_ids(ids);
  if (ids.empty()) return 0;
  OwnedBatch batch{book().take(), {this}};
  batch->groups.build(ids, layout().rows);
  batch->grouped = true;
  batch->number = cache_.open_batch();
  if (batch->number == 0) {
    TableCounters::add(counters().hints_dropped, 1);
    return 0;
  }
  cache_.announce(batch->number, batch->groups.rows());
  batch->announced = true;
  const auto number = batch->number;
  book().add(batch.release(), ids);
  return number;
}

void CachedTable::prefetch(BatchNumber batch) {
  if (batch != 0 && book().want(batch)) wake();
}

void CachedTable::cancel(BatchNumber batch) noexcept {
  auto* const record = batch == 0 ? nullptr : book().claim(batch);
  if (record != nullptr) close(record);
}

BatchRecord* CachedTable::open(std::span<const RowId> ids) {
  check_ids(ids);
  if (auto* const announced = book().claim(ids)) return announced;
  auto* const record = book().take();
  record->number = cache_.open_batch();
  return record;
}

void CachedTable::close(BatchRecord* batch) noexcept {
  const auto announced = batch->announced ? batch->groups.rows() : std::span<const RowId>{};
  // A row that other batches want too was held for only the last of them.
  if (batch->announced)
    book().for_each_prefetched_before(batch->number, [&](BatchNumber number, std::span<const RowId> rows) {
      cache_.hold(number, rows, batch->number);
    });
  cache_.end_batch(batch->number, announced, batch->gathered);
  book().give_back(batch);
  resume();
}

// The background.

void CachedTable::wake() noexcept {
  try {
    if (context().enqueue(*this)) return;
  } catch (const std::exception&) {  // no memory, or no thread
  }
  TableCounters::add(counters().hints_dropped, 1);
}

void CachedTable::resume() noexcept {
  if (!stalled_.load(std::memory_order_relaxed)) return;
  stalled_ = false;
  wake();
}

// Prefetches the next rows.
bool CachedTable::work() noexcept {
  auto* const batch = book().begin_prefetch();
  if (batch == nullptr) return false;
  bool full = false;
  // Set before the search for room, so that a thread that makes room from now on resumes the prefetch.
  stalled_ = true;
  const auto fetched =
      cache_.prefetch(background_session_, batch->number, BatchBook::unfetched(*batch), full);
  book().end_prefetch(batch, fetched);
  if (full)
    TableCounters::add(counters().prefetches_stalled, 1);
  else
    stalled_ = false;
  return !full;
}

// The cache is last, because calls open sessions while they hold the other locks.
void CachedTable::before_fork() noexcept {
  TableBase::before_fork();
  scratches_.before_fork();
  cache_.before_fork();
}

void CachedTable::after_fork(bool in_child) noexcept {
  cache_.after_fork(in_child);
  scratches_.after_fork();
  TableBase::after_fork(in_child);
}

// Counting.

void CachedTable::count_wait(std::chrono::steady_clock::time_point since) noexcept {
  const auto ns = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - since).count());
  TableCounters::add(counters().waited_ns, ns);
  auto& manager = context().manager();
  if (auto* const observer = manager.thread_observer(); observer != nullptr) [[unlikely]]
    observer->on_rows_awaited(name());
  manager.count_stall(ns);
}

TableStatistics CachedTable::statistics() const {
  auto all = cache_.statistics();
  all += TableBase::statistics();
  return all;
}

void CachedTable::reset_statistics() {
  cache_.reset_statistics();
  TableBase::reset_statistics();
}

}  // namespace tier::detail
