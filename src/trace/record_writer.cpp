// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/record_writer.hpp"

#include <array>
#include <new>
#include <span>

#include "core/own_thread.hpp"
#include "trace/binary_form.hpp"

namespace tier::trace {

RecordWriter::RecordWriter(UnwrittenRecords& records, const std::string& path,
                           std::chrono::steady_clock::time_point began)
    : records_{records}, ticks_{began}, file_{path} {}

void RecordWriter::write_settings(const RecordingSettings& all) {
  const MutexLock lock{writing_};
  for (const auto& tier : all.tiers) block_.add_text(RecordKind::Tier, tier);
  for (const auto& [key, value] : all.settings) block_.add_setting(key, value);
  file_.write(binary_header(Content::Recording));
  write_block();
}

void RecordWriter::start(std::chrono::milliseconds flush_every) {
  thread_ = tier::detail::own_thread([this, flush_every] { run(flush_every); });
}

void RecordWriter::run(std::chrono::milliseconds flush_every) noexcept {
  while (!stop_.load(std::memory_order_relaxed)) {
    records_.pool.wait_for_work(std::chrono::steady_clock::now() + flush_every);
    write_all();
  }
}

void RecordWriter::stop() noexcept {
  stop_.store(true, std::memory_order_relaxed);
  records_.pool.wake();
  if (thread_.joinable()) thread_.join();
}

/// Threads' records name objects that were told earlier under the manager's lock. So the threads' queues are marked first
/// and written last: wherever the file is cut off, it names nothing that is missing from it.
void RecordWriter::write_all() noexcept {
  const MutexLock lock{writing_};
  records_.logs.for_each([](ThreadLog& log) { log.queue.mark(); });
  records_.told.mark();
  try {
    ticks_.compare();  // times of earlier records are then exact, and in order
    add_lost();
  } catch (const std::bad_alloc&) {  // tried again the next time
  }
  const auto add = [&](const Record& record, std::span<const std::uint64_t> words)
                       TIER_NO_THREAD_SAFETY_ANALYSIS {
                         try {
                           block_.add(record, words, ticks_);
                           ++written_;
                         } catch (const std::bad_alloc&) {
                           records_.lose();
                         }
                         if (block_.size() >= usual_block) write_block();
                       };
  records_.told.take(add);
  records_.logs.for_each([&](ThreadLog& log) { log.queue.take(add); });
  if (block_.size() > 0) write_block();
}

void RecordWriter::add_lost() {
  const auto lost = records_.lost.load(std::memory_order_relaxed);
  const auto names = records_.names.lost();
  if (lost == written_lost_ && names == written_lost_names_) return;
  Record record;
  record.kind = RecordKind::Lost;
  const std::array words{lost - written_lost_, names - written_lost_names_};
  block_.add(record, words, ticks_);
  written_lost_ = lost;
  written_lost_names_ = names;
}

/// Writes the block, with the names that its records may use before them.
void RecordWriter::write_block() noexcept {
  try {
    add_new_names();
    const auto payload = block_.take();
    file_.write(block_header(payload) + payload);
  } catch (const std::bad_alloc&) {
    file_.fail("no memory");
  }
  if (!file_.failed()) return;
  failed_.store(true, std::memory_order_relaxed);
  records_.turn_off();
}

void RecordWriter::add_new_names() {
  records_.names.for_each_new(written_names_, [&](const std::string& name) TIER_NO_THREAD_SAFETY_ANALYSIS {
    block_.add_text(RecordKind::Name, name);
  });
}

void RecordWriter::close() noexcept {
  const MutexLock lock{writing_};
  write_end();
  file_.close();
}

void RecordWriter::write_end() noexcept try {
  Record end;
  end.kind = RecordKind::End;
  const std::array words{written_};
  block_.add(end, words, ticks_);
  write_block();
} catch (const std::bad_alloc&) {  // the file then lacks its end, which readers report
}

}  // namespace tier::trace
