// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/recording.hpp"

#include <unistd.h>
#include <tier/core/error.hpp>
#include <tier/core/spec_text.hpp>
#include <tier/trace/names.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>

#include "core/own_thread.hpp"
#include "trace/binary_form.hpp"
#include "trace/characters.hpp"

namespace tier::trace {
namespace {

using namespace std::chrono_literals;

std::atomic<std::uint64_t> recordings{0};

/// The table whose rows the thread has waited for, until the manager tells how long.
struct AwaitedRows {
  std::uint64_t id = 0;  // id of the recording
  std::uint32_t table = 0;
};
constinit thread_local AwaitedRows awaited;

std::string text_of(double number) {
  std::array<char, 32> digits{};
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr};
}

/// Returns the tiers' names as in a spec; the second of two equal names is `dram#2`.
std::vector<std::string> tier_names(Manager& manager) {
  std::vector<std::string> names;
  std::map<std::string, int> seen;
  for (std::size_t t = 0; t < manager.tier_count(); ++t) {
    const auto name = tier_in_lines(manager.tier(static_cast<TierIndex>(t)).name());
    const int count = ++seen[name];
    names.push_back(count == 1 ? name : name + "#" + std::to_string(count));
  }
  return names;
}

std::string spec_of(Manager& manager) {
  std::string spec;
  for (std::size_t t = 0; t < manager.tier_count(); ++t) {
    const auto& tier = manager.tier(static_cast<TierIndex>(t));
    if (t > 0) spec += ';';
    spec.append(tier.name());
    if (!tier.path().empty()) spec.append(":").append(tier::detail::escaped(tier.path(), ":;"));
    spec.append(":").append(to_string(tier.capacity()));
  }
  return spec;
}

/// Keeps all unfinished recordings, and finishes them at the end of the process.
class LiveRecordings {
 public:
  static LiveRecordings& instance() {
    static auto* const live = new LiveRecordings;
    return *live;
  }
  void add(const std::shared_ptr<Recording>& recording) {
    const MutexLock lock{mutex_};
    std::erase_if(all_, [](const auto& one) { return one.expired(); });
    all_.push_back(recording);
    process_ = ::getpid();
  }

 private:
  LiveRecordings() {
    std::atexit([] { instance().finish(); });
  }
  void finish() noexcept {
    if (::getpid() != process_)
      return;  // a forked child has none, and a thread that it lacks may hold the lock
    std::vector<std::weak_ptr<Recording>> all;
    {
      const MutexLock lock{mutex_};
      all.swap(all_);
    }
    for (const auto& one : all)
      if (const auto recording = one.lock()) recording->finish();
  }

  Mutex mutex_;
  std::vector<std::weak_ptr<Recording>> all_ TIER_GUARDED_BY(mutex_);
  std::atomic<int> process_{0};
};

}  // namespace

/// Keeps the logs that a thread fills, one per recording, and gives them back when the thread ends.
class ThreadLogs {
 public:
  ThreadLogs() = default;
  ThreadLogs(const ThreadLogs&) = delete;
  ThreadLogs& operator=(const ThreadLogs&) = delete;
  ~ThreadLogs() {
    ended = true;
    last = {};
    for (auto& mine : all_)
      if (const auto recording = mine.recording.lock())
        mine.log->taken.store(false, std::memory_order_release);
  }

  /// Returns the calling thread's log; null without memory, or if the thread is at its very end.
  static ThreadLog* of(Recording& recording) noexcept {
    if (last.id == recording.id_) [[likely]]
      return last.log;
    if (ended) return nullptr;
    thread_local ThreadLogs mine;
    return mine.find(recording);
  }

 private:
  struct Mine {
    std::weak_ptr<Recording> recording;
    std::uint64_t id = 0;
    ThreadLog* log = nullptr;
  };
  struct Last {
    std::uint64_t id = 0;
    ThreadLog* log = nullptr;
  };

  ThreadLog* find(Recording& recording) noexcept try {
    auto found = std::ranges::find(all_, recording.id_, &Mine::id);
    if (found == all_.end()) {
      last = {};
      std::erase_if(all_, [](const Mine& mine) { return mine.recording.expired(); });
      all_.reserve(all_.size() + 1);
      auto* const log = recording.take_log();
      if (log == nullptr) return nullptr;
      found = all_.insert(all_.end(), {recording.weak_from_this(), recording.id_, log});
    }
    last = {recording.id_, found->log};
    return found->log;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }

  static constinit thread_local Last last;
  static constinit thread_local bool ended;
  std::vector<Mine> all_;
};

constinit thread_local ThreadLogs::Last ThreadLogs::last{};
constinit thread_local bool ThreadLogs::ended = false;

// --- its life --------------------------------------------------------------------------------------------

Recording::Recording(const std::shared_ptr<Manager>& manager, const std::string& path,
                     const RecorderOptions& options)
    : id_{++recordings},
      manager_{manager},
      flush_every_{std::clamp<std::chrono::milliseconds>(options.flush_every, 1ms, 24h)},
      lists_rows_{options.rows},
      process_{::getpid()},
      pool_{options.buffers.count},
      file_{path},
      ticks_{manager->began()} {
  write_settings(*manager, options);
  writer_ = tier::detail::own_thread([this] { run(); });
}

Recording::~Recording() { finish(); }

void Recording::begin(Manager& manager) {
  LiveRecordings::instance().add(shared_from_this());
  manager.add_companion(shared_from_this());
  manager.add_observer(*this);
  manager.set_thread_observer(shared_from_this());
}

/// Writes the settings, so that a crash before the first flush leaves a file that tells what it would have been.
void Recording::write_settings(Manager& manager, const RecorderOptions& options) {
  const MutexLock lock{writing_};
  const auto names = tier_names(manager);
  for (const auto& name : names) block_.add_text(RecordKind::Tier, name);
  block_.add_setting("tiers", as_last_text(spec_of(manager)));
  if (!options.policy.empty()) block_.add_setting("policy", as_last_text(options.policy));
  for (std::size_t t = 0; t < names.size(); ++t) {
    const auto& model = manager.tier(static_cast<TierIndex>(t)).model();
    block_.add_setting("model." + names[t], text_of(model.read_bytes_per_second) + "," +
                                                text_of(model.write_bytes_per_second) + "," +
                                                std::to_string(model.latency.count()) + "," +
                                                std::to_string(model.parallelism));
  }
  block_.add_setting("overlap", options.asynchronous ? "async" : "sync");
  block_.add_setting("clock", "steady");
  file_.write(binary_header(Content::Recording));
  write_block();
}

void Recording::flush() {
  if (!is_off()) write_all();
}

void Recording::finish() noexcept {
  if (in_child_ || ::getpid() != process_) {  // file and writer thread are the parent's
    if (writer_.joinable()) writer_.detach();
    return;
  }
  const MutexLock finishing{finishing_};
  if (std::exchange(finished_, true)) return;
  if (const auto manager = manager_.lock()) {
    manager->set_thread_observer(nullptr);
    manager->remove_observer(*this);
  }
  stop_.store(true, std::memory_order_relaxed);
  pool_.wake();
  if (writer_.joinable()) writer_.join();
  write_all();
  off_.store(true, std::memory_order_relaxed);
  pool_.end();
  const MutexLock lock{writing_};
  write_end();
  file_.close();
  if (const auto lost = lost_.load(std::memory_order_relaxed); lost > 0)
    std::fprintf(stderr, "libtier: a recording lacks %llu events, for which there was no room or memory\n",
                 static_cast<unsigned long long>(lost));
}

void Recording::write_end() noexcept try {
  Record end;
  end.kind = RecordKind::End;
  const std::array words{records_};
  block_.add(end, words, ticks_);
  write_block();
} catch (const std::bad_alloc&) {  // the file then lacks its end, which readers report
}

void Recording::after_fork(bool in_child) noexcept {
  if (!in_child) return;
  in_child_ = true;
  off_.store(true, std::memory_order_relaxed);
}

// --- what it is told under the manager's lock ------------------------------------------------------------

void Recording::note(Record record, std::initializer_list<std::uint64_t> words) noexcept {
  if (is_off()) return;
  auto* const to = told_.begin(static_cast<std::uint32_t>(words.size()), false);
  if (to == nullptr) return lose();
  record.words = to->words;
  record.sequence = next();
  *to = record;
  std::ranges::copy(words, RecordQueue::words_of(to));
  told_.commit();
}

void Recording::on_object(const ObjectEvent& event) noexcept {
  if (is_off()) return;
  const auto& object = *event.object.object;
  const auto blocks = object.blocks.empty() ? std::size_t{1} : object.blocks.size();
  auto* const to = told_.begin(static_cast<std::uint32_t>(3 + blocks), false);
  if (to == nullptr) return lose();
  to->kind = RecordKind::Object;
  to->x = static_cast<std::uint8_t>(event.change);
  to->y =
      static_cast<std::uint8_t>((event.placed ? placed_object : 0) | (object.grouped ? grouped_object : 0));
  to->name = event.change == ObjectChange::Made ? name_of(object.name) : 0;
  to->start = event.time_ns;
  to->sequence = next();
  auto* word = RecordQueue::words_of(to);
  *word++ = object.id;
  *word++ = object.size;
  *word++ = event.alignment;
  if (object.blocks.empty()) *word = object.block->id;
  for (const auto* block : object.blocks) *word++ = block->id;
  told_.commit();
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
  const auto table = awaited.id == id_ ? std::exchange(awaited.table, 0) : 0;
  note({.kind = RecordKind::Stall,
        .x = static_cast<std::uint8_t>(event.cause),
        .name = table != 0 ? table : name_of(event.kernel),
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

ThreadLog* Recording::own_log() noexcept { return ThreadLogs::of(*this); }

ThreadLog* Recording::take_log() noexcept try {
  const MutexLock lock{naming_};
  for (const auto& log : logs_)
    if (!log->taken.exchange(true, std::memory_order_acq_rel)) {
      log->thread = ++threads_;
      return log.get();
    }
  logs_.push_back(std::make_unique<ThreadLog>(pool_));
  logs_.back()->thread = ++threads_;
  return logs_.back().get();
} catch (const std::bad_alloc&) {
  return nullptr;
}

ThreadObserver::Begun Recording::on_scope_begin(std::string_view kernel) noexcept {
  if (is_off()) return {0, 0, 0};
  const auto name = kernel.empty() ? 0 : own_name(own_log(), kernel);
  return {next(), ticks_.now(), name};
}

void Recording::on_scope_end(const Begun& begun, std::span<const tier::Operand> operands) noexcept {
  if (begun.sequence == 0 || is_off()) return;
  const auto end = ticks_.now();
  auto* const log = own_log();
  auto* const to =
      log != nullptr ? log->queue.begin(static_cast<std::uint32_t>(2 * operands.size()), true) : nullptr;
  if (to == nullptr) return is_off() ? void() : lose();
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
  if (is_off()) return;
  auto* const log = own_log();
  record.name = own_name(log, name);
  auto* const to = log != nullptr ? log->queue.begin(static_cast<std::uint32_t>(words), true) : nullptr;
  if (to == nullptr) return is_off() ? void() : lose();
  record.words = to->words;
  record.thread = log->thread;
  record.sequence = next();
  *to = record;
  fill(RecordQueue::words_of(to));
  log->queue.commit();
}

void Recording::on_rows(const RowUse& use) noexcept {
  const Record record{.kind = RecordKind::Rows, .x = use.updates, .start = ticks_.now()};
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
  if (!is_off()) awaited = {id_, own_name(own_log(), table)};
}

/// Returns a name's number. Names come from few places, mostly literals, so the last ones are found without a lock.
std::uint32_t Recording::own_name(ThreadLog* log, std::string_view text) noexcept {
  if (log == nullptr) return name_of(text);
  const auto address = reinterpret_cast<std::uintptr_t>(text.data());
  auto& known = log->names[(address ^ (address >> 6) ^ text.size()) % ThreadLog::known_names];
  if (known.text == text) [[likely]]
    return known.name;
  try {
    known.name = 0;
    known.text.assign(text);
  } catch (const std::bad_alloc&) {
    known.text.clear();
  }
  const auto name = name_of(text);
  if (name == 0) known.text.clear();  // tried again the next time
  if (!known.text.empty()) known.name = name;
  return name;
}

std::uint32_t Recording::name_of(std::string_view text) noexcept try {
  constexpr std::size_t most = std::size_t{64} << 20;  // bytes of all names; further ones are lost
  if (text.empty()) return 0;
  const MutexLock lock{naming_};
  std::string key{text};
  const auto found = names_.find(key);
  if (found != names_.end()) return found->second;
  if (text_bytes_ + text.size() > most) throw std::bad_alloc{};
  texts_.reserve(texts_.size() + 1 > texts_.capacity() ? 2 * texts_.size() + 16 : texts_.capacity());
  const auto added = names_.emplace(std::move(key), static_cast<std::uint32_t>(texts_.size() + 1)).first;
  texts_.push_back(&added->first);
  text_bytes_ += text.size();
  return added->second;
} catch (const std::bad_alloc&) {
  lost_names_.fetch_add(1, std::memory_order_relaxed);
  return 0;
}

// --- the writer ------------------------------------------------------------------------------------------

void Recording::run() noexcept {
  while (!stop_.load(std::memory_order_relaxed)) {
    pool_.wait_for_work(std::chrono::steady_clock::now() + flush_every_);
    write_all();
  }
}

/// Threads' records name objects that were told earlier under the manager's lock. So the threads' queues are marked first
/// and written last: wherever the file is cut off, it names nothing that is missing from it.
void Recording::write_all() noexcept {
  const MutexLock lock{writing_};
  for_each_log([](ThreadLog& log) { log.queue.mark(); });
  told_.mark();
  try {
    ticks_.compare();  // times of earlier records are then exact, and in order
    add_lost();
  } catch (const std::bad_alloc&) {  // tried again the next time
  }
  const auto add = [&](const Record& record, std::span<const std::uint64_t> words)
                       TIER_NO_THREAD_SAFETY_ANALYSIS {
                         try {
                           block_.add(record, words, ticks_);
                           ++records_;
                         } catch (const std::bad_alloc&) {
                           lose();
                         }
                         if (block_.size() >= usual_block) write_block();
                       };
  told_.take(add);
  for_each_log([&](ThreadLog& log) { log.queue.take(add); });
  if (block_.size() > 0) write_block();
}

/// Calls `use` without holding the lock on the logs, because writing records also writes names.
void Recording::for_each_log(auto&& use) noexcept {
  for (std::size_t i = 0;; ++i) {
    ThreadLog* log = nullptr;
    {
      const MutexLock naming{naming_};
      if (i < logs_.size()) log = logs_[i].get();
    }
    if (log == nullptr) return;
    use(*log);
  }
}

void Recording::add_lost() {
  const auto lost = lost_.load(std::memory_order_relaxed);
  const auto names = lost_names_.load(std::memory_order_relaxed);
  if (lost == written_lost_ && names == written_lost_names_) return;
  Record record;
  record.kind = RecordKind::Lost;
  const std::array words{lost - written_lost_, names - written_lost_names_};
  block_.add(record, words, ticks_);
  written_lost_ = lost;
  written_lost_names_ = names;
}

/// Writes the block, with the names that its records may use before them.
void Recording::write_block() noexcept {
  try {
    add_new_names();
    const auto payload = block_.take();
    file_.write(block_header(payload) + payload);
  } catch (const std::bad_alloc&) {
    file_.fail("no memory");
  }
  if (file_.failed()) turn_off();
}

void Recording::turn_off() noexcept {
  failed_.store(true, std::memory_order_relaxed);
  off_.store(true, std::memory_order_relaxed);
  pool_.end();
}

void Recording::add_new_names() {
  const MutexLock lock{naming_};
  for (; written_names_ < texts_.size(); ++written_names_)
    block_.add_text(RecordKind::Name, *texts_[written_names_]);
}

// --- for users -------------------------------------------------------------------------------------------

Recorder::Recorder(const std::shared_ptr<Manager>& manager, const std::string& path,
                   const RecorderOptions& options) {
  if (manager->thread_observer() != nullptr) throw ConfigError{"the runtime is recorded already"};
  recording_ = std::make_shared<Recording>(manager, path, options);
  recording_->begin(*manager);
}

Recorder::~Recorder() {
  if (recording_ != nullptr) recording_->finish();
}

void Recorder::flush() { recording_->flush(); }
void Recorder::finish() noexcept { recording_->finish(); }
std::uint64_t Recorder::lost() const noexcept { return recording_->lost(); }
bool Recorder::failed() const noexcept { return recording_->failed(); }

}  // namespace tier::trace
