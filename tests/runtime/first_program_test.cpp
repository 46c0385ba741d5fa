// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  The header for a first program, after all forward declarations: a wrong one does not compile.
#include <tier/copy/fwd.hpp>
#include <tier/core/fwd.hpp>
#include <tier/manager/fwd.hpp>
#include <tier/memory/fwd.hpp>
#include <tier/pmr/fwd.hpp>
#include <tier/policy/fwd.hpp>
#include <tier/replay/fwd.hpp>
#include <tier/runtime/fwd.hpp>
#include <tier/scope/fwd.hpp>
#include <tier/table/fwd.hpp>
#include <tier/tensor/fwd.hpp>
#include <tier/trace/fwd.hpp>

#include <tier/tier.hpp>

#include <tier/copy/copy_engine.hpp>
#include <tier/manager/manager.hpp>
#include <tier/memory/discovery.hpp>
#include <tier/pmr/arena_resource.hpp>
#include <tier/pmr/pool_resource.hpp>
#include <tier/policy/row_policy.hpp>
#include <tier/replay/replay.hpp>
#include <tier/trace/recorder.hpp>
#include <tier/trace/trace.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <memory_resource>
#include <vector>

namespace tier::first_program_test {

TEST_CASE("one header is enough for a first program") {
  auto runtime = tier::Runtime::from_spec("dram:8MiB", "lru");
  tier::Tensor<float> x{runtime, tier::Shape{1024}};
  {
    tier::WriteScope out{tier::overwrites(x)};
    for (std::size_t i = 0; i < 1024; ++i) out[x].data()[i] = 1;
  }
  tier::MigratingResource resource{runtime};
  std::pmr::vector<int> numbers(1000, 7, &resource);
  tier::ReadScope in{x};
  CHECK(in[x].data()[5] == 1);
  CHECK(numbers[999] == 7);
}

}  // namespace tier::first_program_test
