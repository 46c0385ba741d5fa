// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/paged_file.hpp"

#include <doctest/doctest.h>
#include <tier/core/error.hpp>

#include "support/temporary_directory.hpp"

using namespace tier::literals;
using tier::bench::PagedFile;
using tier::bench::Paging;

TEST_CASE("paging where nothing can be paged to is refused with the folder's name") {
  CHECK_THROWS_WITH_AS((PagedFile{"/nowhere", 1_MiB, Paging::Default}), doctest::Contains("/nowhere"),
                       tier::TierError);
  const tier::test::SmallDisk disk{"2m"};
  if (!disk.mounted()) {
    MESSAGE("SKIPPED: no file system in memory can be mounted here");
    return;
  }
  CHECK_THROWS_WITH_AS((PagedFile{disk.path(), 1_MiB, Paging::Default}), doctest::Contains("are in memory"),
                       tier::ConfigError);
}
