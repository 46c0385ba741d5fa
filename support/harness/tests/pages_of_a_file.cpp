// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  For a test: writes and reads back every page of a file in a shared mapping.
///
///     tier_harness_pages FOLDER BYTES VARIANT    (0, 1, 2: as in `Paging`)
#include <tier/core/standard_streams.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "harness/paged_file.hpp"

namespace {

using namespace tier::literals;

/// \return  the number of pages that lack the written value
int wrong_pages(tier::bench::PagedFile& file, std::size_t size) {
  constexpr std::size_t page = (4_KiB).count;
  for (std::size_t i = 0; i < size; i += page) *reinterpret_cast<std::uint64_t*>(file.data() + i) = i;
  file.start_cold();
  int wrong = 0;
  for (std::size_t i = 0; i < size; i += page) {
    if (file.wants_announcements() && i % (16 * page) == 0) file.will_need(i, 16 * page);
    wrong += *reinterpret_cast<std::uint64_t*>(file.data() + i) == i ? 0 : 1;
  }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) try {
  tier::hold_standard_streams();
  if (argc != 4) return 2;
  const auto size = tier::parse_bytes(argv[2]);
  tier::bench::PagedFile file{argv[1], size, static_cast<tier::bench::Paging>(std::atoi(argv[3]))};
  const auto before = tier::bench::paging_counts();
  const int wrong = wrong_pages(file, size.count);
  const auto counts = tier::bench::paging_counts() - before;
  std::printf("%s: %d wrong pages, %llu waits, read %zu, written %zu\n", argv[3], wrong,
              static_cast<unsigned long long>(counts.waits), counts.read.count, counts.written.count);
  return wrong == 0 && counts.read >= size && counts.written >= size ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 3;
}
