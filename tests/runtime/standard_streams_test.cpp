// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Programs that start with standard streams closed: no descriptor of libtier may take their numbers.
#include "support/child.hpp"
#include "support/temporary_directory.hpp"
#include "support/windows.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>
#include <tier/core/output_file.hpp>
#include <tier/core/standard_streams.hpp>
#include <tier/memory/discovery.hpp>
#include <tier/pmr/migrating_resource.hpp>
#include <tier/runtime/runtime.hpp>
#include <tier/scope/scope.hpp>
#include <tier/tensor/tensor.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory_resource>
#include <string>
#include <vector>

namespace tier::standard_streams_test {
namespace {

using namespace literals;
using ByteTensor = Tensor<unsigned char>;

constexpr std::array<int, 3> streams{STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};

bool is_closed(int descriptor) { return ::fcntl(descriptor, F_GETFD) < 0 && errno == EBADF; }

/// Prints to all streams without checks; if a file of libtier had such a number, this would overwrite it.
void print_everywhere() {
  constexpr std::string_view text = "an ordinary message of the program\n";
  for (const int stream : streams)
    for (int i = 0; i < 200; ++i) static_cast<void>(!::write(stream, text.data(), text.size()));
}

/// \return  true if all of them hold what was written
bool hold(std::vector<ByteTensor>& tensors) {
  bool all = true;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const ReadScope scope{tensors[i]};
    const auto view = scope[tensors[i]];
    all = all && std::all_of(view.data(), view.data() + view.count(), [&](auto b) { return b == i + 1; });
  }
  return all;
}

/// \return  0 if nothing went wrong
int use_tiers(const std::vector<TierSpec>& tiers, const std::string& trace, WindowMode windows,
              const std::vector<int>& closed) {
  RuntimeOptions options;
  options.tiers = tiers;
  options.trace = trace;
  options.windows = windows;
  Runtime runtime{std::move(options)};
  std::vector<ByteTensor> tensors;
  for (std::size_t i = 0; i < 24; ++i) {
    tensors.emplace_back(runtime, Shape{(1_MiB).count});
    KernelScope scope{"write", overwrites(tensors.back())};
    std::memset(scope.out(tensors.back()).data(), static_cast<int>(i + 1), (1_MiB).count);
  }
  MigratingResource memory{runtime};
  std::pmr::vector<unsigned char> windowed((12_MiB).count, 0x5A, &memory);
  if (!std::ranges::all_of(closed, is_closed)) return 3;
  print_everywhere();
  static_cast<void>(discover());
  if (!std::ranges::all_of(closed, is_closed)) return 4;
  const bool whole = std::ranges::all_of(windowed, [](auto b) { return b == 0x5A; });
  return !hold(tensors) ? 5 : whole ? 0 : 6;
}

}  // namespace

TEST_CASE("a program whose standard streams are closed prints into no data of a runtime") {
  const test::TemporaryDirectory folder;
  const auto in_memory = lies_in_memory("/dev/shm") ? "/dev/shm" : folder.path();
  const std::vector<std::vector<TierSpec>> all{
      {tiers::dram(8_MiB), tiers::mapped(folder.path(), 64_MiB)},
      {tiers::dram(8_MiB), tiers::file(folder.path(), 64_MiB)},
      {tiers::dram(8_MiB), tiers::file(in_memory, 64_MiB)},
  };
  const std::vector<std::vector<int>> sets{{0}, {1}, {2}, {0, 1, 2}};
  for (std::size_t t = 0; t < all.size(); ++t)
    for (std::size_t s = 0; s < sets.size(); ++s)
      for (const auto windows : test::window_modes()) {
        const auto label =
            std::to_string(t) + " " + std::to_string(s) + " " + std::string{to_string(windows)};
        CAPTURE(label);
        const auto ended = test::run_in_child(label, [&] {
          for (const int stream : sets[s]) ::close(stream);
          std::_Exit(use_tiers(all[t], folder.path() + "/" + label + ".tt", windows, sets[s]));
        });
        CHECK(ended.code == 0);
        CHECK(ended.signal == 0);
      }
}

TEST_CASE("a tier whose I/O is done by threads takes the place of no closed stream either") {
  const test::TemporaryDirectory folder;
  const auto ended = test::run_in_child("threads", [&] {
    for (const int stream : streams) ::close(stream);
    auto slow = tiers::file(folder.path(), 64_MiB);
    slow.engine = IoEngine::Threads;
    std::_Exit(use_tiers({tiers::dram(8_MiB), slow}, {}, WindowMode::Restricted, {0, 1, 2}));
  });
  CHECK(ended.code == 0);
}

TEST_CASE("a file that is written where standard streams are closed gets none of their places") {
  const test::TemporaryDirectory folder;
  const auto ended = test::run_in_child("file", [&] {
    for (const int stream : streams) ::close(stream);
    OutputFile file{folder.path() + "/file"};
    std::_Exit(std::ranges::all_of(streams, is_closed) ? 0 : 3);
  });
  CHECK(ended.code == 0);
}

TEST_CASE("streams that are held can neither be read nor written, and no file gets their places") {
  const auto ended = test::run_in_child("held", [] {
    for (const int stream : streams) ::close(stream);
    hold_standard_streams();
    char byte = 'x';
    if (::read(STDIN_FILENO, &byte, 1) >= 0 || errno != EBADF) std::_Exit(3);
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO})
      if (::write(stream, &byte, 1) >= 0 || errno != EBADF) std::_Exit(4);
    std::_Exit(::open("/dev/null", O_RDONLY) > STDERR_FILENO ? 0 : 5);
  });
  CHECK(ended.code == 0);
}

TEST_CASE("streams that are open stay as they are") {
  const auto ended = test::run_in_child("open", [] {
    hold_standard_streams();
    static_cast<void>(!::write(STDERR_FILENO, "still there", 11));
  });
  CHECK(ended.errors == "still there");
}

}  // namespace tier::standard_streams_test
