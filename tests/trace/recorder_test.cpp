// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Recordings of running programs: their contents, and what is left of them after a crash.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <tier/memory/spec.hpp>
#include <tier/runtime/policies.hpp>
#include <tier/runtime/row_policies.hpp>
#include <tier/runtime/runtime.hpp>
#include <tier/scope/scope.hpp>
#include <tier/table/row_table.hpp>
#include <tier/tensor/tensor.hpp>
#include <tier/trace/binary.hpp>
#include <tier/trace/files.hpp>
#include <tier/trace/recorder.hpp>
#include <tier/trace/summary.hpp>
#include <tier/trace/tables.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <fstream>
#include <latch>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "binaries.hpp"
#include "support/child.hpp"
#include "support/memory_tier.hpp"
#include "support/message_of.hpp"
#include "support/sanitized.hpp"
#include "support/seed.hpp"
#include "support/temporary_directory.hpp"
#include "texts.hpp"

namespace tier::recorder_test {

using tier::test::run_in_child;
using tier::test::TemporaryDirectory;
using tier::trace::Event, tier::trace::EventKind, tier::trace::Kernel, tier::trace::lost_key,
    tier::trace::read_file, tier::trace::Recorder, tier::trace::Trace, tier::trace::unfinished_key;

namespace {

RuntimeOptions two_tiers(const std::string& trace, unsigned movers = 0) {
  RuntimeOptions options;
  options.tiers = {tiers::dram(1_MiB), tiers::file("/var/tmp", 16_MiB)};
  options.policy = "lru";
  options.threads = 1;
  options.yields = false;
  options.movers = movers;
  options.trace = trace;
  return options;
}
const Shape large{96, 1024};  // 384 KiB of floats: fast memory holds two

void overwrite(Tensor<float>& tensor, std::string_view kernel = "fill") {
  KernelScope k{kernel, overwrites(tensor)};
  std::ranges::fill(k.out(tensor).elements(), 1.0F);
}
void add(const Tensor<float>& from, Tensor<float>& to) {
  KernelScope k{"add", reads(from), updates(to)};
  k.out(to).data()[0] += k.in(from).data()[0];
}

using Moved = std::map<std::tuple<std::string, std::string, std::string>, std::uint64_t>;
/// Returns bytes moved, by tiers and cause.
Moved moved_in(const Statistics& statistics) {
  Moved all;
  for (const auto& m : statistics.moved)
    if (m.bytes > 0)
      all[{statistics.tiers[m.from].name, statistics.tiers[m.to].name, std::string{to_string(m.cause)}}] +=
          m.bytes;
  return all;
}
Moved moved_in(const Trace& trace) {
  Moved all;
  for (const auto event : trace.events()) {
    if (event.kind != EventKind::Migration) continue;
    const auto& m = trace.migration(event);
    if (m.size.count > 0)
      all[{std::string{trace.name(m.from)}, std::string{trace.name(m.to)},
           std::string{to_string(static_cast<tier::Cause>(m.cause))}}] += m.size.count;
  }
  return all;
}

/// Returns the lines of a trace, without the configuration and without numbers that differ from run to run.
std::vector<std::string> shape_of(const Trace& trace) {
  std::istringstream in{test::written(trace)};
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    if (line.front() == 'H' || line.front() == 'c' || line.front() == 's') continue;
    std::istringstream fields{line};
    std::vector<std::string> parts;
    for (std::string part; fields >> part;) parts.push_back(part);
    std::vector<std::size_t> varies{};
    if (line.front() == 'k') varies = {1, 2, 3};
    if (line.front() == 'm') varies = {1, 7, 8};
    if (line.front() == 'a') varies = {1, 5};
    if (line.front() == 'h') varies = {1, 4};
    if (line.front() == 'g' || line.front() == 'u') varies = {1, 4};
    if (line.front() == 'f') varies = {1, 3};
    for (const auto i : varies) parts.at(i) = "#";
    std::string text;
    for (const auto& part : parts) text += (text.empty() ? "" : " ") + part;
    lines.push_back(text);
  }
  return lines;
}

std::uint64_t count(const Trace& trace, EventKind kind) {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(trace.events(), [&](Event e) { return e.kind == kind; }));
}
/// Returns the ends of blocks; the first is the end of the header.
std::vector<std::size_t> ends_of_blocks(const std::string& bytes) {
  std::vector<std::size_t> ends{trace::binary_header_size};
  while (ends.back() < bytes.size()) {
    trace::Payload header{std::string_view{bytes}.substr(ends.back())};
    const auto length = header.fixed(4);
    ends.push_back(ends.back() + trace::block_header_size + length);
  }
  return ends;
}
bool is_unfinished(const Trace& trace) { return trace.header(unfinished_key).has_value(); }

std::string setting(const Trace& trace, std::string_view key) {
  for (const auto event : trace.events())
    if (event.kind == EventKind::Setting && trace.name(trace.setting(event).key) == key)
      return std::string{trace.name(trace.setting(event).value)};
  return "none";
}

}  // namespace

TEST_CASE("what a program did to its objects is in its recording, event by event") {
  const TemporaryDirectory directory;
  const auto path = directory.path() + "/run.tt";
  {
    Runtime runtime{two_tiers(path)};
    std::optional<Tensor<float>> x{std::in_place, runtime, large, "x"};
    Tensor<float> w{runtime, large, "the weights"}, y{runtime, large, "y"};
    overwrite(*x);
    { const WriteScope all{w}; }
    will_read(*x);
    overwrite(y, "a kernel");  // evicts x
    archive(w);
    add(*x, y);
    retire(*x);
    runtime.end_of_step();
    overwrite(*x);
    add(*x, w);
    x.reset();
    runtime.end_of_step();
  }
  const auto trace = read_file(path);
  CHECK_FALSE(is_unfinished(trace));
  CHECK(trace.header("recorded") == "1");
  CHECK(setting(trace, "tiers") == "dram:1MiB;file:/var/tmp:16MiB");
  CHECK(setting(trace, "policy") == "lru");
  CHECK(setting(trace, "model.dram") == "3.4e+10,3.4e+10,90,32");
  CHECK(setting(trace, "overlap") == "sync");
  CHECK(setting(trace, "clock") == "steady");
  std::string text;
  for (const auto& line : shape_of(trace)) text += line + "\n";
  CHECK(text ==
        "T 1 393216 a x\n"
        "a # 1 dram 64 #\n"
        "T 2 393216 p the weights\n"
        "a # 2 dram 64 #\n"
        "m # 1 dram file 0 evict # #\n"
        "T 3 393216 g y\n"
        "a # 3 dram 64 #\n"
        "m # 2 dram file 0 evict # #\n"
        "m # 1 file dram 0 miss # #\n"
        "K fill f 0 R - W 1 U -\n"
        "k # # # 1 dram\n"
        "m # 3 dram file 0 evict # #\n"
        "m # 2 file dram 0 miss # #\n"
        "K scope f 0 R - W - U 2\n"
        "k # # # 1 dram\n"
        "h # will_read 1 #\n"
        "m # 1 dram file 393216 evict # #\n"
        "m # 3 file dram 0 miss # #\n"
        "K a_kernel f 0 R - W 3 U -\n"
        "k # # # 1 dram\n"
        "Z 2\n"
        "m # 2 dram file 393216 evict # #\n"
        "m # 1 file dram 393216 miss # #\n"
        "K add f 0 R 1 W - U 3\n"
        "k # # # 1 dram,dram\n"
        "X 1\n"
        "I\n"
        "T 4 393216 a x\n"
        "h # revive 4,1 #\n"
        "a # 4 dram 64 #\n"
        "K fill f 0 R - W 4 U -\n"
        "k # # # 1 dram\n"
        "m # 3 dram file 393216 evict # #\n"
        "m # 2 file dram 393216 miss # #\n"
        "K add f 0 R 4 W - U 2\n"
        "k # # # 1 dram,dram\n"
        "X 4\n"
        "I\n"
        "X 3\n"
        "X 2\n");
}

TEST_CASE("the bytes that a recording tells of are those that the runtime counted, whatever moves them") {
  const auto seed = test::seed();
  CAPTURE(seed);
  for (const unsigned movers : {0U, 1U}) {
    CAPTURE(movers);
    std::mt19937_64 random{seed};
    const TemporaryDirectory directory;
    const auto path = directory.path() + "/run.tt";
    Statistics statistics;
    {
      auto options = two_tiers(path, movers);
      options.policy = movers == 0 ? "lru" : "hint_aware:mode=LMP";
      Runtime runtime{std::move(options)};
      std::vector<Tensor<float>> tensors;
      const auto any = [&]() -> Tensor<float>& { return tensors[random() % tensors.size()]; };
      for (int i = 0; i < 8; ++i)
        overwrite(tensors.emplace_back(runtime, Shape{1 + random() % 96, 1024}, "t"));
      for (int i = 0; i < 600; ++i) {
        switch (random() % 8) {
          case 0:
            std::ignore = prefetch(any());
            break;
          case 1:
            archive(any());
            break;
          case 2: {
            auto& tensor = any();
            retire(tensor);
            overwrite(tensor);
            break;
          }
          case 3:
            will_write(any());
            break;
          case 4:
            any() = Tensor<float>{runtime, Shape{1 + random() % 96, 1024}, "another"};
            break;
          case 5:
            if (random() % 8 == 0) runtime.end_of_step();
            break;
          case 6:
            overwrite(any());
            break;
          default: {
            auto &a = any(), &b = any();
            if (&a == &b) break;
            add(a, b);
          }
        }
        for (auto& t : tensors)
          if (i % 16 == 0 && random() % 4 == 0) overwrite(t);
      }
      runtime.manager()->quiesce();
      statistics = runtime.statistics();
    }
    const auto trace = read_file(path);
    CHECK(moved_in(trace) == moved_in(statistics));
    CHECK(count(trace, EventKind::Stall) == statistics.stalls);
    CHECK(statistics.bytes_moved(1, 0) > 0);
    CHECK(statistics.bytes_moved(0, 1) > 0);
    CHECK(test::read(test::written(trace)) == trace);
    CHECK(test::read_bytes(test::as_binary(trace)) == trace);
  }
}

TEST_CASE("tiers are named so that lines and specs can be read: nodes in lists, and paths with colons") {
  class Placed final : public test::MemoryTier {
   public:
    Placed(std::string name, std::string path)
        : MemoryTier{{.name = std::move(name), .capacity = 4_MiB}}, path_{std::move(path)} {}
    std::string_view path() const noexcept override { return path_; }

   private:
    std::string path_;
  };
  const TemporaryDirectory directory;
  const auto path = directory.path() + "/run.tt";
  {
    std::vector<std::unique_ptr<Tier>> tiers;
    tiers.push_back(std::make_unique<Placed>("numa:0,2", ""));
    tiers.push_back(std::make_unique<Placed>("pmem", "/dev/a:b"));
    const auto manager = Manager::make(std::move(tiers), make_policy("first_touch"), {.threads = 1});
    const Recorder recorder{manager, path};
    Tensor<float> a{manager, large, "a"}, b{manager, large, "b"};
    const KernelScope k{"k", overwrites(a), overwrites(b)};
  }
  const auto trace = read_file(path);
  CHECK(std::ranges::count(shape_of(trace), "k # # # 1 numa:0.2,numa:0.2") == 1);
  std::string tiers;
  for (const auto event : trace.events())
    if (event.kind == EventKind::Setting && trace.name(trace.setting(event).key) == "tiers")
      tiers = trace.name(trace.setting(event).value);
  const auto specs = parse_tiers(tiers);
  REQUIRE(specs.size() == 2);
  CHECK(specs[0].nodes == "0,2");
  CHECK(specs[1].kind == TierKind::Pmem);
  CHECK(specs[1].path == "/dev/a:b");
}

TEST_CASE("a kernel's operands stand where they were when it had entered") {
  const TemporaryDirectory directory;
  const auto path = directory.path() + "/run.tt";
  {
    RuntimeOptions options;
    options.tiers = {tiers::dram(1_MiB), tiers::emulated("cxl", 1_MiB), tiers::emulated("cxl", 4_MiB)};
    options.policy = "first_touch";
    options.trace = path;
    Runtime runtime{std::move(options)};
    const Shape most{200, 1024};  // 800 KiB
    Tensor<float> a{runtime, most, "a"}, b{runtime, most, "b"}, c{runtime, most, "c"};
    KernelScope k{"k", reads(c), overwrites(b), updates(a)};
  }
  const auto shape = shape_of(read_file(path));
  CHECK(std::ranges::count(shape, "K k f 0 R 3 W 2 U 1") == 1);
  CHECK(std::ranges::count(shape, "k # # # 1 emulated:cxl#2,emulated:cxl,dram") == 1);
}

TEST_CASE("small objects of a group and objects in windows are tensors of their own") {
  const TemporaryDirectory directory;
  const auto path = directory.path() + "/run.tt";
  bool full = false;
  {
    auto options = two_tiers(path);
    options.tiers = {tiers::dram(2_MiB), tiers::file("/var/tmp", 16_MiB)};
    Runtime runtime{std::move(options)};
    Tensor<float> one{runtime, {10}, "one"}, two{runtime, {20}, "two"};
    overwrite(one);
    retire(two);
    overwrite(two);
    Tensor<float> wide{runtime, {3, 64, 256}, windowed, "wide"};  // 192 KiB: three blocks of 64 KiB
    { const KernelScope k{"read", reads(wide)}; }
    { const KernelScope k{"part", reads(wide.rows(1, 2))}; }
    full = runtime.statistics().windows == WindowMode::Full;
  }
  const auto trace = read_file(path);
  const auto shape = shape_of(trace);
  const auto has = [&](const char* line) { return std::ranges::count(shape, line); };
  CHECK(has("T 1 40 p one") == 1);  // for its group, the overwrite of a part is an update
  CHECK(has("a # 1 dram 64 #") == 1);
  CHECK(has("K fill f 0 R - W - U 1") == 1);
  CHECK(has("T 2 80 p two") == 1);
  CHECK(has("X 2") == 1);
  CHECK(has("T 4 80 p two") == 1);
  CHECK(has("K fill f 0 R - W - U 4") == 1);
  CHECK(has("T 3 196608 p wide") == 1);
  const std::string block = "a # 3.2 dram 64 #";
  if (full) CHECK(has(block.c_str()) == 1);
  CHECK(has("K read f 0 R 3 W - U -") == 1);
  if (full) CHECK(has("K part f 0 R 3@65536 W - U -") == 1);
}

TEST_CASE("rows that tables gather and update are counted, by their table") {
  const TemporaryDirectory directory;
  const auto path = directory.path() + "/run.tt";
  {
    auto options = two_tiers(path);
    Runtime runtime{std::move(options)};
    TableOptions table_options;
    table_options.rows = 100;
    table_options.dim = 8;
    table_options.name = "items";
    RowTable<float> table{runtime.manager(), std::move(table_options)};
    const std::vector<RowId> ids{3, 5, 3};
    std::vector<float> out(3 * 8);
    table.gather(ids, out);
    table.gather(std::span{ids}.first(1), std::span{out}.first(8));
  }
  const auto shape = shape_of(read_file(path));
  CHECK(std::ranges::count(shape, "g # items 3 #") == 1);
  CHECK(std::ranges::count(shape, "g # items 1 #") == 1);
}

TEST_CASE("rows that tables gather and update are listed where that is asked for, after the table's shape") {
  const TemporaryDirectory directory;
  const auto path = directory.path() + "/run.tt";
  constexpr std::size_t many = 100'000;  // more than a piece of a queue holds
  {
    auto options = two_tiers(path);
    options.trace_rows = true;
    Runtime runtime{std::move(options)};
    TableOptions table_options;
    table_options.rows = 100;
    table_options.dim = 8;
    table_options.state_columns = 1;
    table_options.name = "my items";
    RowTable<float> table{runtime.manager(), std::move(table_options)};
    const std::vector<RowId> ids{3, 5, 3};
    std::vector<float> out(3 * 8);
    table.gather(ids, out);
    table.update(ids, out, [](std::span<float>, std::span<float>, std::span<const float>) noexcept {});
    table.gather({}, {});
    const std::vector<RowId> all(many, 99);
    std::vector<float> large_out(many * 8);
    table.gather(all, large_out);
  }
  const auto trace = read_file(path);
  const auto shape = shape_of(trace);
  CHECK(setting(trace, "rows.1") == "100,36,my_items");
  CHECK(std::ranges::count(shape, "g # my_items 3 # 3,5,3") == 1);
  CHECK(std::ranges::count(shape, "u # my_items 3 # 3,5,3") == 1);
  CHECK(std::ranges::count(shape, "g # my_items 0 #") == 1);
  const auto tables = tables_of(trace);
  REQUIRE(tables.size() == 1);
  CHECK(trace.name(tables[0].name) == "my_items");
  CHECK(tables[0].rows == 100);
  CHECK(tables[0].row == 36_B);
  const auto last = std::ranges::find_if(trace.events(), [&](const Event e) {
    return e.kind == EventKind::RowAccess && trace.row_access(e).count == many;
  });
  REQUIRE(last != trace.events().end());
  CHECK(std::ranges::count(trace.rows_of(trace.row_access(*last)), std::uint64_t{99}) == many);
}

TEST_CASE(
    "rows that tables move are in a recording, to the byte that each table counts, and their homes stay") {
  const auto seed = test::seed();
  CAPTURE(seed);
  for (const bool blocks : {false, true}) {
    CAPTURE(blocks);
    std::mt19937_64 random{seed};
    const TemporaryDirectory directory;
    const auto path = directory.path() + "/run.tt";
    Statistics statistics;
    std::vector<TableStatistics> of_table;
    {
      auto options = two_tiers(path);
      options.tiers = {tiers::dram(2_MiB),
                       blocks ? tiers::file("/var/tmp", 16_MiB) : tiers::emulated("cxl", 16_MiB)};
      Runtime runtime{std::move(options)};
      std::vector<RowTable<float>> tables;
      for (const char* name : {"items", "users"}) {
        TableOptions table;
        table.rows = 2000;
        table.dim = 8;
        table.slots = 100;
        table.name = name;
        table.policy = make_row_policy("lru");
        tables.emplace_back(runtime.manager(), std::move(table));
      }
      for (int i = 0; i < 100; ++i) {
        auto& table = tables[random() % 2];
        std::vector<RowId> ids(1 + random() % 150);
        for (auto& id : ids) id = static_cast<RowId>(random() % table.rows());
        if (random() % 2 == 0) table.prefetch(ids);
        std::vector<float> values(ids.size() * 8, 1.0F);
        if (random() % 3 != 0) table.gather(ids, values);
        if (random() % 2 == 0) table.update(ids, values, Sgd{});
        if (random() % 16 == 0) table.flush();
      }
      for (auto& table : tables) {
        table.settle();
        of_table.push_back(table.statistics());
      }
      statistics = runtime.statistics();
    }
    const auto trace = read_file(path);
    CHECK(moved_in(trace) == moved_in(statistics));
    std::map<std::string, std::uint64_t> in, out;
    for (const auto event : trace.events()) {
      if (event.kind != EventKind::Migration) continue;
      const auto& m = trace.migration(event);
      const auto& home = trace.tensor(m.tensor);
      CHECK(setting(trace, "table." + std::to_string(home.id)) == trace.name(home.name));
      CHECK(trace::homes_of_rows(trace)[m.tensor]);
      (trace.name(m.to) == "dram" ? in : out)[std::string{trace.name(home.name)}] += m.size.count;
    }
    CHECK(in.size() == 2);
    CHECK(in["items"] == of_table[0].bytes_in);
    CHECK(out["items"] == of_table[0].bytes_out);
    CHECK(in["users"] == of_table[1].bytes_in);
    CHECK(out["users"] == of_table[1].bytes_out);
    CHECK(of_table[0].bytes_in > 0);
    CHECK(of_table[0].bytes_out > 0);
    std::uint64_t stalled = 0;
    for (const auto event : trace.events()) {
      if (event.kind != EventKind::Stall) continue;
      const auto& s = trace.stall(event);
      stalled += static_cast<std::uint64_t>(s.duration.count());
      CHECK((trace.name(s.scope) == "items" || trace.name(s.scope) == "users"));
    }
    CHECK(count(trace, EventKind::Stall) == statistics.stalls);
    CHECK(stalled == statistics.stalled_ns);
    CHECK(stalled > 0);
    CHECK(test::read(test::written(trace)) == trace);
    CHECK(test::read_bytes(test::as_binary(trace)) == trace);
  }
}

TEST_CASE("a recording that begins late knows the objects that there were") {
  const TemporaryDirectory directory;
  Runtime runtime{two_tiers("")};
  Tensor<float> x{runtime, large, "x"};
  overwrite(x);
  CHECK(runtime.recorder() == nullptr);
  const auto path = directory.path() + "/run.tt";
  runtime.record(path);
  REQUIRE(runtime.recorder() != nullptr);
  overwrite(x, "later");
  runtime.record(directory.path() + "/next.tt");
  overwrite(x, "latest");
  runtime.recorder()->finish();
  const auto trace = read_file(path);
  CHECK(trace.kernels().size() == 1);
  CHECK(trace.tensors().size() == 1);
  CHECK(trace.name(trace.tensor(0).name) == "x");
  CHECK(read_file(directory.path() + "/next.tt").kernels().size() == 1);
}

TEST_CASE("a recording can be read while it grows, and says that it has no end") {
  const TemporaryDirectory directory;
  const auto path = directory.path() + "/run.tt";
  {
    Runtime runtime{two_tiers(path)};
    CHECK(is_unfinished(read_file(path)));
    CHECK(setting(read_file(path), "policy") == "lru");  // before anything has happened
    Tensor<float> x{runtime, large, "x"};
    for (std::size_t n = 1; n < 5; ++n) {
      overwrite(x);
      runtime.recorder()->flush();
      const auto so_far = read_file(path);
      CHECK(is_unfinished(so_far));
      CHECK(so_far.kernels().size() == n);
    }
  }
  CHECK_FALSE(is_unfinished(read_file(path)));
}

TEST_CASE("a recording that is cut off anywhere is what its whole blocks say, and its damage is refused") {
  const TemporaryDirectory directory;
  const auto path = directory.path() + "/run.tt";
  {
    Runtime runtime{two_tiers(path)};
    Tensor<float> x{runtime, large, "x"}, y{runtime, large, "y"};
    for (int i = 0; i < 4; ++i) {
      overwrite(x, "k" + std::to_string(i));
      add(x, y);
      runtime.recorder()->flush();
    }
  }
  std::ifstream in{path, std::ios::binary};
  const std::string bytes{std::istreambuf_iterator{in}, {}};
  std::size_t kernels = 0;
  for (std::size_t n = 16; n < bytes.size(); ++n) {
    CAPTURE(n);
    const auto trace = test::read_bytes(bytes.substr(0, n));
    CHECK(is_unfinished(trace));
    CHECK(trace.kernels().size() >= kernels);
    kernels = trace.kernels().size();
  }
  CHECK(kernels == 8);
  auto torn = bytes;
  torn.back() = static_cast<char>(torn.back() ^ 1);  // damages the last block, as a loss of power does
  CHECK(is_unfinished(test::read_bytes(torn)));
  auto damaged = bytes;
  damaged[16 + 8] = static_cast<char>(damaged[16 + 8] ^ 1);
  CHECK(test::message_of<TraceError>([&] { std::ignore = test::read_bytes(damaged); }) ==
        "t: at byte 16: the CRC-32 of a block is wrong: the block was changed");
}

TEST_CASE("a recording that is cut off between two blocks of one flush is what the blocks before say") {
  const TemporaryDirectory directory;
  const auto path = directory.path() + "/run.tt";
  constexpr std::size_t threads = 2, rounds = 12'000;
  {
    Runtime runtime{two_tiers("")};
    const Recorder recorder{runtime.manager(), path, {.flush_every = std::chrono::hours{1}}};
    const Tensor<float> a{runtime, {10}, "a"}, b{runtime, {10}, "b"}, c{runtime, {10}, "c"};
    std::vector<std::jthread> team;
    for (std::size_t t = 0; t < threads; ++t)
      team.emplace_back([&] {
        std::optional<Tensor<float>> own;
        for (std::size_t i = 0; i < rounds; ++i) {
          if (i % 64 == 0) own.emplace(runtime, Shape{10}, "own");
          const KernelScope k{"k", reads(a, b, c), updates(*own)};
        }
      });
    team.clear();
  }
  std::ifstream in{path, std::ios::binary};
  const std::string bytes{std::istreambuf_iterator{in}, {}};
  const auto ends = ends_of_blocks(bytes);
  CHECK(ends.size() > 4);
  std::size_t kernels = 0;
  for (std::size_t i = 0; i + 1 < ends.size(); ++i)
    for (const auto n : {ends[i], ends[i] + 1, (ends[i] + ends[i + 1]) / 2, ends[i + 1] - 1}) {
      CAPTURE(n);
      const auto trace = test::read_bytes(bytes.substr(0, n));
      CHECK(is_unfinished(trace));
      if (n == ends[i])
        CHECK(trace.kernels().size() >= std::exchange(kernels, trace.kernels().size()));
      else
        CHECK(trace.kernels().size() == kernels);
      CHECK(std::ranges::all_of(trace.kernels(),
                                [&](const Kernel& k) { return trace.operands(k).size() == 4; }));
    }
  CHECK(kernels > 0);
  CHECK(test::read_bytes(bytes).kernels().size() == threads * rounds);
}

TEST_CASE("after a crash the recording has what had happened up to the last flush") {
  const TemporaryDirectory directory;
  const auto path = directory.path() + "/run.tt";
  const auto ended =
      run_in_child("killed",
                   [] {
                     Runtime runtime{two_tiers(std::getenv("TRACE_TO"))};
                     Tensor<float> x{runtime, large, "x"}, y{runtime, large, "y"}, z{runtime, large, "z"};
                     overwrite(x);
                     overwrite(y);
                     overwrite(z);
                     runtime.recorder()->flush();
                     add(x, y);
                     const KernelScope open{"never ended", reads(z)};
                     std::raise(SIGKILL);
                   },
                   {{"TRACE_TO", path}});
  CHECK(ended.signal == SIGKILL);
  const auto trace = read_file(path);
  CHECK(is_unfinished(trace));
  CHECK(trace.kernels().size() >= 3);
  CHECK(moved_in(trace).size() >= 1);
}

TEST_CASE("what is noted is in the file after the time that is set, without a flush") {
  const TemporaryDirectory directory;
  const auto path = directory.path() + "/run.tt";
  Runtime runtime{two_tiers("")};
  Recorder recorder{runtime.manager(), path, {.policy = "lru", .flush_every = std::chrono::milliseconds{1}}};
  Tensor<float> x{runtime, large, "x"};
  overwrite(x);
  while (read_file(path).kernels().empty()) std::this_thread::yield();
  CHECK(recorder.lost() == 0);
}

TEST_CASE("a full disk ends the recording with one message, and the program goes on") {
  const TemporaryDirectory directory;
  std::optional<test::SmallDisk> disk;
  if (std::getenv("TRACE_TO") == nullptr) disk.emplace("64k");  // the child would leave one behind
  const bool mounted = disk && disk->mounted();
  const auto path = (mounted ? disk->path() : directory.path()) + "/run.tt";
  const auto ended =
      run_in_child("full",
                   [] {
                     if (std::getenv("LIMITED")[0] == '1') {
                       const ::rlimit limit{64 << 10, 64 << 10};
                       ::setrlimit(RLIMIT_FSIZE, &limit);
                     }
                     RuntimeOptions options;
                     options.tiers = {tiers::dram(1_MiB)};
                     options.trace = std::getenv("TRACE_TO");
                     Runtime runtime{std::move(options)};
                     Tensor<float> x{runtime, large, "x"};
                     overwrite(x);
                     runtime.recorder()->flush();  // one block at least has room
                     int kernels = 1;
                     for (; !runtime.recorder()->failed() && kernels < 10'000'000; ++kernels) overwrite(x);
                     for (int more = 0; more < 1000; ++more) overwrite(x);
                     std::fprintf(stderr, "%s", runtime.recorder()->failed() ? "went on" : "never failed");
                   },
                   {{"TRACE_TO", path}, {"LIMITED", mounted ? "0" : "1"}});
  CAPTURE(ended.errors);
  CHECK(ended.code == 0);
  const std::string error = mounted ? "No space left on device" : "File too large";
  CHECK(ended.errors == "libtier: the recording \"" + path +
                            "\" ends here, but the program goes on: write: " + error + "\nwent on");
  const auto trace = read_file(path);
  CHECK(is_unfinished(trace));
  CHECK(trace.kernels().size() > 0);
}

TEST_CASE("a limit that a flush of the program's own meets ends the recording, and not the program") {
  const TemporaryDirectory directory;
  const auto path = directory.path() + "/run.tt";
  const auto ended = run_in_child(
      "limited",
      [] {
        const ::rlimit limit{64 << 10, 64 << 10};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        Runtime runtime{RuntimeOptions{.tiers = {tiers::dram(1_MiB)}}};
        Recorder recorder{runtime.manager(), std::getenv("TRACE_TO"), {.flush_every = std::chrono::hours{1}}};
        Tensor<float> x{runtime, {64}, "x"};
        for (int i = 0; i < 20'000; ++i) overwrite(x);  // too few to wake the writer
        recorder.flush();
        std::fprintf(stderr, "%s", recorder.failed() ? "went on" : "never failed");
      },
      {{"TRACE_TO", path}});
  CHECK(ended.code == 0);
  CHECK(ended.errors == "libtier: the recording \"" + path +
                            "\" ends here, but the program goes on: write: File too large\nwent on");
}

TEST_CASE("a file can be recorded into again while a child that was forked meanwhile lives") {
  const TemporaryDirectory directory;
  const auto path = directory.path() + "/run.tt";
  Runtime runtime{two_tiers("")};
  Recorder recorder{runtime.manager(), path};
  std::array<int, 2> pipe{};
  REQUIRE(::pipe(pipe.data()) == 0);
  const auto child = ::fork();
  if (child == 0) {
    char none = 0;
    ::close(pipe[1]);
    std::ignore = ::read(pipe[0], &none, 1);
    ::_exit(0);
  }
  recorder.finish();
  CHECK_NOTHROW(Recorder(runtime.manager(), path));
  ::close(pipe[0]);
  ::close(pipe[1]);
  ::waitpid(child, nullptr, 0);
}

TEST_CASE("no buffers and no flushes are the least there may be of them, and the most") {
  const TemporaryDirectory directory;
  constexpr std::size_t scopes = 2'000;
  const auto path = directory.path() + "/run.tt";
  Runtime runtime{two_tiers("")};
  Tensor<float> x{runtime, large, "x"};
  for (const auto& options : {trace::RecorderOptions{.flush_every = std::chrono::milliseconds::max()},
                              trace::RecorderOptions{.flush_every = {}, .buffers = 0_B}}) {
    Recorder recorder{runtime.manager(), path, options};
    for (std::size_t i = 0; i < scopes; ++i) overwrite(x);
    recorder.finish();
    CHECK(recorder.lost() == 0);
    CHECK(read_file(path).kernels().size() == scopes);
  }
}

TEST_CASE("threads record side by side, each of their scopes in its order") {
  const TemporaryDirectory directory;
  const auto path = directory.path() + "/run.tt";
  constexpr int threads = 4, rounds = 500;
  {
    auto options = two_tiers("", 1);
    options.tiers = {tiers::dram(4_MiB), tiers::file("/var/tmp", 16_MiB)};
    Runtime runtime{std::move(options)};
    Tensor<float> shared{runtime, {16, 1024}, "shared"};
    overwrite(shared);
    {
      const Recorder recorder{runtime.manager(), path, {.buffers = 64_KiB}};
      std::latch begin{threads};
      std::vector<std::jthread> team;
      for (int t = 0; t < threads; ++t)
        team.emplace_back([&, t] {
          const auto name = "own" + std::to_string(t);
          Tensor<float> own{runtime, {16, 1024}, name};
          begin.arrive_and_wait();
          for (int i = 0; i < rounds; ++i) {
            KernelScope k{name, reads(shared), overwrites(own)};
            k.out(own).data()[0] = k.in(shared).data()[0];
            if (i % 64 == 0) will_use(shared);
          }
          retire(own);
        });
      team.clear();
      CHECK(recorder.lost() == 0);
    }
  }
  const auto trace = read_file(path);
  CHECK(trace.kernels().size() == threads * rounds);
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> last;  // by kernel: thread, start
  const Kernel* kernel = nullptr;
  for (const auto event : trace.events()) {
    if (event.kind == EventKind::Kernel) kernel = &trace.kernel(event);
    if (event.kind != EventKind::Measurement) continue;
    const auto& m = trace.measurement(event);
    const std::string op{trace.name(kernel->op)};
    const auto start = static_cast<std::uint64_t>(m.start.count());
    const auto [found, is_new] = last.try_emplace(op, m.thread, start);
    CHECK(found->second.first == m.thread);
    if (!is_new) CHECK(found->second.second <= start);
    found->second.second = start;
  }
  CHECK(last.size() == threads);
}

TEST_CASE(
    "where the writer falls behind, scopes wait and lose nothing; what cannot wait is lost and counted") {
  const TemporaryDirectory directory;
  const auto path = directory.path() + "/pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  REQUIRE(reader >= 0);
  std::string bytes;
  const auto read_on = [&] {
    ::fcntl(reader, F_SETFL, 0);
    std::array<char, 65536> some{};
    for (;;) {
      const auto n = ::read(reader, some.data(), some.size());
      if (n <= 0) return;
      bytes.append(some.data(), static_cast<std::size_t>(n));
    }
  };
  auto options = two_tiers("");
  options.tiers = {tiers::dram(1_MiB)};
  Runtime runtime{std::move(options)};
  Tensor<float> x{runtime, {10}, "x"};
  std::uint64_t lost = 0, kernels = 0;
  {
    Recorder recorder{runtime.manager(), path, {.buffers = 128_KiB}};
    bool hints = false;
    SUBCASE("scopes") {}
    SUBCASE("hints") { hints = true; }
    std::jthread reading;
    if (hints) {
      for (int i = 0; i < 20'000; ++i) will_use(x);  // the pipe has no reader, but no hint waits
      CHECK(recorder.lost() > 0);
      reading = std::jthread{read_on};
    } else {
      reading = std::jthread{read_on};
      for (; kernels < 50'000; ++kernels) overwrite(x);
      CHECK(recorder.lost() == 0);
    }
    recorder.finish();
    lost = recorder.lost();
  }
  ::close(reader);
  const auto trace = test::read_bytes(bytes);
  CHECK_FALSE(is_unfinished(trace));
  CHECK(trace.kernels().size() == kernels);
  CHECK(trace.header(lost_key).has_value() == (lost > 0));
  if (lost > 0) CHECK(trace.header(lost_key) == std::to_string(lost));
  CHECK(count(trace, EventKind::Hint) + lost == (kernels > 0 ? 0 : 20'000));
}

TEST_CASE("the child of a fork writes nothing into the file of its parent") {
  if (test::thread_sanitized) {
    MESSAGE("SKIPPED: ThreadSanitizer does not let a program with threads go on in a child");
    return;
  }
  const TemporaryDirectory directory;
  const auto path = directory.path() + "/run.tt";
  const auto ended = run_in_child(
      "forks",
      [] {
        Runtime runtime{two_tiers(std::getenv("TRACE_TO"))};
        Tensor<float> x{runtime, large, "x"};
        overwrite(x, "before");
        const auto child = ::fork();
        if (child == 0) {
          overwrite(x, "in the child");
          { const Runtime gone{std::move(runtime)}; }
          std::exit(7);  // runs the handlers at exit
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        overwrite(x, "after");
        std::fprintf(stderr, "child %d", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
      },
      // In the child of the fork LeakSanitizer would look for the threads of its parent, and complain or hang.
      {{"TRACE_TO", path}, {"ASAN_OPTIONS", "detect_leaks=0"}});
  CHECK(ended.errors == "child 7");
  const auto trace = read_file(path);
  CHECK_FALSE(is_unfinished(trace));
  REQUIRE(trace.kernels().size() == 2);
  CHECK(trace.name(trace.kernels()[0].op) == "before");
  CHECK(trace.name(trace.kernels()[1].op) == "after");
}

TEST_CASE("a file that cannot be recorded into is refused, and so is one that another recorder has") {
  const TemporaryDirectory directory;
  const auto path = directory.path() + "/run.tt";
  Runtime runtime{two_tiers("")}, other{two_tiers("")};
  const auto message_of = [&](const std::string& to) {
    return test::message_of<TierError>([&] { const Recorder recorder{runtime.manager(), to}; });
  };
  CHECK(message_of(directory.path() + "/none/run.tt")
            .starts_with("open of \"" + directory.path() + "/none/run.tt\": No such file or directory"));
  CHECK(message_of(directory.path()).starts_with("open of \"" + directory.path() + "\": Is a directory"));
  const Recorder first{other.manager(), path};
  CHECK(message_of(path).starts_with("flock of \"" + path + "\": Resource temporarily unavailable"));
  CHECK_FALSE(first.failed());
  CHECK(test::message_of<ConfigError>([&] {
          const Recorder second{other.manager(), path + ".2"};
        }) == "the runtime is recorded already");
}

}  // namespace tier::recorder_test
