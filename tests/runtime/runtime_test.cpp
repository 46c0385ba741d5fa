// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/builtin_policies.hpp"
#include "support/child.hpp"
#include "support/message_of.hpp"
#include "support/sanitized.hpp"
#include "support/temporary_directory.hpp"
#include "support/variable.hpp"
#include "support/windows.hpp"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <tier/core/config.hpp>
#include <tier/core/error.hpp>
#include <tier/memory/discovery.hpp>
#include <tier/replay/machine_file.hpp>
#include <tier/runtime/row_policies.hpp>
#include <tier/runtime/runtime.hpp>
#include <tier/scope/scope.hpp>
#include <tier/table/row_table.hpp>
#include <tier/tensor/tensor.hpp>
#include <tier/trace/binary.hpp>
#include <tier/trace/files.hpp>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <latch>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace tier::runtime_test {
namespace {

using namespace literals;
using test::run_in_child;

void fill(Tensor<float>& tensor, float value) {
  WriteScope out{overwrites(tensor)};
  std::ranges::fill(out[tensor].elements(), value);
}
float last(const Tensor<float>& tensor) { return ReadScope{tensor}[tensor].elements().back(); }

/// Options with small tiers; fast memory holds about one of the tensors below.
RuntimeOptions small(std::string policy = "lru") {
  RuntimeOptions options;
  options.tiers = {tiers::dram(1_MiB), tiers::file("/var/tmp", 16_MiB)};
  options.policy = std::move(policy);
  options.threads = 1;
  options.yields = false;
  return options;
}
const Shape large{192, 1024};  // 768 KiB of floats

std::unique_ptr<Policy> never_called(PolicyOptions) { return nullptr; }
bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a runtime works under each built-in policy, composed in code or from text") {
  std::vector<std::string> policies{"hint_aware:mode=0", "hint_aware:mode=LM,prefetch=off"};
  for (const auto& policy : detail::builtin_policies()) policies.emplace_back(policy.name);
  REQUIRE(policies.size() >= 6);
  for (const auto& policy : policies) {
    CAPTURE(policy);
    Runtime in_code{small(policy)};
    auto from_text = Runtime::from_spec("dram:1MiB;file:/var/tmp:16MiB", policy);
    for (auto* runtime : {&in_code, &from_text}) {
      std::vector<Tensor<float>> t;
      for (int i = 0; i < 4; ++i) fill(t.emplace_back(*runtime, large), static_cast<float>(i));
      for (std::size_t i = 0; i < 4; ++i) CHECK(last(t[i]) == static_cast<float>(i));
      runtime->end_of_step();
      runtime->compact();
      runtime->manager()->check_invariants();
    }
  }
}

TEST_CASE("an unknown policy is refused with the names of those that are known") {
  const auto message = test::message_of<ConfigError>([] { Runtime{small("clock:hands=2")}; });
  CHECK(contains(message, "unknown policy \"clock\""));
  CHECK(contains(test::message_of<ConfigError>([] { Runtime{small("hint-aware")}; }),
                 "unknown policy \"hint-aware\" (did you mean \"hint_aware\"?) at position 0"));
  CHECK(contains(message, "first_touch, hint_aware, lru"));
}

TEST_CASE("unknown tiers, options and units are refused with what is allowed") {
  CHECK(
      contains(test::message_of<ConfigError>([] { std::ignore = Runtime::from_spec("tape:1GiB"); }), "tape"));
  CHECK(contains(test::message_of<ConfigError>(
                     [] { std::ignore = Runtime::from_spec("dram:1MiB", "hint_aware:mood=LM"); }),
                 "mood"));
  CHECK(
      contains(test::message_of<ConfigError>(
                   [] { std::ignore = Runtime::from_spec("dram:1MiB", "hint_aware:prefech=on"); }),
               "unknown option (did you mean \"prefetch\"?) at position 0 of \"prefech\"; allowed: mode, "));
  CHECK(contains(test::message_of<ConfigError>(
                     [] { std::ignore = Runtime::from_spec("dram:1MiB", "hint_aware:mode=lm"); }),
                 "unknown mode (did you mean \"LM\"?) at position 0 of \"lm\""));
  CHECK(contains(
      test::message_of<ConfigError>([] { std::ignore = Runtime::from_spec("dram:1MiB", "lru:size=3"); }),
      "size"));
  CHECK(
      contains(test::message_of<ConfigError>([] { std::ignore = Runtime::from_spec("dram:1XiB"); }), "XiB"));
  CHECK(contains(
      test::message_of<ConfigError>([] { std::ignore = Runtime::from_spec("file:/var/tmp:1MiB"); }), "CPU"));
  CHECK(contains(test::message_of<ConfigError>([] { Runtime{RuntimeOptions{}}; }), "at least one tier"));
}

TEST_CASE("TIER_TRACE records all runtimes of the process, each in a file of its own") {
  const test::TemporaryDirectory directory;
  const auto path = directory.path() + "/run.tt";
  const auto ended = run_in_child(
      "recorded",
      [] {
        Runtime first{small()};
        Tensor<float> x{first, large, "x"};
        fill(x, 1);
        auto options = small();
        options.trace = std::string{std::getenv("TIER_TRACE")} + ".named";
        Runtime named{std::move(options)};
        auto second = Runtime::from_spec("dram:1MiB");
        Tensor<float> y{second, large, "y"};
        fill(y, 1);
        fill(y, 2);
        Runtime moved{std::move(second)};
        std::fprintf(stderr, "%s",
                     moved.recorder() != nullptr && second.recorder() == nullptr ? "good" : "bad");
        { const auto gone = std::move(y); }
      },
      {{"TIER_TRACE", path}});
  CHECK(ended.errors == "good");
  CHECK(ended.code == 0);
  const auto first = trace::read_file(path), second = trace::read_file(path + ".2");
  CHECK(first.kernels().size() == 1);
  CHECK(second.kernels().size() == 2);
  CHECK(trace::read_file(path + ".named").kernels().empty());
  for (const auto* trace : {&first, &second}) CHECK_FALSE(trace->header(trace::unfinished_key));
}

TEST_CASE(
    "the default runtime's recording ends with the process, and one that another process has is passed "
    "over") {
  const test::TemporaryDirectory directory;
  const auto path = directory.path() + "/run.tt";
  std::optional<Runtime> ours;
  if (std::getenv("TIER_TRACE") == nullptr) {  // not in the child
    ours.emplace(small());
    ours->record(path);
  }
  const auto ended = run_in_child("default",
                                  [] {
                                    Tensor<float> x{default_runtime(), {10}, "x"};
                                    fill(x, 1);
                                    std::exit(0);
                                  },
                                  {{"TIER_TRACE", path}, {"TIER_TIERS", "dram:1MiB"}});
  CHECK(ended.errors.empty());
  ours->recorder()->finish();
  CHECK(trace::read_file(path).kernels().empty());
  const auto theirs = trace::read_file(path + ".2");
  CHECK(theirs.kernels().size() == 1);
  CHECK_FALSE(theirs.header(trace::unfinished_key));
}

TEST_CASE("a trace that cannot be written is refused, and TIER_TRACE named") {
  const auto message = [](const std::string& path, const std::string& label) {
    return run_in_child(
               label,
               [] { std::fputs(test::message_of<ConfigError>([] { Runtime{small()}; }).c_str(), stderr); },
               {{"TIER_TRACE", path}})
        .errors;
  };
  CHECK(message("", "empty") ==
        "TIER_TRACE is empty; set it to the name of a file to record into, such as run.tt");
  CHECK(message("/none/run.tt", "none")
            .starts_with("TIER_TRACE: open of \"/none/run.tt\": No such file or directory"));
  CHECK(message("/", "folder").starts_with("TIER_TRACE: open of \"/\": Is a directory"));
  const auto rows = run_in_child(
      "rows", [] { std::fputs(test::message_of<ConfigError>([] { Runtime{small()}; }).c_str(), stderr); },
      {{"TIER_TRACE", "/dev/null"}, {"TIER_TRACE_ROWS", "yes"}});
  CHECK(rows.errors == "TIER_TRACE_ROWS: \"yes\" is neither 1 nor 0");
  auto options = small();
  options.trace = "/none/run.tt";
  CHECK(test::message_of<TierError>([&] {
          const Runtime runtime{std::move(options)};
        }).starts_with("open of \"/none/run.tt\": No such file or directory"));
}

TEST_CASE("the environment composes a runtime, and its mistakes name the variable") {
  const auto in_environment = [](const test::Environment& environment, const std::string& label) {
    return run_in_child(
        label,
        [] {
          try {
            auto runtime = Runtime::from_environment();
            std::fprintf(stderr, "made %zu tiers, %s", runtime.manager()->tier_count(),
                         runtime.policy().c_str());
          } catch (const ConfigError& error) {
            std::fputs(error.what(), stderr);
          } catch (const TierError& error) {
            std::fprintf(stderr, "%s (%d)", error.what(), error.code().value());
          }
        },
        environment);
  };
  const auto good =
      in_environment({{"TIER_TIERS", "dram:1MiB;mapped:/var/tmp:2MiB"}, {"TIER_POLICY", "lru"}}, "good");
  CHECK(contains(good.errors, "made 2 tiers, lru"));
  const auto plain = in_environment({{"TIER_TIERS", "dram:1MiB"}}, "no policy");
  CHECK(contains(plain.errors, "made 1 tiers, hint_aware"));
  const auto wrong_tier = in_environment({{"TIER_TIERS", "dram:1MiB;tape:1MiB"}}, "wrong tier");
  CHECK(contains(wrong_tier.errors, "TIER_TIERS: "));
  CHECK(contains(wrong_tier.errors, "tape"));
  const auto without_bytes = in_environment({{"TIER_TIERS", "dram:1MiB;simulated:nvme:1MiB"}}, "no bytes");
  CHECK(contains(without_bytes.errors, "TIER_TIERS: simulated:nvme has addresses without memory"));
  const auto wrong_policy =
      in_environment({{"TIER_TIERS", "dram:1MiB"}, {"TIER_POLICY", "clock"}}, "wrong policy");
  CHECK(contains(wrong_policy.errors, "TIER_POLICY: "));
  CHECK(contains(wrong_policy.errors, "clock"));
  const auto wrong_windows =
      in_environment({{"TIER_TIERS", "dram:1MiB"}, {"TIER_WINDOWS", "half"}}, "wrong windows");
  CHECK(contains(wrong_windows.errors, "TIER_WINDOWS: \"half\" is neither full nor restricted"));
  const auto unreachable = in_environment({{"TIER_TIERS", "file:/var/tmp:1MiB"}}, "unreachable");
  CHECK(contains(unreachable.errors, "TIER_TIERS: none of the tiers"));
  const auto no_folder =
      in_environment({{"TIER_TIERS", "dram:1MiB;file:/no/such/folder:1MiB"}}, "no folder").errors;
  CHECK(no_folder.starts_with("TIER_TIERS: "));
  CHECK(contains(no_folder, "/no/such/folder"));
  CHECK(no_folder.ends_with(": No such file or directory (2)"));
  CHECK(no_folder.find("No such file") == no_folder.rfind("No such file"));
  const auto no_file =
      in_environment({{"TIER_TIERS", "dram:1MiB"}, {"TIER_MEASURED", "/no/such.json"}}, "no file").errors;
  CHECK(no_file.starts_with("TIER_MEASURED: "));
  CHECK(contains(no_file, "/no/such.json"));
  if (std::getenv("TIER_TIERS") == nullptr) {
    CHECK(contains(in_environment({}, "unset").errors, "TIER_TIERS is not set"));
  }
}

TEST_CASE("variables of the environment that have no effect are named once, with the names that were meant") {
  const auto in_code = [] {
    for (int i = 0; i < 2; ++i) std::ignore = Runtime::from_spec("dram:1MiB");
  };
  const auto told = run_in_child("misspelt", in_code,
                                 {{"TIER_TIER", "dram:1MiB"}, {"TIER_POLICIES", "lru"}, {"TIERS", "3"}})
                        .errors;
  const auto line = [](const std::string& name, const std::string& meant) {
    return "libtier: the environment variable " + name + " has no effect (did you mean \"" + meant +
           "\"?); there are TIER_TIERS, TIER_POLICY, TIER_WINDOWS, TIER_TRACE, TIER_TRACE_ROWS, "
           "TIER_MEASURED, TIER_COPY_KERNEL\n";
  };
  CHECK(contains(told, line("TIER_TIER", "TIER_TIERS")));
  CHECK(contains(told, line("TIER_POLICIES", "TIER_POLICY")));
  CHECK(told.size() == line("TIER_TIER", "TIER_TIERS").size() + line("TIER_POLICIES", "TIER_POLICY").size());
  CHECK(run_in_child("ours", in_code, {{"TIER_SEED", "1"}, {"TIER_TEST_ANY", "1"}, {"TIER_BUILD_DIR", "/x"}})
            .errors == "");
}

TEST_CASE("variables that a runtime composed in code does not follow are named once") {
  const auto in_code = [] {
    for (int i = 0; i < 2; ++i) std::ignore = Runtime::from_spec("dram:1MiB");
  };
  CHECK(run_in_child("one", in_code, {{"TIER_TIERS", "dram:1MiB"}}).errors ==
        "libtier: TIER_TIERS is set, but the program composes this runtime in code; only "
        "Runtime::from_environment() and "
        "default_runtime() follow the environment\n");
  CHECK(run_in_child("two", in_code, {{"TIER_POLICY", "lru"}, {"TIER_WINDOWS", "full"}}).errors ==
        "libtier: TIER_POLICY, TIER_WINDOWS are set, but the program composes this runtime in code; only "
        "Runtime::from_environment() and default_runtime() follow the environment\n");
  const auto both = [] {
    std::ignore = Runtime::from_environment();
    std::ignore = Runtime::from_spec("dram:1MiB");
  };
  CHECK(run_in_child("followed", both, {{"TIER_TIERS", "dram:1MiB"}}).errors == "");
}

TEST_CASE("the environment says what windows are to be like") {
  const auto ended =
      run_in_child("restricted",
                   [] {
                     auto runtime = Runtime::from_environment();
                     const Tensor<float> x{runtime, large, windowed, "x"};
                     std::fputs(std::string{to_string(runtime.statistics().windows.value())}.c_str(), stderr);
                   },
                   {{"TIER_TIERS", "dram:8MiB"}, {"TIER_WINDOWS", "restricted"}});
  CHECK(ended.errors == "restricted");
}

TEST_CASE(
    "where firmware tells nothing, memory is as fast as the file says that the options name, or "
    "TIER_MEASURED") {
  const test::TemporaryDirectory directory;
  const auto path = directory.path() + "/this.json";
  const auto nodes = discover().nodes;
  const auto write = [&](const std::string& id) {
    replay::Machine machine;
    machine.name = "this";
    machine.operations = 1e12;
    auto& device = machine.devices.emplace_back();
    device.name = "numa:" + id;
    device.read = device.copy_read = device.mover_read = 5e9;
    device.store = device.copy_write = device.mover_write = 4e9;
    replay::write_machine(machine, path);
  };
  const auto rates = [](const std::string& option, const std::string& variable) {
    const test::Variable measured{"TIER_MEASURED", variable};
    RuntimeOptions options;
    options.tiers = {tiers::dram(1_MiB), tiers::emulated("redl", 1_MiB)};
    options.measured = option;
    const Runtime runtime{std::move(options)};
    std::vector<double> found;
    for (TierIndex t = 0; t < runtime.manager()->tier_count(); ++t)
      found.push_back(runtime.manager()->tier(t).model().read_bytes_per_second);
    return found;
  };
  write(std::to_string(nodes.front().id));
  if (nodes.size() == 1 && nodes.front().speed.read_bytes_per_second == 0) {
    const std::vector<double> slower{19e9, 5e9};  // ranks it after the emulated tiers
    CHECK(rates("", path) == slower);
    CHECK(rates(path, "/no/such/file") == slower);
  }
  CHECK(contains(test::message_of<TierError>([&] { rates("", "/no/such/file"); }),
                 "open of \"/no/such/file\""));
  CHECK(contains(test::message_of<TierError>([&] { rates("", "/var/tmp"); }), "read of \"/var/tmp\""));
  CHECK(contains(test::message_of<ConfigError>(
                     [] { std::ignore = replay::parse_machine(R"({"name":"x","operations":1e999})", "m"); }),
                 "m is not JSON"));
  write("1023");
  CHECK(test::message_of<ConfigError>([&] { rates("", path); }) ==
        "TIER_MEASURED: " + path + ": none of its devices is a node of this machine, such as numa:" +
            std::to_string(nodes.front().id));
}

TEST_CASE(
    "a node of memory alone that is measured to be twice as fast as those with CPUs is HBM, whatever it was "
    "taken for") {
  const test::TemporaryDirectory directory;
  const auto path = directory.path() + "/this.json";
  const auto kinds = [&](NodeSpeed declared, double measured) {
    Machine machine;
    machine.nodes = {{0, "0-3", 8_GiB, 4_GiB},
                     {1, "", 8_GiB, 4_GiB, NodeKind::Cxl, declared},
                     {2, "", 8_GiB, 4_GiB, NodeKind::Persistent}};
    replay::Machine file;
    file.name = "this";
    file.operations = 1e12;
    for (const auto& [node, rate] : {std::pair{"numa:0", 100e9}, {"numa:1", measured}, {"numa:2", 900e9}}) {
      auto& device = file.devices.emplace_back();
      device.name = node;
      device.read = device.copy_read = device.mover_read = rate;
      device.store = device.copy_write = device.mover_write = rate;
    }
    replay::write_machine(file, path);
    replay::read_measured(path, machine);
    std::string text;
    for (const auto& node : machine.nodes) text.append(to_string(node.kind)).append(" ");
    return text;
  };
  CHECK(kinds({}, 199e9) == "dram cxl pmem ");
  CHECK(kinds({}, 200e9) == "dram hbm pmem ");
  CHECK(kinds({50e9, 50e9}, 200e9) == "dram cxl pmem ");  // firmware's values count
}

TEST_CASE("the default runtime is made once, from the environment or of memory, and never destroyed") {
  const auto use = [] {
    Runtime& runtime = default_runtime();
    static auto* const survivor = new Tensor<float>{runtime, {16}, "survivor"};  // must not be reported
    fill(*survivor, 3);
    const bool good = last(*survivor) == 3 && &runtime == &default_runtime();
    std::fprintf(stderr, "%s on %zu tiers", good ? "good" : "bad", runtime.manager()->tier_count());
    std::exit(0);  // NOLINT: runs static destructors, unlike the ends of other parts
  };
  const auto from_environment =
      run_in_child("environment", use, {{"TIER_TIERS", "dram:1MiB;mapped:/var/tmp:1MiB"}});
  CHECK(contains(from_environment.errors, "good on 2 tiers"));
  CHECK(from_environment.code == 0);
  CHECK_FALSE(contains(from_environment.errors, "outlive"));
  if (std::getenv("TIER_TIERS") == nullptr) {
    const auto of_memory = run_in_child("memory", use);
    CHECK(contains(of_memory.errors, "good on 1 tiers"));
    CHECK(of_memory.code == 0);
  }
}

TEST_CASE("the default runtime follows TIER_POLICY and TIER_WINDOWS without TIER_TIERS, too") {
  if (std::getenv("TIER_TIERS") != nullptr) {
    MESSAGE("skipped: TIER_TIERS is set");
    return;
  }
  const auto in_environment = [](const std::string& label, const test::Environment& environment) {
    const auto use = [] {
      try {
        const Tensor<float> x{default_runtime(), large, windowed, "x"};
        std::fprintf(stderr, "%s on %zu tiers, %s windows", default_runtime().policy().c_str(),
                     default_runtime().manager()->tier_count(),
                     std::string{to_string(default_runtime().statistics().windows.value())}.c_str());
      } catch (const ConfigError& error) {
        std::fputs(error.what(), stderr);
      }
    };
    return run_in_child(label, use, environment).errors;
  };
  CHECK(in_environment("good", {{"TIER_POLICY", "lru"}, {"TIER_WINDOWS", "restricted"}}) ==
        "lru on 1 tiers, restricted windows");
  CHECK(contains(in_environment("wrong policy", {{"TIER_POLICY", "clock"}}), "TIER_POLICY: "));
  CHECK(contains(in_environment("wrong windows", {{"TIER_WINDOWS", "half"}}), "TIER_WINDOWS: \"half\""));
}

TEST_CASE("objects that outlive their runtime are named, and stay usable where they are") {
  std::vector<std::string> named;
  auto options = small();
  options.on_survivors = [&](std::span<const std::string> names) {
    named.assign(names.begin(), names.end());
  };
  std::optional<Tensor<float>> survivor;
  {
    Runtime runtime{std::move(options)};
    survivor.emplace(runtime, Shape{1024}, "the survivor");
    const Tensor<float> other{runtime, Shape{1024}, "not one"};
    fill(*survivor, 4);
  }
  CHECK(named == std::vector<std::string>{"the survivor"});
  CHECK(last(*survivor) == 4);
  fill(*survivor, 5);
  will_use(*survivor);
  archive(*survivor);
  CHECK(prefetch(*survivor) == Outcome::Gone);
  CHECK(last(*survivor) == 5);
  const auto copy = survivor->clone();
  CHECK(last(copy) == 5);
}

TEST_CASE("tables that outlive their runtime are named, stay usable, and fetch nothing ahead any more") {
  constexpr RowId rows = 20'000;
  std::vector<std::string> named;
  auto options = small();
  options.on_survivors = [&](std::span<const std::string> names) {
    named.assign(names.begin(), names.end());
  };
  const auto value = [](RowId row) { return static_cast<float>(row) + 0.5F; };
  std::optional<RowTable<float>> table;
  {
    Runtime runtime{std::move(options)};
    TableOptions of_table;
    of_table.rows = rows;
    of_table.dim = 16;
    of_table.slots = 2'000;
    of_table.policy = make_row_policy("hint_aware");
    of_table.name = "clicks";
    of_table.initial = [&](RowId row, std::span<float> values) { std::ranges::fill(values, value(row)); };
    table.emplace(runtime.manager(), std::move(of_table));
    for (RowId row = 0; row < rows; row += 100) table->prefetch(std::vector<RowId>{row});  // many prefetches
  }
  CHECK(std::ranges::count(named, "clicks") == 1);
  CHECK(std::ranges::count(named, "clicks.slots") == 1);
  const auto fetched = table->statistics().prefetched_rows;

  std::vector<float> out(16);
  const auto first_of = [&](RowId row) {
    table->gather(std::vector<RowId>{row}, out);
    return out.front();
  };
  CHECK(first_of(7) == value(7));
  CHECK(first_of(rows - 1) == value(rows - 1));
  const std::vector<float> gradient(16, 1.0F);
  table->update(std::vector<RowId>{7}, gradient, Sgd{1});
  table->scatter(std::vector<RowId>{8'000}, gradient);
  table->flush();
  CHECK(first_of(7) == value(7) - 1);
  CHECK(first_of(8'000) == 1);

  const auto dropped = table->statistics().hints_dropped;
  const auto batch = table->prefetch(std::vector<RowId>{9'000, 10'000});
  table->settle();
  CHECK(table->statistics().hints_dropped > dropped);
  CHECK(table->statistics().prefetched_rows == fetched);
  table->cancel(batch);
  CHECK(first_of(9'000) == value(9'000));
  table->check_invariants();
}

TEST_CASE("a scope may be the last to go, after its object and its runtime") {
  std::unique_ptr<Scope> open;
  {
    RuntimeOptions options = small();
    options.on_survivors = [](std::span<const std::string>) {};
    Runtime runtime{options};
    Tensor<float> tensor{runtime, {64}};
    fill(tensor, 3);
    open = std::make_unique<Scope>(ReadScope{tensor});
  }
  open.reset();  // frees the bytes and the manager; sanitizers check that
}

TEST_CASE("survivors are named on stderr, and a checked build aborts for them") {
  const auto ended = run_in_child("survivors", [] {
    std::vector<Tensor<float>> survivors;
    Runtime runtime{small()};
    survivors.emplace_back(runtime, Shape{4}, "weights");
    survivors.emplace_back(runtime, Shape{4});
    Runtime gone{std::move(runtime)};
  });
  CHECK(contains(ended.errors, "2 objects outlive the runtime: \"weights\", (unnamed)"));
#if defined(TIER_CHECKED)
  CHECK(ended.signal == SIGABRT);
#else
  CHECK(ended.signal == 0);
#endif
}

TEST_CASE(
    "in the child of a fork resident objects are private memory, and nothing of the parent's is touched") {
  // Runs in its own process, in which movers are the only other threads at the fork.
  const auto ended = run_in_child("forks", [] {
    Runtime runtime{small()};
    std::optional<Tensor<float>> absent{std::in_place, runtime, large, "absent"};
    fill(*absent, 1);
    std::optional<Tensor<float>> resident{std::in_place, runtime, large, "resident"};
    fill(*resident, 2);  // evicts the first
    const auto child = ::fork();
    if (child == 0) {
      bool good = last(*resident) == 2;
      fill(*resident, 3);
      good = good && last(*resident) == 3;
      try {
        std::ignore = last(*absent);
        good = false;
      } catch (const TierError& error) {
        good = good && contains(error.what(), "\"absent\"");
      }
      retire(*resident);
      runtime.end_of_step();
      absent.reset();
      resident.reset();
      { const Runtime gone{std::move(runtime)}; }
      std::_Exit(good ? 7 : 8);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    const bool child_was_good = WIFEXITED(status) && WEXITSTATUS(status) == 7;
    const bool intact = last(*resident) == 2 && last(*absent) == 1 && last(*resident) == 2;
    std::fprintf(stderr, "child %s, parent %s", child_was_good ? "good" : "bad",
                 intact ? "intact" : "broken");
  });
  CHECK(contains(ended.errors, "child good, parent intact"));
  CHECK(ended.code == 0);
}

TEST_CASE("the child of a fork reads and destroys what another thread was reading, in a slot of its own") {
  const auto ended = run_in_child("forks beside a reader", [] {
    Runtime runtime{small()};
    std::optional<Tensor<float>> shared{std::in_place, runtime, large, "shared"};
    fill(*shared, 2);
    auto& state = shared->object().object->block->state;
    std::latch reads{1}, forked{1};
    std::thread reader{[&] {
      state.share();
      const ReadScope scope{*shared};
      reads.count_down();
      forked.wait();
    }};
    reads.wait();
    const bool in_slot = state.now().pins() == 0;
    const auto child = ::fork();
    if (child == 0) {
      ::alarm(60);
      const bool good = last(*shared) == 2;
      shared.reset();
      { const Runtime gone{std::move(runtime)}; }
      std::_Exit(good ? 7 : 8);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    forked.count_down();
    reader.join();
    const bool child_was_good = WIFEXITED(status) && WEXITSTATUS(status) == 7;
    const bool intact = last(*shared) == 2 && state.count_readers().pins() == 0;
    std::fprintf(stderr, "%s, child %s, parent %s", in_slot ? "in a slot" : "pinned",
                 child_was_good ? "good" : "bad", intact ? "intact" : "broken");
  });
  CHECK(ended.errors == "in a slot, child good, parent intact");
  CHECK(ended.code == 0);
}

TEST_CASE("the child of a fork may fork again, and then end the runtime that it has from its parent") {
  const auto ended = run_in_child("forks twice", [] {
    Runtime runtime{small()};
    const auto child = ::fork();
    if (child == 0) {
      ::alarm(60);
      int status = 0;
      const auto grandchild = ::fork();
      if (grandchild == 0) std::_Exit(6);
      ::waitpid(grandchild, &status, 0);
      { const Runtime gone{std::move(runtime)}; }
      std::_Exit(WIFEXITED(status) && WEXITSTATUS(status) == 6 ? 7 : 8);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    std::fputs(WIFEXITED(status) && WEXITSTATUS(status) == 7 ? "good" : "bad", stderr);
  });
  CHECK(ended.errors == "good");
  CHECK(ended.code == 0);
}

TEST_CASE("what lies in a mapped file is the parent's alone: in the child of a fork scopes on it throw") {
  const auto ended = run_in_child("forks", [] {
    const std::vector<std::vector<TierSpec>> choices{{tiers::mapped("/var/tmp", 16_MiB)},
                                                     {tiers::dram(1_MiB), tiers::mapped("/var/tmp", 16_MiB)}};
    for (const auto& tiers : choices) {
      Runtime runtime{{.tiers = tiers, .policy = "first_touch"}};
      std::optional<Tensor<float>> filler, mapped;
      if (tiers.size() > 1) filler.emplace(runtime, Shape{1 << 18}, "filler");
      mapped.emplace(runtime, Shape{1 << 18}, "mapped");
      fill(*mapped, 2);
      const auto child = ::fork();
      if (child == 0) {
        int refused = 0;
        try {
          fill(*mapped, 3);
        } catch (const TierError& error) {
          refused +=
              contains(error.what(), "\"mapped\"") && error.code() == std::errc::operation_not_permitted;
        }
        std::_Exit(refused);
      }
      int status = 0;
      ::waitpid(child, &status, 0);
      std::fprintf(stderr, "%s ",
                   WIFEXITED(status) && WEXITSTATUS(status) == 1 && last(*mapped) == 2 ? "good" : "bad");
    }
  });
  CHECK(contains(ended.errors, "good good "));
  CHECK(ended.code == 0);
}

TEST_CASE(
    "the child of a fork says what it has touched that is absent from a window, and gets the signal all the "
    "same") {
  if (!test::has_windows()) return;
  const auto ended = run_in_child("fork", [] {
    Runtime runtime{
        {.tiers = {tiers::dram(16_MiB), tiers::emulated("cxl", 16_MiB)}, .windows = WindowMode::Full}};
    Tensor<float> x{runtime, Shape{1 << 14}, windowed, "absent"};
    fill(x, 1);
    const float* const at = ReadScope{x}[x].data();
    migrate(x.rows(0, 1 << 14), TierIndex{1});
    ::signal(SIGSEGV, SIG_DFL);
    const auto child = ::fork();
    if (child == 0) std::_Exit(*const_cast<const volatile float*>(at + 1) == 1 ? 1 : 2);
    int status = 0;
    ::waitpid(child, &status, 0);
    std::fprintf(stderr, "%p signal %d", static_cast<const void*>(at + 1),
                 WIFSIGNALED(status) ? WTERMSIG(status) : 0);
  });
  const auto address = ended.errors.substr(ended.errors.rfind("0x"));
  const auto place = address.substr(0, address.find(' '));
  CHECK(ended.errors == "libtier: the child of a fork has touched " + place +
                            ", in \"absent\" (object 1), which is absent from its window "
                            "and cannot be fetched there: move it to memory before the fork (tier::migrate), "
                            "or open a scope on it, which throws an exception instead of ending the child\n" +
                            place + " signal " + std::to_string(SIGSEGV));
}

TEST_CASE(
    "what is absent from a window faults in the child of a fork, also where there are no mappings left") {
  if (!test::has_windows()) return;
  if (test::sanitized) {
    MESSAGE("SKIPPED: a sanitizer ends a process that has no mappings left");
    return;
  }
  const auto ended = run_in_child("forks", [] {
    Runtime runtime{
        {.tiers = {tiers::dram(16_MiB), tiers::emulated("cxl", 16_MiB)}, .windows = WindowMode::Full}};
    std::vector<Tensor<float>> x;
    for (int i = 0; i < 40; ++i)
      fill(x.emplace_back(runtime, Shape{1 << 14}, windowed, "windowed"), static_cast<float>(i + 1));
    for (std::size_t i = 1; i < x.size(); i += 2) migrate(x[i].rows(0, 1 << 14), TierIndex{1});
    std::vector<const float*> at;
    for (const auto& tensor : x) at.push_back(ReadScope{tensor}[tensor].data());
    for (std::size_t i = 1; i < x.size(); i += 2) migrate(x[i].rows(0, 1 << 14), TierIndex{1});
    const auto in_child = [](auto&& work) {
      const auto child = ::fork();
      if (child == 0) {
        ::signal(SIGSEGV, SIG_DFL);
        std::_Exit(work());
      }
      int status = 0;
      ::waitpid(child, &status, 0);
      return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
    };
    const auto try_all = [&] {
      int faults = 0, reached = 0, refused = 0;
      for (std::size_t i = 1; i < x.size(); i += 2)
        faults +=
            in_child([&] { return *const_cast<const volatile float*>(at[i]) == 0 ? 1 : 2; }) == -SIGSEGV;
      for (std::size_t i = 0; i < x.size(); i += 2) {
        const int got = in_child([&] {
          try {
            return last(x[i]) == static_cast<float>(i + 1) ? 1 : 3;
          } catch (const TierError&) {
            return 2;
          }
        });
        reached += got == 1;
        refused += got == 2;
      }
      std::fprintf(stderr, "%d faults, %d reached, %d refused; ", faults, reached, refused);
    };
    try_all();
    std::vector<void*> mappings;  // no two of them can merge
    for (int i = 0;; ++i) {
      void* p = ::mmap(nullptr, 4096, i % 2 == 0 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (p == MAP_FAILED) break;
      mappings.push_back(p);
    }
    for (int i = 0; i < 20; ++i, mappings.pop_back()) ::munmap(mappings.back(), 4096);
    try_all();
    for (void* p : mappings) ::munmap(p, 4096);
    bool intact = true;
    for (std::size_t i = 0; i < x.size(); ++i) intact &= last(x[i]) == static_cast<float>(i + 1);
    std::fputs(intact ? "intact" : "broken", stderr);
  });
  CHECK(ended.errors == "20 faults, 20 reached, 0 refused; 20 faults, 0 reached, 20 refused; intact");
}

TEST_CASE("restricted windows in a file are the parent's alone, those in memory are copied by a fork") {
  const auto ended = run_in_child("forks", [] {
    for (const auto& slow : {tiers::mapped("/var/tmp", 16_MiB), tiers::emulated("cxl", 16_MiB)}) {
      Runtime runtime{{.tiers = {tiers::dram(8_MiB), slow}, .windows = WindowMode::Restricted}};
      Tensor<float> x{runtime, large, windowed, "windowed"};
      Tensor<float> retired{runtime, large, windowed, "retired"};
      fill(x, 2);
      retire(retired);
      const auto child = ::fork();
      if (child == 0) {
        bool reached = false;
        try {
          reached = last(x) == 2;
          fill(x, 3);
        } catch (const TierError& error) {
          std::fputs(contains(error.what(), "\"windowed\"") ? "refused " : "bad ", stderr);
        }
        std::fputs(reached ? "reached " : "", stderr);
        std::_Exit(0);
      }
      ::waitpid(child, nullptr, 0);
      std::fputs(last(x) == 2 ? "good " : "bad ", stderr);
    }
  });
  CHECK(ended.errors == "refused good reached good ");
}

TEST_CASE("forks while other threads migrate find every manager at rest") {
  if (test::address_sanitized) {  // its allocator's locks are not fork-safe: a child hangs
    MESSAGE("skipped: the child of a fork cannot allocate under AddressSanitizer while other threads do");
    return;
  }
  const auto ended = run_in_child("forks", [] {
    Runtime runtime{small()};
    std::vector<Tensor<float>> t;
    for (int i = 0; i < 3; ++i) fill(t.emplace_back(runtime, large), static_cast<float>(i));
    std::atomic<bool> done{false};
    std::thread worker{[&] {
      for (std::size_t i = 0; !done; i = (i + 1) % 3) std::ignore = last(t[i]);
    }};
    int good = 0;
    for (int i = 0; i < 20; ++i) {
      const auto child = ::fork();
      if (child == 0) {
        int reached = 0;
        for (std::size_t k = 0; k < 3; ++k) {
          try {
            if (last(t[k]) == static_cast<float>(k)) ++reached;
          } catch (const TierError&) {
          }
        }
        { const Runtime gone{std::move(runtime)}; }
        std::_Exit(reached <= 1 ? 7 : 8);
      }
      int status = 0;
      ::waitpid(child, &status, 0);
      if (WIFEXITED(status) && WEXITSTATUS(status) == 7) ++good;
    }
    done = true;
    worker.join();
    std::fprintf(stderr, "%d good", good);
  });
  CHECK(contains(ended.errors, "20 good"));
}

TEST_CASE("a program's own policy is one class and one line") {
  class Scripted final : public Policy {
   public:
    explicit Scripted(PolicyOptions options) : options_{options.begin(), options.end()} {}
    [[nodiscard]] std::string_view name() const noexcept override { return "scripted"; }
    [[nodiscard]] Placement place(const AllocationEvent& event, PolicyContext&) override {
      return {static_cast<TierIndex>(event.name == options_.at(0).second ? 1 : 0), false};
    }
    [[nodiscard]] MissDecision on_miss(const MissEvent&, PolicyContext&) override { return {}; }

   private:
    std::vector<std::pair<std::string, std::string>> options_;
  };
  register_policy("scripted", [](PolicyOptions options) { return std::make_unique<Scripted>(options); });
  auto runtime = Runtime::from_spec("dram:1MiB;emulated:cxl:1MiB", "scripted:slow=cold");
  const Tensor<float> hot{runtime, {16}, "hot"}, cold{runtime, {16}, "cold"};
  const auto objects = runtime.object_statistics();
  REQUIRE(objects.size() == 2);
  for (const auto& object : objects) CHECK(object.tier == (object.name == "cold" ? 1 : 0));

  CHECK(std::ranges::count(policy_names(), "scripted") == 1);
  CHECK(contains(test::message_of<ConfigError>([] { register_policy("scripted", never_called); }),
                 "registered already"));
  CHECK(contains(test::message_of<ConfigError>([] { register_policy("lru", never_called); }),
                 "registered already"));
  CHECK(contains(test::message_of<ConfigError>([] { register_policy("a:b", never_called); }), "a:b"));
}

TEST_CASE("statistics tell what has moved, as numbers, as text and as JSON") {
  Runtime runtime{small()};
  std::vector<Tensor<float>> t;
  for (int i = 0; i < 3; ++i) fill(t.emplace_back(runtime, large, "t" + std::to_string(i)), 1);
  for (const auto& tensor : t) std::ignore = last(tensor);
  runtime.manager()->quiesce();
  const auto s = runtime.statistics();
  CHECK(s.objects == 3);
  CHECK(s.bytes_moved(0, 1) >= 2 * t[0].size_bytes().count);
  CHECK(s.bytes_moved(1, 0) >= 2 * t[0].size_bytes().count);
  CHECK(s.tiers.at(0).high_water <= 1_MiB);

  const auto json = nlohmann::json::parse(s.to_json());
  CHECK(json.at("tiers").at(0).at("name") == "dram");
  CHECK(json.at("tiers").at(1).at("capacity") == (16_MiB).count);
  std::uint64_t up = 0;
  for (const auto& moved : json.at("moved"))
    if (moved.at("from") == "file" && moved.at("to") == "dram") up += moved.at("bytes").get<std::uint64_t>();
  CHECK(up == s.bytes_moved(1, 0));
  CHECK(json.at("misses") == s.misses);

  const auto text = s.to_text();
  for (const auto* part : {"dram", "file > dram, miss", "evictions", "stalls"}) CHECK(contains(text, part));

  const auto objects = nlohmann::json::parse(to_json(runtime.object_statistics(), s));
  REQUIRE(objects.size() == 3);
  CHECK(objects.at(2).at("name") == "t2");
  CHECK(objects.at(2).at("tier") == "dram");
  CHECK(contains(to_text(runtime.object_statistics(), s), "t2"));
}

}  // namespace tier::runtime_test
