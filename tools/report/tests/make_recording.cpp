// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Writes a recording for the test of the program: make_recording FILE SEED LAYERS ITERATIONS [hostile]
#include <tier/core/standard_streams.hpp>
#include <tier/trace/files.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>

#include "recording.hpp"

int main(int argc, char** argv) try {
  tier::hold_standard_streams();
  if (argc < 5) return 2;
  const auto number = [&](int i) { return std::strtoull(argv[i], nullptr, 10); };
  const tier::test::RecordingOptions options{.seed = number(2),
                                             .layers = number(3),
                                             .iterations = number(4),
                                             .hostile = argc > 5 && argv[5] == std::string_view{"hostile"}};
  tier::trace::write_file(tier::test::Recording{options}.make(), argv[1]);
} catch (const std::exception& error) {
  std::fprintf(stderr, "make_recording: %s\n", error.what());
  return 1;
}
