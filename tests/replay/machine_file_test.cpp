// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <tier/core/error.hpp>
#include <tier/replay/machine_file.hpp>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "support/fuzz.hpp"
#include "support/message_of.hpp"
#include "support/temporary_directory.hpp"

namespace tier::machine_file_test {

namespace {

const replay::Machine& known() { return *replay::find_machine("redl"); }

}  // namespace

TEST_CASE("a machine's name that is not UTF-8 is written with replacement characters, and read as that") {
  const test::TemporaryDirectory folder;
  const auto path = folder.path() + "/machine.json";
  auto machine = known();
  machine.name = "gr\xfc\xdf";
  replay::write_machine(machine, path);
  CHECK(replay::read_machine(path).name == "gr\ufffd\ufffd");
}

TEST_CASE("a machine file may have a byte order mark and lines of Windows") {
  const test::TemporaryDirectory folder;
  const auto path = folder.path() + "/machine.json";
  replay::write_machine(known(), path);
  std::string text = "\xef\xbb\xbf";
  {
    std::ifstream in{path};
    for (std::string line; std::getline(in, line);) text += line + "\r\n";
  }
  std::ofstream{path} << text;
  CHECK(replay::read_machine(path).devices.size() == known().devices.size());
}

TEST_CASE(
    "a machine file with times beyond what sums of them can tell, or names of several lines, is refused") {
  const auto message = [](auto&& change) {
    auto machine = known();
    change(machine);
    return test::message_of<ConfigError>(
        [&] { (void)replay::parse_machine(replay::to_json(machine), "the text"); });
  };
  using ns = std::chrono::nanoseconds;
  const auto says = [](const std::string& text, const char* what) {
    return text.find(what) != std::string::npos;
  };
  const auto* const allowed = " is negative or too long; allowed: 0 to 10^15 ns";
  for (const auto time : {ns{-1}, ns{1'000'000'000'000'001}, ns::max()}) {
    CHECK(says(message([&](auto& m) { m.devices[1].latency = time; }), allowed));
    CHECK(says(message([&](auto& m) { m.devices[0].row_read = time; }), allowed));
    CHECK(says(message([&](auto& m) { m.copy_start = time; }), allowed));
    CHECK(says(message([&](auto& m) { m.row_update = time; }), allowed));
  }
  CHECK(message([](auto& m) { m.devices[1].latency = ns{1'000'000'000'000'000}; }) == "nothing thrown");
  const auto* const lines = "has control characters, such as line breaks; allowed: all others";
  CHECK(says(message([](auto& m) { m.devices[0].name += "\nset print 'x'"; }), lines));
  CHECK(says(message([](auto& m) { m.devices[0].name += '\x7f'; }), lines));
  CHECK(says(message([](auto& m) { m.name += "\x1b[31m"; }), lines));
  CHECK(message([](auto& m) { m.devices[1].name = "langsam \u00e4"; }).find(lines) == std::string::npos);
}

TEST_CASE("a damaged machine file is read as a machine that makes sense, or refused by name" *
          doctest::test_suite("fuzz")) {
  const test::TemporaryDirectory folder;
  const auto path = folder.path() + "/machine.json";
  std::vector<std::string> examples;
  for (const auto name : replay::machine_names()) {
    auto machine = *replay::find_machine(name);
    machine.devices.resize(1);
    machine.ops.resize(std::min<std::size_t>(machine.ops.size(), 2));
    machine.slow_downs.clear();
    replay::write_machine(machine, path);
    std::ifstream in{path};
    examples.emplace_back(std::istreambuf_iterator{in}, std::istreambuf_iterator<char>{});
  }
  test::fuzz(examples, [&](const std::string& text) {
    try {
      const auto machine = replay::parse_machine(text, "the text");
      machine.check();
      replay::write_machine(machine, path);
      CHECK(replay::read_machine(path).devices.size() == machine.devices.size());
    } catch (const ConfigError& error) {
      CHECK(std::string_view{error.what()}.starts_with("the text"));
    }
  });
}

}  // namespace tier::machine_file_test
