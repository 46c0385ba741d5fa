// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <tier/core/error.hpp>
#include <tier/replay/machine_file.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "support/fuzz.hpp"
#include "support/temporary_directory.hpp"

using namespace tier;

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
