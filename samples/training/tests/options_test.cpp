// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Tests the effects of options.
#include "training_console/options.hpp"

#include <doctest/doctest.h>
#include <tier/core/error.hpp>

#include <algorithm>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "support/odd_options.hpp"
#include "support/temporary_directory.hpp"
#include "trainer/tests/cases.hpp"
#include "trainer/tiered_memory.hpp"
#include "training/runs.hpp"

namespace options_test {

using namespace training;
using namespace training::test;

namespace {

Options parsed(std::vector<std::string> arguments) { return *parse_options(std::move(arguments), std::cout); }

RunResult make(const std::string& name, const std::vector<std::string>& more) {
  std::vector<std::string> arguments{"resnet32", "--batch", "8", "--iterations", "2"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const auto experiment = make_experiment(parsed(arguments));
  tier::tool::TerminalLine progress{stderr};
  return make_run({name, experiment.options.fast}, experiment, progress, never);
}

/// Counts tensors of the optimiser's state.
std::size_t states(const std::string& optimizer, std::string_view suffix) {
  const auto experiment = make_experiment(parsed({"resnet32", "--batch", "8", "--optimizer", optimizer}));
  return static_cast<std::size_t>(std::ranges::count_if(
      experiment.steps.prediction.tensors, [&](const StepTensor& t) { return t.name.ends_with(suffix); }));
}

}  // namespace

TEST_CASE("--mode is the policy of that mode, and not beside --policy") {
  CHECK(parsed({"resnet32"}).policy == "hint_aware");
  CHECK(parsed({"resnet32", "--mode", "LM"}).policy == "hint_aware:free=0,mode=LM");
  CHECK_THROWS_AS(parsed({"resnet32", "--mode", "M"}), tier::ConfigError);
  CHECK_THROWS_AS(parsed({"resnet32", "--mode", "0", "--policy", "lru"}), tier::ConfigError);
}

TEST_CASE("--async off makes the synchronous run") {
  CHECK(plan_runs(parsed({"resnet32", "--async", "on"})).back().name == "async");
  CHECK(plan_runs(parsed({"resnet32", "--async", "off"})).back().name == "sync");
  CHECK_THROWS_AS(parsed({"resnet32", "--async", "no"}), tier::ConfigError);
}

TEST_CASE("--optimizer says what is kept of each parameter") {
  CHECK(states("sgd", ".velocity") > 60);
  CHECK(states("sgd", ".square") == 0);
  CHECK(states("adam", ".square") == states("sgd", ".velocity"));
  CHECK(states("adam", ".mean") == states("sgd", ".velocity"));
  CHECK_THROWS_AS(parsed({"resnet32", "--optimizer", "lion"}), tier::ConfigError);
}

TEST_CASE("--growth is how many channels a DenseNet's layers add") {
  const auto step = make_step(parsed({"densenet121", "--batch", "1", "--growth", "48"}));
  const auto first = std::ranges::find(step.tensors, "conv3.w", &StepTensor::name);
  REQUIRE(first != step.tensors.end());
  CHECK(first->desc.dims() == Dims{48, 4 * 48, 3, 3});
}

TEST_CASE("--more is used beside the two tiers") {
  const auto run = make("async", {"--fast", "20%", "--more", "emulated:redl:2MiB"});
  CHECK(run.checksum == make("plain", {}).checksum);
  const auto& peaks = run.traffic.peaks;
  REQUIRE(peaks.size() == 3);
  const auto more = std::ranges::find(peaks, "emulated:redl", &TierPeak::tier);
  REQUIRE(more != peaks.end());
  CHECK(more->bytes > 0);
}

TEST_CASE("--paging-folder is where the system pages to") {
  const tier::test::TemporaryDirectory folder;
  for (const auto* name : {"os_paging_default", "os_paging_random", "os_paging_willneed"}) {
    CAPTURE(name);
    CHECK_THROWS_WITH_AS(std::ignore = make(name, {"--paging-folder", folder.path() + "/none"}),
                         doctest::Contains(folder.path().c_str()), tier::TierError);
  }
}

TEST_CASE("bytes move ahead by movers, between memories only where a core is free for them") {
  constexpr std::size_t all = 2, many = 16;
  TieredOptions options{.fast = {1 << 20}};
  CHECK(moves_ahead(options, all, all));  // a recording
  options.slow = tier::tiers::emulated("redl", tier::Bytes{1 << 20});
  CHECK_FALSE(moves_ahead(options, all, all));
  CHECK(moves_ahead(options, all - 1, all));
  CHECK(moves_ahead(options, many, many));
  options.slow = tier::tiers::file("/var/tmp", tier::Bytes{1 << 20});
  CHECK(moves_ahead(options, all, all));
  options.movers = 0;
  CHECK_FALSE(moves_ahead(options, all, all));
}

TEST_CASE("--prefetch-budget is of the fast memory, and more where bytes do not move ahead, or need not") {
  using Bytes = std::pair<std::size_t, std::size_t>;
  const auto experiment = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"resnet32", "--batch", "1"});
    return make_experiment(parsed(arguments));
  };
  const auto of = [](const Experiment& e, std::size_t fast, bool ahead) {
    const auto found = budget_of(e, {fast}, ahead);
    CHECK(found.ahead == ahead);
    return Bytes{found.forward, found.backward};
  };
  const auto budget = [&](const std::vector<std::string>& more, bool ahead) {
    return of(experiment(more), 3000, ahead);
  };
  CHECK(budget({}, true) == Bytes{1400, 2100});
  CHECK(budget({}, false) == Bytes{2040, 2550});
  CHECK(budget({"--prefetch-budget", "50%"}, true) == Bytes{1000, 1500});
  CHECK(budget({"--prefetch-budget", "50%"}, false) == Bytes{1200, 1500});
  const auto all = experiment({});
  for (const bool ahead : {true, false}) {
    CHECK(of(all, all.peak, ahead) == Bytes{all.peak, all.peak});
    CHECK(of(all, 2 * all.peak, ahead) == Bytes{all.peak, all.peak});
    CHECK(of(all, all.peak - 1000, ahead) == Bytes{all.peak - 2500, all.peak - 1500});
    CHECK(of(experiment({"--prefetch-budget", "1"}), all.peak, ahead).second == 1);
  }
}

namespace {

/// Returns the error message for options that make no step.
std::string refusal(std::vector<std::string> arguments) {
  try {
    std::ignore = make_step(parsed(std::move(arguments)));
  } catch (const tier::ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("a step that nobody has memory for, or whose sizes wrap, is refused in words") {
  for (const auto* network : {"resnet32", "transformer", "vgg16", "lstm"}) {
    CAPTURE(network);
    for (const auto bits : {31, 59, 60, 61, 62}) {
      const auto batch = std::to_string(std::int64_t{1} << bits);
      CHECK(refusal({network, "--batch", batch}) ==
            "--batch " + batch + " is too large: allowed are 1 to 2147483647");
    }
  }
  CHECK(refusal({"resnet32", "--batch", "2147483647"}) ==
        "the tensors of a step of resnet32 take more than 1024.00 TiB: make options such as --batch and "
        "--image smaller");
  CHECK(refusal({"vgg16", "--batch", "2147483647", "--image", "2147483647"})
            .find("a tensor of 2147483647 x 3 x 2147483647 x 2147483647 values is too large: at most "
                  "281474976710656 are allowed") == 0);
  CHECK(refusal({"resnet32", "--batch", "1", "--image", "65536"}) ==
        "an image of 3 x 65536 x 65536 values in a layer is too large: at most 2147483647 are allowed; make "
        "--image smaller");
  CHECK(refusal({"lstm", "--width", "2147483647"}).find("is too large") != std::string::npos);
  CHECK(
      refusal({"transformer", "--steps", "2147483647"}) ==
      "a step of transformer has more than 100000 tensors: make options such as --width and --steps smaller");
  CHECK(refusal({"densenet121", "--growth", "2147483647"}).find("is too large") != std::string::npos);
  CHECK(refusal({"resnet32", "--threads", "4294967296"}) ==
        "--threads 4294967296 is too large: allowed are 0 to 4096");
  CHECK(refusal({"lstm", "--steps", "16777216", "--steps-at-once", "1"}) ==
        "--steps 16777216 in pieces of --steps-at-once 1 are too many: at most 4096 pieces are allowed");
  CHECK(refusal({"resnet32", "--rate", "1e300"}) == "--rate must be positive and finite");
  CHECK(refusal({"resnet32", "--decay", "nan"}) == "--decay must be finite and not negative");
}

TEST_CASE("whatever numbers options have, they make a step or are refused in words" *
          doctest::test_suite("fuzz")) {
  for (const std::string network : {"resnet32", "lstm", "transformer"}) {
    CAPTURE(network);
    tier::test::fuzz_options(
        {network},
        {"--batch", "--image", "--growth", "--steps", "--width", "--steps-at-once", "--rate", "--decay",
         "--iterations", "--epochs", "--seed", "--threads", "--fast", "--movers", "--prefetch-budget"},
        [](const std::vector<std::string>& line) { CHECK(refusal(line) != ""); });
  }
}

}  // namespace options_test
