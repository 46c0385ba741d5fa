// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "copy/kernel_choice.hpp"

#include "support/child.hpp"
#include "support/message_of.hpp"
#include "support/temporary_directory.hpp"
#include "support/variable.hpp"

#include <sys/stat.h>
#include <tier/copy/copy_engine.hpp>
#include <tier/core/error.hpp>
#include <tier/core/input_file.hpp>
#include <tier/core/output_file.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "copy/kernel_measurement.hpp"

namespace tier::kernel_choice_test {

using namespace tier::detail;
using namespace std::chrono_literals;

namespace {

using Times = std::vector<std::chrono::microseconds>;

/// Returns a measurement of kernels that took these times; the first is the guess.
KernelMeasurement measured(const std::vector<Times>& times) {
  static const std::vector<StreamKernel> kernels{{"a", nullptr}, {"b", nullptr}, {"c", nullptr}};
  KernelMeasurement measurement{std::span{kernels}.first(times.size())};
  for (std::size_t candidate = 0; candidate < times.size(); ++candidate)
    for (const auto time : times[candidate]) measurement.note(candidate, time);
  return measurement;
}
std::string fastest(const std::vector<Times>& times) { return measured(times).fastest().name; }

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a kernel that is clearly faster than the guess is chosen, the fastest of several") {
  CHECK(fastest({{100us, 100us, 100us}, {90us, 90us, 90us}}) == "b");
  CHECK(fastest({{100us, 100us, 100us}, {90us, 91us, 90us}, {80us, 82us, 80us}}) == "c");
  CHECK(fastest({{100us, 100us, 100us}, {110us, 120us, 110us}}) == "a");
}

TEST_CASE("noise does not choose: a small gain, single fast copies, or too few of them leave the guess") {
  CHECK(fastest({{100us, 100us, 100us}, {98us, 98us, 98us}}) == "a");
  CHECK(fastest({{100us, 100us, 100us}, {50us, 101us, 102us}}) == "a");
  // The medians differ, but the guess wins half of the rounds.
  CHECK(fastest({{60us, 60us, 100us, 100us}, {80us, 80us, 50us, 80us}}) == "a");
  CHECK(fastest({{100us, 100us}, {50us, 50us}}) == "a");
  CHECK(fastest({{100us, 100us, 100us}, {50us, 50us, 50us}, {50us}}) == "a");
}

TEST_CASE("rates are of medians, in bytes per second") {
  const auto rates = measured({{100us, 200us, 1000us}, {50us, 50us, 50us}}).rates();
  REQUIRE(rates.size() == 2);
  CHECK(rates[0].bytes_per_second == doctest::Approx(KernelMeasurement::copy_bytes / 200e-6));
  CHECK(rates[1].bytes_per_second == doctest::Approx(KernelMeasurement::copy_bytes / 50e-6));
}

TEST_CASE("a measurement ends by itself, within its rounds and its time, and copies with every candidate") {
  KernelMeasurement rounds{candidate_kernels(), {.time = 10s, .rounds = 3}};
  unsigned steps = 0;
  while (rounds.step()) ++steps;
  const auto candidates = candidate_kernels().size();
  CHECK(candidates <= KernelMeasurement::most_candidates);
  CHECK(steps == (candidates < 2 ? 0 : 3 * candidates));
  for (const auto& rate : rounds.rates()) CHECK(rate.bytes_per_second > 1e6);
  KernelMeasurement brief{candidate_kernels(), {.time = 0ms, .rounds = 3}};
  CHECK(!brief.step());
  CHECK(!brief.is_complete());
}

TEST_CASE("the guess is a candidate, and a name finds each kernel and no other") {
  CHECK(candidate_kernels().front().name == guessed_kernel().name);
  for (const auto& kernel : stream_kernels()) CHECK(find_kernel(kernel.name) == &kernel);
  CHECK(find_kernel("") == nullptr);
  CHECK(find_kernel("avx") == nullptr);
}

TEST_CASE("what was found is remembered for a machine, beside what was found for others") {
  const test::TemporaryDirectory folder;
  const auto path = folder.path() + "/deep/er/copy.json";
  CHECK(!remembered_kernel(path, "A"));
  remember_kernel(path, "A", "avx2");
  remember_kernel(path, "B", "movsb");
  CHECK(remembered_kernel(path, "A") == "avx2");
  CHECK(remembered_kernel(path, "B") == "movsb");
  remember_kernel(path, "A", "sse2");
  CHECK(remembered_kernel(path, "A") == "sse2");
  CHECK(!remembered_kernel(path, "C"));
  for (int i = 0; i < 40; ++i) remember_kernel(path, std::to_string(i), "sse2");
  CHECK(!remembered_kernel(path, "A"));  // the last 16 stay
  CHECK(remembered_kernel(path, "24") == "sse2");
  CHECK(!remembered_kernel(path, "23"));
}

TEST_CASE(
    "a file that is damaged or cannot be written does no harm, and names that are not UTF-8 are kept out") {
  const test::TemporaryDirectory folder;
  const auto path = folder.path() + "/copy.json";
  for (const auto* text :
       {"", "{", "[]", "{\"version\": 2, \"machines\": []}", "{\"version\": 1}",
        "{\"version\": 1, \"machines\": {}}", "{\"version\": 1, \"machines\": [1, {\"key\": 3}]}",
        "{\"version\": 1, \"machines\": [{\"key\": \"A\"}]}",
        "{\"version\": 1, \"machines\": [{\"key\": \"A\", \"kernel\": 7}]}"}) {
    CAPTURE(text);
    write_file(path, text);
    CHECK(!remembered_kernel(path, "A"));
    remember_kernel(path, "A", "avx2");
    CHECK(remembered_kernel(path, "A") == "avx2");
  }
  write_file(path, std::string(100'000, ' '));
  CHECK(!remembered_kernel(path, "A"));
  remember_kernel(path, "\xff", "avx2");
  remember_kernel(path, "A", "avx2");
  CHECK(remembered_kernel(path, "A") == "avx2");
  remember_kernel(path + "/below/a/file.json", "A", "avx2");
  remember_kernel("/proc/libtier/copy.json", "A", "avx2");
}

TEST_CASE("the file lies in the user's cache folder, and there is none without one") {
  const test::Variable home{"HOME", "/home/me"}, cache{"XDG_CACHE_HOME", "/cache"};
  CHECK(kernel_file() == "/cache/libtier/copy.json");
  const test::Variable relative{"XDG_CACHE_HOME", "cache"};
  CHECK(kernel_file() == "/home/me/.cache/libtier/copy.json");
  const test::Variable nowhere{"HOME", ""};
  CHECK(kernel_file().empty());
}

TEST_CASE("a machine's key names CPU, kernel and topology, in one line") {
  const auto key = machine_key();
  CHECK(contains(key, "Linux "));
  CHECK(contains(key, "; CPUs 0"));
  CHECK(!contains(key, "\n"));
  CHECK(key == machine_key());
}

namespace {

/// Says, in a process of its own, which kernel a program has, and why, when its engine has had time to measure.
std::string chosen_with(const std::string& label, const std::string& cache, const char* variable,
                        std::string* errors = nullptr) {
  const auto run = [&] {
    if (variable == nullptr) ::unsetenv("TIER_COPY_KERNEL");
    auto& choice = KernelChoice::of_process();
    {
      const CopyEngine engine{{.threads = 1, .movers = 2, .yields = false}};
      for (int i = 0; i < 10'000 && choice.is_open(); ++i) std::this_thread::sleep_for(1ms);
      for (int i = 0; i < 100 && choice.origin() == KernelOrigin::Guess; ++i)
        std::this_thread::sleep_for(1ms);
    }
    std::fprintf(stderr, "%s|%s\n", current_kernel().name, std::string{describe(choice.origin())}.c_str());
  };
  const auto ended = test::run_in_child(
      label, run, {{"XDG_CACHE_HOME", cache}, {"TIER_COPY_KERNEL", variable == nullptr ? "" : variable}});
  CHECK(ended.code == 0);
  if (errors != nullptr) *errors = ended.errors;
  auto text = ended.errors.substr(0, ended.errors.rfind('\n'));
  return text.substr(text.rfind('\n') + 1);  // the last line
}

}  // namespace

TEST_CASE("an engine measures once for a machine; later processes take what was found") {
  if (candidate_kernels().size() < 2) return;
  const test::TemporaryDirectory folder;
  const auto first = chosen_with("first", folder.path(), nullptr);
  if (contains(first, "guessed")) return;  // the machine is too slow, or too busy, to tell within the time
  CHECK(contains(first, "measured by this process"));
  const auto second = chosen_with("second", folder.path(), nullptr);
  CHECK(second == first.substr(0, first.find('|')) + "|measured earlier");
}

TEST_CASE("the environment decides, and a word that it does not know leaves the guess, with a message") {
  const test::TemporaryDirectory folder;
  const std::string last = stream_kernels().back().name;
  CHECK(chosen_with("last", folder.path(), last.c_str()) == last + "|TIER_COPY_KERNEL");
  CHECK(chosen_with("guess", folder.path(), "guess") ==
        std::string{guessed_kernel().name} + "|TIER_COPY_KERNEL");
  std::string errors;
  CHECK(contains(chosen_with("unknown", folder.path(), "avx1024", &errors), "guessed"));
  CHECK(contains(errors, "TIER_COPY_KERNEL: unknown copy kernel"));
  CHECK(contains(errors, kernel_names()));
}

TEST_CASE("a program sets a kernel by name; an unknown one is refused with those that this CPU has") {
  const auto before = std::string{current_kernel().name};
  KernelChoice::of_process().set(stream_kernels().back().name);
  CHECK(&current_kernel() == &stream_kernels().back());
  CHECK(KernelChoice::of_process().origin() == KernelOrigin::Option);
  const auto message = test::message_of<ConfigError>([] { KernelChoice::of_process().set("movsbb"); });
  CHECK(contains(message, "unknown copy kernel"));
  CHECK(contains(message, kernel_names()));
  KernelChoice::of_process().set(before);
}

}  // namespace tier::kernel_choice_test
