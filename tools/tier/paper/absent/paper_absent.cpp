// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  `tier paper` in builds without the papers' networks, which belong to a sample.
#include <stdexcept>

#include "paper/paper.hpp"

namespace tier::tool {

void add_paper(CLI::App& app) {
  auto* const command = app.add_subcommand("paper", "The papers' tables, replayed: not in this build");
  command->allow_extras();
  command->callback([] {
    throw std::runtime_error{
        "this program was built without the papers' networks, which are a part of the samples; "
        "configure with -DTIER_BUILD_SAMPLES=ON"};
  });
}

}  // namespace tier::tool
