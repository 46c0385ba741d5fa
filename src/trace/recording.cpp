// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/recording.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

#include "trace/live_recordings.hpp"
#include "trace/recording_settings.hpp"

namespace tier::trace {
namespace {

using namespace std::chrono_literals;

/// The table whose rows the thread has waited for, until the manager tells how long.
struct AwaitedRows {
  std::uint64_t id = 0;  // id of the recording's logs
  std::uint32_t table = 0;
};
constinit thread_local AwaitedRows awaited;

}  // namespace

// --- its life --------------------------------------------------------------------------------------------

Recording::Recording(const std::shared_ptr<Manager>& manager, const std::string& path,
                     const RecorderOptions& options)
    : manager_{manager},
      lists_rows_{options.rows},
      process_{::getpid()},
      records_{options.buffers.count},
      writer_{records_, path, manager->began()} {
  writer_.write_settings(settings_of(*manager, options));
  writer_.start(std::clamp<std::chrono::milliseconds>(options.flush_every, 1ms, 24h));
}

Recording::~Recording() { finish(); }

void Recording::begin(Manager& manager) {
  LiveRecordings::instance().add(shared_from_this());
  manager.add_companion(shared_from_this());
  manager.add_observer(*this);
  manager.set_thread_observer(shared_from_this());
}

void Recording::flush() {
  if (!records_.is_off()) writer_.write_all();
}

void Recording::finish() noexcept {
  if (in_child_ || ::getpid() != process_) {  // file and writer thread are the parent's
    writer_.detach();
    return;
  }
  const MutexLock finishing{finishing_};
  if (std::exchange(finished_, true)) return;
  if (const auto manager = manager_.lock()) {
    manager->set_thread_observer(nullptr);
    manager->remove_observer(*this);
  }
  writer_.stop();
  writer_.write_all();
  records_.turn_off();
  writer_.close();
  if (const auto lost = this->lost(); lost > 0)
    std::fprintf(stderr, "libtier: a recording lacks %llu events, for which there was no room or memory\n",
                 static_cast<unsigned long long>(lost));
}

void Recording::after_fork(bool in_child) noexcept {
  if (!in_child) return;
  in_child_ = true;
  records_.off.store(true, std::memory_order_relaxed);
}

// --- what it is told under the manager's lock ------------------------------------------------------------

void Recording::note(Record record, std::initializer_list<std::uint64_t> words) noexcept {
  if (records_.is_off()) return;
  auto* const to = records_.told.begin(static_cast<std::uint32_t>(words.size()), false);
  if (to == nullptr) return records_.lose();
  record.words = to->words;
  record.sequence = records_.next();
  *to = record;
  std::ranges::copy(words, RecordQueue::words_of(to));
  records_.told.commit();
}

void Recording::on_object(const ObjectEvent& event) noexcept {
  if (records_.is_off()) return;
  const auto& object = *event.object.object;
  const auto blocks = object.blocks.empty() ? std::size_t{1} : object.blocks.size();
  auto* const to = records_.told.begin(static_cast<std::uint32_t>(3 + blocks), false);
  if (to == nullptr) return records_.lose();
  to->kind = RecordKind::Object;
  to->x = static_cast<std::uint8_t>(event.change);
  to->y =
      static_cast<std::uint8_t>((event.placed ? placed_object : 0) | (object.grouped ? grouped_object : 0));
  to->name = event.change == ObjectChange::Made ? records_.names.number_of(object.name) : 0;
  to->start = event.time_ns;
  to->sequence = records_.next();
  auto* word = RecordQueue::words_of(to);
  *word++ = object.id;
  *word++ = object.size;
  *word++ = event.alignment;
  if (object.blocks.empty()) *word = object.block->id;
  for (const auto* block : object.blocks) *word++ = block->id;
  records_.told.commit();
}

void Recording::on_placement(const PlacementEvent& event) noexcept {
  note({.kind = RecordKind::Placement, .x = event.tier, .start = event.time_ns}, {event.block});
}

void Recording::on_hint(const HintEvent& event) noexcept {
  note({.kind = RecordKind::Hint, .x = static_cast<std::uint8_t>(event.hint), .start = event.time_ns},
       {event.object, event.block});
}

void Recording::on_migration(const MigrationEvent& event) noexcept {
  const auto cause = static_cast<unsigned>(event.cause) | (event.primary ? became_primary : 0U);
  note({.kind = RecordKind::Migration,
        .x = event.from,
        .y = event.to,
        .z = static_cast<std::uint8_t>(cause),
        .start = event.start_ns,
        .duration = event.duration_ns},
       {event.block, event.bytes.count});
}

void Recording::on_stall(const StallEvent& event) noexcept {
  const auto table = awaited.id == records_.logs.id() ? std::exchange(awaited.table, 0) : 0;
  note({.kind = RecordKind::Stall,
        .x = static_cast<std::uint8_t>(event.cause),
        .name = table != 0 ? table : records_.names.number_of(event.kernel),
        .start = event.start_ns,
        .duration = event.duration_ns},
       {});
}

void Recording::on_fault(const FaultEvent& event) noexcept {
  note({.kind = RecordKind::Fault, .x = event.write, .start = event.time_ns}, {event.block});
}

void Recording::on_step(const StepEvent& event) noexcept {
  note({.kind = RecordKind::Step, .start = event.time_ns}, {});
}

// --- what threads tell -----------------------------------------------------------------------------------

ThreadLog* Recording::find_own_log() noexcept { return OwnLogs::of(records_.logs, weak_from_this()); }

ThreadObserver::Begun Recording::on_scope_begin(std::string_view kernel) noexcept {
  if (records_.is_off()) return {0, 0, 0};
  const auto name = kernel.empty() ? 0 : number_of(kernel, own_log());
  return {records_.next(), writer_.ticks().now(), name};
}

void Recording::on_scope_end(const Begun& begun, std::span<const tier::Operand> operands) noexcept {
  if (begun.sequence == 0 || records_.is_off()) return;
  const auto end = writer_.ticks().now();
  auto* const log = own_log();
  auto* const to =
      log != nullptr ? log->queue.begin(static_cast<std::uint32_t>(2 * operands.size()), true) : nullptr;
  if (to == nullptr) return records_.is_off() ? void() : records_.lose();
  to->kind = RecordKind::Scope;
  to->name = begun.kernel;
  to->thread = log->thread;
  to->sequence = begun.sequence;
  to->start = begun.at;
  to->duration = end;
  auto* word = RecordQueue::words_of(to);
  for (const auto& operand : operands) {
    // Memory that no runtime manages is noted as object 0, which readers leave out.
    *word++ = operand.block != nullptr || operand.advice ? operand.object : 0;
    *word++ = 4 * operand.size + static_cast<std::uint64_t>(operand.use);
  }
  log->queue.commit();
}

void Recording::note_in_thread(Record record, std::string_view name, std::size_t words,
                               auto&& fill) noexcept {
  if (records_.is_off()) return;
  auto* const log = own_log();
  record.name = number_of(name, log);
  auto* const to = log != nullptr ? log->queue.begin(static_cast<std::uint32_t>(words), true) : nullptr;
  if (to == nullptr) return records_.is_off() ? void() : records_.lose();
  record.words = to->words;
  record.thread = log->thread;
  record.sequence = records_.next();
  *to = record;
  fill(RecordQueue::words_of(to));
  log->queue.commit();
}

void Recording::on_rows(const RowUse& use) noexcept {
  const Record record{.kind = RecordKind::Rows, .x = use.updates, .start = writer_.ticks().now()};
  note_in_thread(record, use.table, lists_rows_ ? 3 + use.ids.size() : 1, [&](std::uint64_t* words) {
    *words++ = use.ids.size();
    if (!lists_rows_) return;
    *words++ = use.rows;
    *words++ = use.row_bytes;
    std::ranges::copy(use.ids, words);
  });
}

void Recording::on_rows_moved(const RowTraffic& traffic) noexcept {
  const Record record{.kind = RecordKind::Migration,
                      .x = traffic.from,
                      .y = traffic.to,
                      .z = static_cast<std::uint8_t>(static_cast<unsigned>(traffic.cause) | of_rows),
                      .start = traffic.start_ns,
                      .duration = traffic.duration_ns};
  note_in_thread(record, traffic.table, 2, [&](std::uint64_t* words) {
    words[0] = 0;
    words[1] = traffic.bytes.count;
  });
}

void Recording::on_rows_awaited(std::string_view table) noexcept {
  if (!records_.is_off()) awaited = {records_.logs.id(), number_of(table, own_log())};
}

}  // namespace tier::trace
