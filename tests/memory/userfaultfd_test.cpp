// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Pages that this process provides itself, and the threads that serve their faults.
#include "memory/windows/userfaultfd.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "memory/system/mapping.hpp"
#include "memory/system/pages.hpp"
#include "memory/system/resident_pages.hpp"
#include "memory/windows/fault_threads.hpp"
#include "support/windows.hpp"

namespace tier::userfaultfd_test {

namespace {

constexpr std::size_t size = std::size_t{64} << 10;

/// Serves each fault by one page of sevens, or by letting the store through; puts each off `delays` times.
class Sevens final : public WindowFaults {
 public:
  Sevens(Userfaultfd& memory, unsigned delays)
      : memory_{memory}, delays_{delays}, page_(page_size(), seven) {}

  std::uint64_t ended_blocks() const noexcept override { return 42; }
  bool on_fault(WindowFault& fault, bool may_wait) noexcept override {
    knows_count = knows_count && fault.since == 42;
    if (fault.tries < delays_) {
      fault.tries += may_wait;
      return false;
    }
    auto* const page = fault.address - reinterpret_cast<std::uintptr_t>(fault.address) % page_size();
    ++(fault.write ? stores : loads);  // first: then the access may go on
    if (fault.present)
      memory_.unprotect(page, page_size());
    else
      memory_.fill(page, page_.data(), page_size(), true, nullptr);
    memory_.wake(page, page_size());
    return true;
  }

  static constexpr std::byte seven{7};
  std::atomic<unsigned> loads{0}, stores{0};
  std::atomic<bool> knows_count{true};

 private:
  Userfaultfd& memory_;
  unsigned delays_;
  std::vector<std::byte> page_;
};

struct Served {
  explicit Served(unsigned delays) : sevens{*memory, delays} {
    REQUIRE(memory->serve(range.data(), range.size()));
    threads = std::make_unique<FaultThreads>(memory, sevens);
  }

  Mapping range{size, -1, "test", PageKind::Small};
  std::shared_ptr<Userfaultfd> memory = std::make_shared<Userfaultfd>();
  Sevens sevens;
  std::unique_ptr<FaultThreads> threads;
};

}  // namespace

TEST_CASE("an access to an absent page goes on when its fault has been served, at once or after others") {
  if (!test::has_windows()) return;
  unsigned delays = 0;
  SUBCASE("at once") {}
  SUBCASE("after it was put off") { delays = 3; }
  Served served{delays};
  auto* const bytes = served.range.data();
  CHECK(bytes[5] == Sevens::seven);
  CHECK(served.sevens.loads == 1);
  bytes[5] = std::byte{1};  // protected: a second fault
  CHECK(served.sevens.stores == 1);
  CHECK(bytes[5] == std::byte{1});
  CHECK(bytes[6] == Sevens::seven);
  CHECK(served.sevens.loads == 1);
  CHECK(served.sevens.knows_count);
}

TEST_CASE("more threads than there are servers get their pages, all put off") {
  if (!test::has_windows()) return;
  Served served{2};
  std::vector<std::thread> threads;
  std::atomic<unsigned> right{0};
  const auto pages = size / page_size();
  for (std::size_t i = 0; i < std::min<std::size_t>(pages, 12); ++i)
    threads.emplace_back([&, i] { right += served.range.data()[i * page_size()] == Sevens::seven; });
  for (auto& thread : threads) thread.join();
  CHECK(right == threads.size());
}

TEST_CASE("pages are filled, protected, moved and dropped as asked") {
  if (!test::has_windows()) return;
  Userfaultfd memory;
  Mapping range{size, -1, "test", PageKind::Small}, outside{size, -1, "test", PageKind::Small};
  REQUIRE(memory.serve(range.data(), size));
  std::fill_n(outside.data(), size, std::byte{9});
  CHECK(memory.fill(range.data(), outside.data(), size / 2, false, nullptr));
  CHECK(!memory.fill_holes(range.data(), size, nullptr));
  CHECK(range.data()[size / 2 - 1] == std::byte{9});
  CHECK(range.data()[size / 2] == std::byte{0});
  CHECK(!memory.fill_holes(range.data(), size, nullptr));  // no holes left
  CHECK(memory.protect(range.data(), size));
  memory.unprotect(range.data(), size);
  range.data()[0] = std::byte{1};

  drop_pages(outside.data(), size);
  memory.accept(outside.data(), size);
  const auto moved = memory.move(outside.data(), range.data(), size);
  CHECK((moved == 0 || moved == size));  // 0 before Linux 6.8
  if (moved == size) {
    CHECK(outside.data()[0] == std::byte{1});
    CHECK(outside.data()[1] == std::byte{9});
  }
  drop_pages(range.data(), size);
  CHECK(memory.fill(range.data(), Userfaultfd::zeros(), size, false, nullptr));
  CHECK(range.data()[0] == std::byte{0});
}

}  // namespace tier::userfaultfd_test
