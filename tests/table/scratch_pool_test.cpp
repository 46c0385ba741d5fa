// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table/scratch_pool.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace tier::scratch_pool_test {

using namespace tier::detail;

TEST_CASE("what was lent comes back with its memory, and is lent to one call at a time") {
  ScratchPool<std::vector<int>> pool;
  const int* memory = nullptr;
  {
    const auto first = pool.borrow();
    first->resize(100);
    memory = first->data();
    const auto second = pool.borrow();
    CHECK(&*first != &*second);
    CHECK(second->empty());
  }
  const auto one = pool.borrow(), other = pool.borrow();
  CHECK((one->data() == memory) != (other->data() == memory));
}

}  // namespace tier::scratch_pool_test
