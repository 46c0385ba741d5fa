// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Persistent memory, and paths that are none.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <tier/core/error.hpp>
#include <tier/memory/discovery.hpp>
#include <tier/memory/tiers.hpp>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "memory/system/resident_pages.hpp"
#include "memory/tiers/pmem_tier.hpp"
#include "support/child.hpp"
#include "support/hardware.hpp"
#include "support/message_of.hpp"
#include "support/sanitized.hpp"
#include "support/scratch_file.hpp"
#include "support/temporary_directory.hpp"

namespace tier::pmem_test {

using test::message_of;

namespace {

std::string refusal(const std::string& path, Bytes size) {
  return message_of<TierError>([&] { std::ignore = make_tier(tiers::pmem(path, size)); });
}

/// False, with a message, if the library was built without libpmem.
bool has_library() {
  if (!has_pmem()) MESSAGE("not without libpmem (TIER_WITH_PMEM)");
  return has_pmem();
}

void check_bytes(Tier& tier, Bytes size) {
  REQUIRE(!tier.reserve(0, size.count));
  std::vector<std::byte> written(size.count), read(size.count);
  for (std::size_t i = 0; i < size.count; ++i) written[i] = static_cast<std::byte>(i * 7 + i / 256);
  std::vector<IoRequest> requests;
  constexpr std::size_t step = 4096 * 3 + 1;
  for (std::size_t at = 0; at < size.count; at += step)
    requests.push_back({at, written.data() + at, std::min(step, size.count - at), {}});
  tier.transfer(Direction::Write, requests);
  for (const auto& request : requests) CHECK(!request.error);
  CHECK(std::equal(written.begin(), written.end(), tier.base()));
  for (auto& request : requests) request.memory = read.data() + request.offset;
  tier.transfer(Direction::Read, requests);
  for (const auto& request : requests) CHECK(!request.error);
  CHECK(read == written);
}

/// A file that is taken for a DAX device. Once it is cut, everything behind its end is a bad block.
class MadeUpDevice {
 public:
  explicit MadeUpDevice(Bytes size) {
    std::ofstream{path_};
    std::filesystem::resize_file(path_, size.count);
    tier_ = make_pmem_device_tier(tiers::pmem(path_, size), {});
  }
  Tier& operator*() const { return *tier_; }
  Tier* operator->() const { return tier_.get(); }
  void cut(Bytes size) const { std::filesystem::resize_file(path_, size.count); }

 private:
  test::TemporaryDirectory directory_;
  std::string path_ = directory_.path() + "/dax0.0";
  std::unique_ptr<Tier> tier_;
};

/// True if an access in a child ended it with SIGBUS.
bool died_of_it(const test::Ended& ended) {
  return test::sanitized ? ended.code != 0 : ended.signal == SIGBUS;
}

void say_so(int) {
  constexpr std::string_view text = "the program's own handler\n";
  std::ignore = ::write(STDERR_FILENO, text.data(), text.size());
  ::_exit(0);
}

void load(const std::byte& from) { std::ignore = std::byte{*const_cast<const volatile std::byte*>(&from)}; }

}  // namespace

TEST_CASE("without libpmem its tiers are refused by the name of what is missing") {
  if (has_pmem()) {
    MESSAGE("not without libpmem: this build has it");
    return;
  }
  CHECK(message_of<ConfigError>([] { std::ignore = make_tier(tiers::pmem("/tmp", 1_MiB)); }) ==
        "tier pmem needs libpmem, but this libtier was built without it: build with TIER_WITH_PMEM=ON (on "
        "Debian with the package libpmem-dev)");
}

TEST_CASE("a path that is no persistent memory is used as a mapped file, and the tier says so") {
  if (!has_library()) return;
  const test::TemporaryDirectory directory;
  for (const bool new_file : {false, true}) {
    const auto path = directory.path() + (new_file ? "/new" : "");
    const tiers::NewFile file{path};
    const auto tier = make_tier(new_file ? tiers::pmem(file, 3_MiB) : tiers::pmem(path, 3_MiB));
    CAPTURE(tier->description());
    const auto as_mapped = new_file ? tiers::mapped(file, 3_MiB) : tiers::mapped(path, 3_MiB);
    const auto mapped = make_tier(as_mapped)->description();
    CHECK(mapped.starts_with("mapped scratch file in " + path + " ("));
    CHECK(tier->description() == mapped + ", which is no persistent memory");
    CHECK(!tier->model().persistent);
    CHECK(tier->model().addressable);
    CHECK(tier->model().latency == make_tier(as_mapped)->model().latency);
    CHECK(!tier->has_private_pages());
    CHECK(!tier->copies_itself());
    CHECK(tier->directory() == path);
    CHECK(std::filesystem::is_empty(directory.path()));  // its file has no name
    check_bytes(*tier, 3_MiB);
  }
}

TEST_CASE("a read that the file cannot serve is an error of its request, not a signal") {
  if (!has_library()) return;
  const test::TemporaryDirectory directory;
  const auto tier = make_tier(tiers::pmem(directory.path(), 2_MiB));
  REQUIRE(!tier->reserve(0, (2_MiB).count));
  const auto name = test::open_file_in(directory.path());
  REQUIRE(!name.empty());
  std::filesystem::resize_file(name, 4096);  // a load behind it would raise SIGBUS
  std::vector<std::byte> bytes(8192);
  std::vector<IoRequest> requests{{0, bytes.data(), 4096, {}}, {8192, bytes.data() + 4096, 4096, {}}};
  tier->transfer(Direction::Read, requests);
  CHECK(!requests[0].error);
  CHECK(requests[1].error == std::errc::io_error);
}

TEST_CASE(
    "what a device cannot read or write is an error of its request, not a signal; other requests succeed") {
  if (!has_library()) return;
  MadeUpDevice device{4_MiB};
  CHECK(device->copies_itself());
  CHECK(device->path().ends_with("/dax0.0"));
  CHECK(device->directory().empty());
  check_bytes(*device, 4_MiB);
  device.cut(1_MiB);
  // Large and small requests are copied in different ways. A program that blocks signals should get the same results.
  ::sigset_t all, before, after;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  ::pthread_sigmask(SIG_SETMASK, nullptr, &all);  // those that can be blocked
  for (const Bytes size : {100_B, 512_KiB})
    for (const auto direction : {Direction::Read, Direction::Write}) {
      CAPTURE(size.count);
      CAPTURE(direction);
      std::vector<std::byte> bytes(4 * size.count, std::byte{1});
      const auto piece = [&](std::size_t i, std::uint64_t offset) {
        return IoRequest{offset, bytes.data() + i * size.count, size.count, {}};
      };
      std::array requests{piece(0, 0), piece(1, (2_MiB).count), piece(2, (1_MiB).count - size.count / 2),
                          piece(3, (1_MiB).count - size.count)};
      device->transfer(direction, requests);
      CHECK(!requests[0].error);
      CHECK(requests[1].error == std::errc::io_error);
      CHECK(requests[2].error == std::errc::io_error);  // its end
      CHECK(!requests[3].error);
      for (const auto i : {0U, 3U})
        CHECK(std::equal(requests[i].memory, requests[i].memory + size.count,
                         device->base() + requests[i].offset));
    }
  ::pthread_sigmask(SIG_SETMASK, &before, &after);
  for (int signal = 1; signal < SIGRTMIN; ++signal)
    CHECK(::sigismember(&all, signal) == ::sigismember(&after, signal));
  device.cut(4_MiB);
  check_bytes(*device, 4_MiB);  // works again
}

TEST_CASE("SIGBUS that is of no copy does what it did before there was a device") {
  if (!has_library()) return;
  const auto with_bad_block = [](void (*act)(const std::byte&)) {
    MadeUpDevice device{2_MiB};
    check_bytes(*device, 2_MiB);
    device.cut(0_B);
    std::vector<std::byte> bytes(4096);
    std::array requests{IoRequest{0, bytes.data(), bytes.size(), {}}};
    device->transfer(Direction::Read, requests);
    if (requests[0].error) std::fputs("an error\n", stderr);
    act(*device->base());
    std::fputs("it went on\n", stderr);
  };
  const auto used_in_place = test::run_in_child("in place", [&] { with_bad_block(load); });
  CAPTURE(used_in_place.errors);
  CHECK(used_in_place.errors.starts_with("an error\n"));
  CHECK(used_in_place.errors.find("it went on") == std::string::npos);
  CHECK(died_of_it(used_in_place));

  const auto sent =
      test::run_in_child("sent", [&] { with_bad_block([](const std::byte&) { ::raise(SIGBUS); }); });
  CAPTURE(sent.errors);
  CHECK(sent.errors.find("it went on") == std::string::npos);
  CHECK(died_of_it(sent));

  const auto ignored = test::run_in_child("ignored", [&] {
    std::signal(SIGBUS, SIG_IGN);
    with_bad_block([](const std::byte&) { ::raise(SIGBUS); });
  });
  CHECK(ignored.errors == "an error\nit went on\n");
  CHECK(ignored.code == 0);

  const auto of_other_memory = test::run_in_child("of other memory", [] {
    MadeUpDevice device{2_MiB}, other{2_MiB};
    other.cut(0_B);
    std::array requests{IoRequest{0, other->base(), 4096, {}}};
    device->transfer(Direction::Read, requests);
    std::fputs("it went on\n", stderr);
  });
  CHECK(of_other_memory.errors.find("it went on") == std::string::npos);
  CHECK(died_of_it(of_other_memory));

  const auto handled = test::run_in_child("handled", [&] {
    std::signal(SIGBUS, say_so);
    with_bad_block(load);
  });
  CHECK(handled.errors == "an error\nthe program's own handler\n");
  CHECK(handled.code == 0);
}

TEST_CASE("a path that is no file system or DAX device is refused with call, tier and path") {
  if (!has_library()) return;
  const test::TemporaryDirectory directory;
  const auto existing = directory.path() + "/existing";
  std::ofstream{existing} << "keep me";
  CHECK(refusal(existing, 1_MiB) == "tier pmem needs a folder, but \"" + existing +
                                        "\" is not one, and libtier never uses a file that exists: name a "
                                        "folder, or write pmem:new=PATH:SIZE for a "
                                        "new file: Not a directory");
  CHECK(message_of<TierError>([&] {
          std::ignore = make_tier(tiers::pmem(tiers::NewFile{existing}, 1_MiB));
        }).find("File exists") != std::string::npos);
  CHECK(refusal(directory.path() + "/no/such", 1_MiB) ==
        "tier pmem needs a folder that exists, but \"" + directory.path() + "/no/such\" does not (\"" +
            directory.path() + "\" does): make or mount the folder, name a DAX device, or write pmem:new=" +
            directory.path() + "/no/such:SIZE for a new file of that name: No such file or directory");
  CHECK(refusal("/dev/null", 1_MiB) ==
        "pmem_map_file of \"/dev/null\" for tier pmem (it is no DAX device): Invalid argument");
}

TEST_CASE("the block device of persistent memory is refused with what to take instead") {
  if (!has_library()) return;
  const test::TemporaryDirectory directory;
  const auto path = directory.path() + "/pmem0";  // never opened, so the device need not exist
  if (::mknod(path.c_str(), S_IFBLK | 0600, ::makedev(259, 0)) != 0) {
    MESSAGE("SKIPPED: this system does not let a test make the node of a device");
    return;
  }
  CHECK(refusal(path, 1_MiB) == "pmem_map_file of \"" + path +
                                    "\" for tier pmem (it is a block device: name a directory on its file "
                                    "system, mounted with -o dax): Invalid argument");
}

TEST_CASE("what a file system has no room for is an error of the region, and the tier goes on") {
  if (!has_library()) return;
  const test::SmallDisk disk{"4m"};
  if (!disk.mounted()) {
    MESSAGE("SKIPPED: this system does not let a test mount a tmpfs");
    return;
  }
  const auto tier = make_tier(tiers::pmem(disk.path(), 16_MiB));
  CHECK(tier->reserve(0, (16_MiB).count) == std::errc::no_space_on_device);
  check_bytes(*tier, 2_MiB);
}

TEST_SUITE_BEGIN("hardware");

/// `TIER_TEST_PMEM` names directories on DAX file systems and DAX devices, separated by colons.
TEST_CASE("what is persistent memory is used as such") {
  if (!has_library()) return;
  const char* const paths = std::getenv("TIER_TEST_PMEM");
  if (paths == nullptr) return test::lacks("persistent memory named by TIER_TEST_PMEM");
  std::string rest{paths};
  while (!rest.empty()) {
    const auto path = rest.substr(0, rest.find(':'));
    rest.erase(0, path.size() + 1);
    const auto tier = make_tier(tiers::pmem(path, 16_MiB));
    CAPTURE(tier->description());
    CHECK(tier->description().starts_with("persistent memory, "));
    CHECK(tier->model().persistent);
    check_bytes(*tier, 16_MiB);
    CHECK(tier->copies_itself());
    if (!std::filesystem::is_character_file(path)) continue;
    const auto page = residence(tier->base(), 1).page;
    CHECK(tier->description() == "persistent memory, device " + path + " in pages of " + to_human(page));
    const auto devices = discover().dax_devices;
    const auto device =
        std::ranges::find(devices, std::filesystem::canonical(path).string(), &DaxDevice::path);
    REQUIRE(device != devices.end());
    CHECK(refusal(path, 1_TiB) == "pmem_map_file of \"" + path + "\" for tier pmem (it has " +
                                      to_human(device->size) +
                                      ", but 1.00 TiB are needed): No space left on device");
  }
}

TEST_SUITE_END();

}  // namespace tier::pmem_test
