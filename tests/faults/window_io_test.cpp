// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  If an access of a slow tier fails, no store to a window is lost. An access to a page that cannot be read ends the
///        program with a message.
#include <doctest/doctest.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <functional>
#include <future>
#include <string>
#include <tuple>

#include "support/child.hpp"
#include "support/eventually.hpp"
#include "support/failing_io.hpp"
#include "window_rig.hpp"

namespace tier::window_io_test {

using namespace tier::test;

namespace {

/// True if a system call can read from the address; otherwise it fails with EFAULT.
bool system_reads(const void* p) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const auto written = ::write(ends[1], p, 8);
  const bool refused = written < 0 && errno == EFAULT;
  ::close(ends[0]);
  ::close(ends[1]);
  REQUIRE((written == 8 || refused));
  return !refused;
}

void expect(bool right, const char* what) {
  if (!right) std::fprintf(stderr, "WRONG: %s\n", what);
}

/// True if pages can be marked as unreadable, from Linux 6.6 on; on older kernels the process aborts.
bool can_poison() {
  ::utsname system{};
  ::uname(&system);
  int major = 0, minor = 0;
  REQUIRE(std::sscanf(system.release, "%d.%d", &major, &minor) == 2);
  return major > 6 || (major == 6 && minor >= 6);
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("who touches what a device cannot read ends, by a signal, after a line that names the object") {
  if (!has_windows()) return;
  for (const bool store : {false, true}) {
    const auto ended = run_in_child(store ? "store" : "load", [store] {
      WindowRig rig{{WindowMode::Full, true}};
      rig.manager()->migrate(rig.blocks(1), 1);
      expect(rig.holds(0), "what a device reads can be read");
      rig.reads_fail = true;
      expect(rig.holds(0), "what is resident can be read");
      std::fputs("so far\n", stderr);
      volatile auto& word = rig.words(1).back();
      if (store)
        word = 4;
      else
        std::ignore = WindowRig::Word{word};
      std::fputs("WRONG: it went on\n", stderr);
    });
    CAPTURE(ended.errors);
    CHECK(ended.code != 0);
    if (!sanitized) CHECK(ended.signal == (can_poison() ? SIGBUS : SIGABRT));  // a sanitizer exits
    CHECK(ended.errors.starts_with("so far\nlibtier: an access to 0x"));
    CHECK(contains(ended.errors, "cannot be served: "));
    CHECK(contains(ended.errors, "reading \"object 1\""));
    CHECK_FALSE(contains(ended.errors, "WRONG"));
  }
}

TEST_CASE(
    "what a device could not read is an error for scopes and system calls, and serves again once "
    "overwritten") {
  if (!has_windows()) return;
  if (!can_poison()) {
    MESSAGE("SKIPPED: before Linux 6.6 the process ends");
    return;
  }
  for (const Bytes block : {Bytes{64 << 10}, Bytes{2 << 20}}) {
    CAPTURE(block.count);
    WindowRig rig{{WindowMode::Full, true, block}};
    rig.manager()->migrate(rig.blocks(1), 1);
    Operand op = Operand::of(rig.ref(1), Use::Read);
    rig.reads_fail = true;
    CHECK_FALSE(system_reads(&rig.words(1).back()));
    CHECK_THROWS_WITH_AS(rig.manager()->enter({&op, 1}, {}), doctest::Contains("reading \"object 1\""),
                         TierError);
    rig.reads_fail = false;
    for (auto* const b : rig.ref(1).object->blocks) {
      Operand whole;
      whole.block = const_cast<Block*>(b);
      whole.use = Use::Overwrite;
      whole.size = b->size;
      rig.manager()->enter({&whole, 1}, {});
      REQUIRE(whole.address != nullptr);
      std::memset(whole.address, 1, whole.size);
      Manager::leave({&whole, 1});
    }
    rig.store_all(1, 5);
    CHECK_NOTHROW(rig.check());
    CHECK(system_reads(&rig.words(1).back()));
    CHECK_NOTHROW(rig.check_empty());
  }
}

namespace {

/// Calls `operation` with the first access in one direction failing, then the second, until none fails; each time the
/// device works again afterwards.   \return  how many failed
std::uint64_t points_reached(FailingIo::What what, const std::function<void(WindowRig&)>& operation) {
  std::uint64_t points = 0;
  for (const bool device : {true, false}) {
    CAPTURE(device);
    for (std::uint64_t n = 0;; ++n) {
      CAPTURE(n);
      FailingIo io{what};
      WindowRig rig{{WindowMode::Full, device}};
      io.fail_nth(n);
      rig.set_faults(io);
      try {
        operation(rig);
      } catch (const TierError&) {
        CHECK(io.failed() > 0);
      } catch (const OutOfTierMemory&) {
        CHECK(io.failed() > 0);
      }
      rig.manager()->quiesce();
      io.heal();
      REQUIRE_NOTHROW(rig.check());
      REQUIRE_NOTHROW(rig.check_empty());
      if (io.failed() == 0) break;
      ++points;
      REQUIRE(n < 10'000);
    }
  }
  MESSAGE(points << " points");
  return points;
}

}  // namespace

TEST_CASE("no store to a window is lost, whichever access of the slow tier fails") {
  if (!has_windows()) return;
  SUBCASE("a write, as others make room") {
    CHECK(points_reached(FailingIo::What::Writes, [](WindowRig& rig) {
            for (const std::size_t i : {0, 1, 2}) rig.store_all(i, i + 7);
            for (const std::size_t i : {0, 1, 2}) CHECK(rig.holds(i));
          }) > 0);
  }
  SUBCASE("a write, as blocks are sent there") {
    CHECK(points_reached(FailingIo::What::Writes, [](WindowRig& rig) {
            rig.store_all(1, 7);
            rig.manager()->migrate(rig.blocks(1), 1);
          }) > 4);
  }
  SUBCASE("a read, as blocks are sent back") {
    CHECK(points_reached(FailingIo::What::Reads, [](WindowRig& rig) {
            rig.manager()->migrate(rig.blocks(1), 1);
            rig.manager()->migrate(rig.blocks(1), 0);
          }) > 4);
  }
}

TEST_CASE("while a device takes no writes blocks stay where they are, and stores wait until it does") {
  if (!has_windows()) return;
  WindowRig rig{{WindowMode::Full, true}};
  rig.writes_fail = true;
  for (const std::size_t i : {0, 1, 2})
    CHECK_THROWS_AS(rig.manager()->migrate(rig.blocks(i), 1), OutOfTierMemory);
  const auto faults = rig.manager()->statistics().window_faults;
  auto stores = std::async(std::launch::async, [&] {
    for (const std::size_t i : {0, 1, 2}) rig.store_all(i, i + 7);
  });
  CHECK(eventually([&] { return rig.manager()->statistics().window_faults > faults; }));
  CHECK(stores.wait_for(std::chrono::seconds{0}) == std::future_status::timeout);
  rig.writes_fail = false;
  stores.get();
  CHECK_NOTHROW(rig.check());
  CHECK_NOTHROW(rig.check_empty());
}

}  // namespace tier::window_io_test
