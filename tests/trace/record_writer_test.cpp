// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/record_writer.hpp"
#include "support/eventually.hpp"
#include "support/temporary_directory.hpp"

#include <tier/manager/observer.hpp>
#include <tier/trace/binary.hpp>
#include <tier/trace/files.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <initializer_list>
#include <string>

namespace tier::record_writer_test {

using namespace tier::trace;
using tier::test::eventually;
using tier::test::TemporaryDirectory;

namespace {

constexpr std::uint64_t object = 7, size = 64;

struct Rig {
  void note(RecordQueue& queue, RecordKind kind, std::uint32_t thread, std::uint64_t sequence,
            std::initializer_list<std::uint64_t> words) {
    auto* const record = queue.begin(static_cast<std::uint32_t>(words.size()), false);
    REQUIRE(record != nullptr);
    record->kind = kind;
    record->name = thread != 0 ? records.names.number_of("step") : 0;
    record->thread = thread;
    record->sequence = sequence;
    if (kind == RecordKind::Scope) record->start = record->duration = writer.ticks().now();
    std::ranges::copy(words, RecordQueue::words_of(record));
    queue.commit();
  }
  void make_object() { note(records.told, RecordKind::Object, 0, records.next(), {object, size, 64, 1}); }
  void use_object(ThreadLog& log) {
    constexpr std::uint64_t update = 4 * size + static_cast<std::uint64_t>(tier::Use::Update);
    note(log.queue, RecordKind::Scope, log.thread, records.next(), {object, update});
  }
  [[nodiscard]] Trace read() const { return read_file(path); }

  TemporaryDirectory directory;
  std::string path = directory.path() + "/recording.tt";
  UnwrittenRecords records{1 << 20};
  RecordWriter writer{records, path, std::chrono::steady_clock::now()};
};

}  // namespace

TEST_CASE("what threads have noted is in the file with its names, after what it needs of the manager's") {
  Rig rig;
  auto& log = *rig.records.logs.take();
  rig.writer.write_settings({{"dram"}, {{"policy", "lru"}}});
  rig.make_object();
  rig.use_object(log);
  rig.writer.write_all();
  {
    const auto trace = rig.read();
    CHECK(trace.header(unfinished_key));
    REQUIRE(trace.kernels().size() == 1);
    CHECK(trace.name(trace.kernels()[0].op) == "step");
    REQUIRE(trace.tensors().size() == 1);
    CHECK(trace.tensors()[0].id == object);
  }
  rig.use_object(log);
  rig.writer.write_all();
  rig.writer.close();
  const auto trace = rig.read();
  CHECK_FALSE(trace.header(unfinished_key));
  CHECK(trace.kernels().size() == 2);
}

TEST_CASE("the file tells how many records were lost") {
  Rig rig;
  rig.writer.write_settings({{"dram"}, {}});
  rig.records.lose();
  rig.writer.write_all();
  rig.records.lose();
  rig.records.lose();
  rig.writer.write_all();
  rig.writer.close();
  CHECK(rig.read().header(lost_key) == "3");
}

TEST_CASE("the writer's thread writes without being asked, and ends") {
  Rig rig;
  rig.writer.write_settings({{"dram"}, {}});
  rig.make_object();
  rig.writer.start(std::chrono::milliseconds{1});
  CHECK(eventually([&] { return !rig.read().tensors().empty(); }));
  rig.writer.stop();
  rig.writer.close();
  CHECK_FALSE(rig.writer.failed());
}

}  // namespace tier::record_writer_test
