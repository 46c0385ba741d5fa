// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <tier/core/error.hpp>
#include <tier/memory/discovery.hpp>
#include <tier/memory/tiers.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <latch>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "memory/tiers/pmem_tier.hpp"
#include "memory/values/memkind_names.hpp"
#include "support/denied_calls.hpp"
#include "support/failing_io.hpp"
#include "support/hardware.hpp"
#include "support/seed.hpp"
#include "support/temporary_directory.hpp"

namespace tier::tiers_test {

using test::FailingIo;

namespace {

/// A buffer that any tier can transfer to and from.
class Buffer {
 public:
  explicit Buffer(std::size_t size) : bytes_(size + alignment), size_{size} {
    const auto address = reinterpret_cast<std::uintptr_t>(bytes_.data());
    begin_ = bytes_.data() + (round_up(address, alignment) - address);
  }
  std::byte* data() { return begin_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  void fill(std::uint64_t seed) {
    std::mt19937_64 random{seed};
    for (std::size_t i = 0; i < size_; i += 8) {
      const auto word = random();
      std::memcpy(begin_ + i, &word, std::min<std::size_t>(8, size_ - i));
    }
  }
  bool operator==(const Buffer& other) const {
    return size_ == other.size_ && std::memcmp(begin_, other.begin_, size_) == 0;
  }

 private:
  static constexpr std::size_t alignment = 4096;
  std::vector<std::byte> bytes_;
  std::byte* begin_;
  std::size_t size_;
};

std::string message_of(const TierSpec& spec) {
  try {
    std::ignore = make_tier(spec);
  } catch (const std::exception& e) {
    return e.what();
  }
  return "no error";
}

/// Says that the test is skipped.
void skip() { MESSAGE("SKIPPED: this system does not let a test mount a tmpfs"); }

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Returns a spec of each kind of tier that has bytes, with both I/O engines.
std::vector<TierSpec> specs_with_bytes(const std::string& directory, Bytes size) {
  auto threads = tiers::file(directory, size);
  threads.engine = IoEngine::Threads;
  auto lazy = tiers::dram(size);
  lazy.prefault = false;
  auto small = tiers::dram(size);
  small.pages = PageKind::Small;
  std::vector<TierSpec> specs{tiers::dram(size),
                              lazy,
                              small,
                              tiers::file(directory, size),
                              threads,
                              tiers::mapped(directory, size),
                              tiers::emulated("cxl", size),
                              tiers::emulated("nvme", size)};
  for (const auto node : test::usable_nodes()) specs.push_back(tiers::numa(std::to_string(node), size));
  if (has_pmem()) specs.push_back(tiers::pmem(directory, size));
  if (has_memkind()) specs.push_back(tiers::memkind(directory, size));
  return specs;
}

void transfer_all(Tier& tier, Direction direction, std::uint64_t offset, Buffer& buffer, std::size_t step) {
  std::vector<IoRequest> requests;
  for (std::size_t at = 0; at < buffer.size(); at += step)
    requests.push_back({offset + at, buffer.data() + at, std::min(step, buffer.size() - at), {}});
  tier.transfer(direction, requests);
  for (const auto& request : requests) CHECK(!request.error);
}

}  // namespace

TEST_CASE("what is written to a tier is read back, in requests of any size") {
  const auto seed = test::seed();
  CAPTURE(seed);
  const test::TemporaryDirectory directory;
  for (const auto& spec : specs_with_bytes(directory.path(), 24_MiB)) {
    const auto tier = make_tier(spec);
    CAPTURE(tier->description());
    CHECK(tier->has_bytes());
    CHECK(tier->capacity() == 24_MiB);
    tier->claim(0, (24_MiB).count);
    REQUIRE(!tier->reserve(0, (24_MiB).count));
    Buffer written{(5_MiB).count + 4096}, read{(5_MiB).count + 4096};
    for (const std::size_t step : {std::size_t{4096}, std::size_t{3 * 4096}, std::size_t{5} << 20}) {
      written.fill(seed + step);
      transfer_all(*tier, Direction::Write, (7_MiB).count, written, step);
      transfer_all(*tier, Direction::Read, (7_MiB).count, read, 8192);
      CHECK(read == written);
    }
    tier->release(0, (24_MiB).count);
  }
}

TEST_CASE("several threads transfer at once without mixing their bytes") {
  const test::TemporaryDirectory directory;
  for (const auto& spec : specs_with_bytes(directory.path(), 8_MiB)) {
    const auto tier = make_tier(spec);
    CAPTURE(tier->description());
    REQUIRE(!tier->reserve(0, (8_MiB).count));
    constexpr unsigned threads = 4;
    std::latch start{threads};
    const auto work = [&](unsigned id) {
      Buffer written{(2_MiB).count}, read{(2_MiB).count};
      start.arrive_and_wait();
      for (unsigned round = 0; round < 3; ++round) {
        written.fill(id * 10 + round);
        transfer_all(*tier, Direction::Write, id * (2_MiB).count, written, 64 << 10);
        transfer_all(*tier, Direction::Read, id * (2_MiB).count, read, 1 << 20);
        CHECK(read == written);
      }
    };
    std::vector<std::thread> workers;
    for (unsigned id = 0; id < threads; ++id) workers.emplace_back(work, id);
    for (auto& worker : workers) worker.join();
  }
}

TEST_CASE("an empty batch and an empty request are no I/O") {
  const test::TemporaryDirectory directory;
  for (const auto& spec : specs_with_bytes(directory.path(), 1_MiB)) {
    const auto tier = make_tier(spec);
    tier->transfer(Direction::Read, {});
    IoRequest empty{0, nullptr, 0, std::make_error_code(std::errc::io_error)};
    tier->transfer(Direction::Write, {&empty, 1});
    CHECK(!empty.error);
  }
}

TEST_CASE("an addressable tier is memory at a multiple of a huge page") {
  const test::TemporaryDirectory directory;
  for (const auto& spec :
       {tiers::dram(3_MiB), tiers::mapped(directory.path(), 3_MiB), tiers::emulated("optane", 3_MiB)}) {
    const auto tier = make_tier(spec);
    CAPTURE(tier->name());
    REQUIRE(tier->base() != nullptr);
    CHECK(tier->model().addressable);
    CHECK(tier->io_alignment() == 1);
    CHECK(reinterpret_cast<std::uintptr_t>(tier->base()) % (2_MiB).count == 0);
    REQUIRE(!tier->reserve(0, (3_MiB).count));
    std::memset(tier->base(), 7, (3_MiB).count);
    std::byte byte{};
    IoRequest request{(3_MiB).count - 1, &byte, 1, {}};
    tier->transfer(Direction::Read, {&request, 1});
    CHECK(byte == std::byte{7});
  }
}

TEST_CASE("a file tier and an emulated NVMe disk are reached by aligned transfers alone") {
  const test::TemporaryDirectory directory;
  for (const auto& spec : {tiers::file(directory.path(), 1_MiB), tiers::emulated("nvme", 1_MiB)}) {
    const auto tier = make_tier(spec);
    CHECK(tier->base() == nullptr);
    CHECK(!tier->model().addressable);
    CHECK(tier->io_alignment() >= 4096);
    CHECK(tier->model().granularity.count >= 4096);
  }
}

TEST_CASE("a simulated tier has any size and moves nothing") {
  const auto tier = make_tier(tiers::simulated("optane", 1000_TiB));
  CHECK(tier->name() == "simulated:optane");
  CHECK(tier->capacity() == 1000_TiB);
  CHECK(!tier->has_bytes());
  CHECK(tier->base() == nullptr);
  CHECK(tier->model().addressable);
  CHECK(!tier->charges());
  IoRequest request{(999_TiB).count, nullptr, (1_TiB).count, std::make_error_code(std::errc::io_error)};
  tier->transfer(Direction::Write, {&request, 1});
  CHECK(!request.error);
  CHECK(!make_tier(tiers::simulated("nvme", 1_TiB))->model().addressable);
}

TEST_CASE("a tier is faster if it reads a block sooner, and any that the CPU can address before all others") {
  using std::chrono::nanoseconds;
  const TierModel dram{100e9, 100e9, nanoseconds{90}};
  const TierModel hbm{400e9, 400e9, nanoseconds{120}};  // higher latency, but faster
  const TierModel cxl{25e9, 25e9, nanoseconds{300}};
  TierModel device{1e12, 1e12, nanoseconds{1}};
  device.addressable = false;
  CHECK(seconds_to_read_block(cxl) == doctest::Approx(300e-9 + 65'536 / 25e9));
  const std::vector<TierModel> in_order{hbm, dram, cxl, device};
  for (std::size_t i = 0; i < in_order.size(); ++i)
    for (std::size_t j = 0; j < in_order.size(); ++j) CHECK(is_faster(in_order[i], in_order[j]) == (i < j));
  const TierModel unknown{0, 0, nanoseconds{50}};  // without rates, latency alone counts
  CHECK(seconds_to_read_block(unknown) == doctest::Approx(50e-9));
}

TEST_CASE("tiers are named as in a spec") {
  const test::TemporaryDirectory directory;
  CHECK(make_tier(tiers::dram(1_MiB))->name() == "dram");
  CHECK(make_tier(tiers::file(directory.path(), 1_MiB))->name() == "file");
  CHECK(make_tier(tiers::mapped(directory.path(), 1_MiB))->name() == "mapped");
  CHECK(make_tier(tiers::emulated("redl", 1_MiB))->name() == "emulated:redl");
}

TEST_CASE("memory is resident at once, or with its regions where it grows in extents") {
  const auto resident_pages = [] {
    std::ifstream statm{"/proc/self/statm"};
    std::size_t total = 0, resident = 0;
    statm >> total >> resident;
    return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  };
  auto spec = tiers::dram(128_MiB);
  const auto before = resident_pages();
  SUBCASE("at once") {
    const auto tier = make_tier(spec);
    CHECK(resident_pages() > before + (120_MiB).count);
  }
  SUBCASE("in extents") {
    spec.prefault = false;
    const auto tier = make_tier(spec);
    CHECK(resident_pages() < before + (8_MiB).count);
    REQUIRE(!tier->reserve((40_MiB).count, (1_MiB).count));
    const auto grown = resident_pages();
    CHECK(grown >= before + (1_MiB).count);
    CHECK(grown < before + (40_MiB).count);
    REQUIRE(!tier->reserve(0, (128_MiB).count));
    CHECK(resident_pages() > before + (120_MiB).count);
  }
}

TEST_CASE("a scratch file has no name and is private, whether the path is a directory or a new file") {
  const test::TemporaryDirectory directory;
  const tiers::NewFile file{directory.path() + "/new file"};
  for (const auto& specs :
       {std::array{tiers::file(directory.path(), 1_MiB), tiers::mapped(directory.path(), 1_MiB)},
        std::array{tiers::file(file, 1_MiB), tiers::mapped(file, 1_MiB)}}) {
    for (const auto& spec : specs) {
      const auto tier = make_tier(spec);
      CHECK(std::filesystem::is_empty(directory.path()));
      bool found = false;  // among our descriptors
      for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"}) {
        std::error_code gone;
        const auto target = std::filesystem::read_symlink(entry.path(), gone).string();
        if (!target.starts_with(directory.path() + "/")) continue;
        struct ::stat status {};
        REQUIRE(::stat(entry.path().c_str(), &status) == 0);
        CHECK((status.st_mode & 0777) == 0600);
        CHECK(status.st_nlink == 0);
        found = true;
      }
      CHECK(found);
    }
  }
}

TEST_CASE(
    "what a full disk refuses takes nothing of it, also where the file system keeps what it had room for") {
  const test::SmallDisk disk{"16m"};
  if (!disk.mounted()) return skip();
  const auto tier = make_tier(tiers::file(disk.path(), 64_MiB));
  const auto available = [&] { return std::filesystem::space(disk.path()).available; };
  const auto before = available();
  const auto refuse = [&] { CHECK(tier->reserve(0, (32_MiB).count) == std::errc::no_space_on_device); };
  refuse();
  CHECK(available() == before);
  test::with_denied_call(SYS_fallocate, EOPNOTSUPP, refuse, test::Argument{.index = 1, .value = 0});
  CHECK(available() == before);
  CHECK(!tier->reserve(0, (8_MiB).count));
}

TEST_CASE("a file tier says how it does its I/O") {
  const test::TemporaryDirectory directory;
  auto spec = tiers::file(directory.path(), 1_MiB);
  spec.engine = IoEngine::Threads;
  const auto description = make_tier(spec)->description();
  CAPTURE(description);
  CHECK(contains(description, "by threads"));
  CHECK(contains(description, directory.path()));
  CHECK(contains(description, make_tier(spec)->direct_io() ? "direct I/O" : "buffered I/O"));
}

TEST_CASE("a file system without direct I/O is used through its cache, and the tier says so") {
  const test::SmallDisk disk{"4m"};
  if (!disk.mounted()) return skip();
  const auto tier = make_tier(tiers::file(disk.path(), 1_MiB));
  CHECK(!tier->direct_io());
  CHECK(contains(tier->description(), "buffered I/O, as the file system has no direct I/O"));
  CHECK(contains(tier->description(), "(tmpfs)"));
  Buffer written{(1_MiB).count}, read{(1_MiB).count};
  written.fill(1);
  REQUIRE(!tier->reserve(0, (1_MiB).count));
  transfer_all(*tier, Direction::Write, 0, written, 4096);
  transfer_all(*tier, Direction::Read, 0, read, 4096);
  CHECK(read == written);
}

TEST_CASE("a full disk shows when a region is reserved, and the regions before it are intact") {
  const test::SmallDisk disk{"16m"};
  if (!disk.mounted()) return skip();
  for (const auto& spec : {tiers::file(disk.path(), 64_MiB), tiers::mapped(disk.path(), 64_MiB)}) {
    const auto tier = make_tier(spec);
    REQUIRE(!tier->reserve(0, (4_MiB).count));
    Buffer written{(4_MiB).count}, read{(4_MiB).count};
    written.fill(2);
    transfer_all(*tier, Direction::Write, 0, written, 1 << 20);
    CHECK(tier->reserve((4_MiB).count, (32_MiB).count) == std::errc::no_space_on_device);
    CHECK(!tier->reserve((4_MiB).count, (4_MiB).count));
    transfer_all(*tier, Direction::Read, 0, read, 1 << 20);
    CHECK(read == written);
  }
}

TEST_CASE(
    "space of released regions is kept for the next ones, and returned while more than half lies idle") {
  const test::SmallDisk disk{"256m"};
  if (!disk.mounted()) return skip();
  const auto used = [&] {
    const auto space = std::filesystem::space(disk.path());
    return Bytes{space.capacity - space.free};
  };
  const auto tier = make_tier(tiers::file(disk.path(), 160_MiB));
  const auto take = [&](Bytes size) {
    tier->claim(0, size.count);
    return tier->reserve(0, size.count);
  };
  REQUIRE(!take(100_MiB));
  CHECK(used() >= 100_MiB);
  tier->release(0, (60_MiB).count);
  REQUIRE(!take(60_MiB));
  CHECK(used() >= 100_MiB);
  CHECK(used() < 110_MiB);
  tier->release(0, (100_MiB).count);
  while (used() > 90_MiB) std::this_thread::yield();  // in the background: a hang here is the failure
  CHECK(used() >= 60_MiB);                            // the half that may lie idle, without a part of a batch
  for (int i = 0; i < 20; ++i) {                      // while space is being returned
    REQUIRE(!take(160_MiB));
    CHECK(used() >= 160_MiB);
    tier->release(0, (160_MiB).count);
  }
}

TEST_CASE(
    "a path that is no existing folder is refused, with the nearest one and what to do, and nothing is "
    "made") {
  const test::TemporaryDirectory directory;
  const auto missing = directory.path() + "/not mounted/scra:tch";
  const auto escaped = directory.path() + "/not mounted/scra\\:tch";
  for (const auto* const text : {"file", "mapped"}) {
    const std::string kind{text};
    const auto of_folder = kind == "file" ? tiers::file(missing, 1_MiB) : tiers::mapped(missing, 1_MiB);
    CHECK(message_of(of_folder) ==
          "tier " + kind + " needs a folder that exists, but \"" + missing + "\" does not (\"" +
              directory.path() + "\" does): make or mount the folder, or write " + kind + ":new=" + escaped +
              ":SIZE for a new file of that name: No such file or directory");
    const tiers::NewFile file{missing};
    const auto of_file = kind == "file" ? tiers::file(file, 1_MiB) : tiers::mapped(file, 1_MiB);
    CHECK(message_of(of_file) == "tier " + kind + " cannot make \"" + missing + "\": the folder \"" +
                                     directory.path() + "/not mounted\" does not exist (\"" +
                                     directory.path() +
                                     "\" does): make or mount it: No such file or directory");
  }
  CHECK(
      message_of(tiers::file("no such folder", 1_MiB))
          .starts_with("tier file needs a folder that exists, but \"no such folder\" does not (\".\" does)"));
  CHECK(message_of(tiers::file("/no such folder", 1_MiB))
            .starts_with(
                "tier file needs a folder that exists, but \"/no such folder\" does not (\"/\" does)"));
  CHECK(std::filesystem::is_empty(directory.path()));
}

TEST_CASE("a file that exists is never used, whether it is named as a folder or as a new file") {
  const test::TemporaryDirectory directory;
  const auto existing = directory.path() + "/existing";
  std::ofstream{existing} << "keep me";
  for (const auto size : {Bytes{7}, 1_MiB, 2_MiB}) {  // less than requested, as much, more
    std::filesystem::resize_file(existing, size.count);
    for (const auto& spec : {tiers::file(existing, 1_MiB), tiers::mapped(existing, 1_MiB)})
      CHECK(contains(message_of(spec),
                     " needs a folder, but \"" + existing +
                         "\" is not one, and libtier never uses a file that exists: name a folder, "
                         "or write "));
    for (const auto& spec :
         {tiers::file(tiers::NewFile{existing}, 1_MiB), tiers::mapped(tiers::NewFile{existing}, 1_MiB)})
      CHECK(contains(message_of(spec), "File exists"));
    CHECK(std::filesystem::file_size(existing) == size.count);
  }
  std::string kept(7, ' ');
  std::ifstream{existing}.read(kept.data(), 7);
  CHECK(kept == "keep me");
}

TEST_CASE("a file tier on a read-only directory is refused with call, tier and path") {
  test::SmallDisk disk{"1m"};
  if (!disk.mounted() || !disk.make_read_only()) return skip();
  for (const auto& spec :
       {tiers::file(disk.path(), 64_KiB), tiers::file(tiers::NewFile{disk.path() + "/new"}, 64_KiB)}) {
    const auto message = message_of(spec);
    CAPTURE(message);
    CHECK(contains(message, "open("));
    CHECK(contains(message,
                   "of \"" + spec.path +
                       "\" for tier file (the file system cannot be written: name a directory on another): "
                       "Read-only file system"));
  }
}

TEST_CASE("a file beyond the limit on file sizes is refused, without the signal that ends the program") {
  const test::TemporaryDirectory directory;
  ::rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const ::rlimit tight{1U << 20, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &tight) == 0);
  const auto message = message_of(tiers::file(directory.path(), 2_MiB));
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  CHECK(message == "ftruncate of \"" + directory.path() +
                       "\" for tier file (2.00 MiB are needed, but a file of this process may have at most "
                       "1.00 MiB; ulimit -f raises the limit): "
                       "File too large");
}

TEST_CASE("a file tier is refused where no file can be opened any more, with how many there may be") {
  const test::TemporaryDirectory directory;
  ::rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const ::rlimit none{3, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  const auto message = message_of(tiers::mapped(directory.path(), 2_MiB));
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(message == "open(O_TMPFILE) of \"" + directory.path() +
                       "\" for tier mapped (the process may have at most 3 files open; ulimit -n raises the "
                       "limit): Too many open files");
}

TEST_CASE("a file tier in a directory that its user may not write is refused, with the user") {
  const test::TemporaryDirectory directory;
  constexpr unsigned nobody = 65534;
  const auto user = ::geteuid();
  if (user == 0 && (::chmod(directory.path().c_str(), 0755) != 0 || ::seteuid(nobody) != 0)) {
    MESSAGE("SKIPPED: this system does not let a test be another user");
    return;
  }
  if (user != 0) REQUIRE(::chmod(directory.path().c_str(), 0555) == 0);
  const auto message = message_of(tiers::file(directory.path(), 2_MiB));
  const auto who = std::to_string(::geteuid());
  if (user == 0) REQUIRE(::seteuid(user) == 0);
  CHECK(message == "open(O_TMPFILE) of \"" + directory.path() + "\" for tier file (user " + who +
                       " may not make a file there: name another directory): Permission denied");
}

TEST_CASE("a file that lies in memory is called so") {
  const test::SmallDisk disk{"4m"};
  if (!disk.mounted()) return skip();
  CHECK(lies_in_memory(disk.path()));
  CHECK(lies_in_memory(disk.path() + "/new"));
  CHECK(!lies_in_memory("/proc"));
  CHECK(!lies_in_memory("/dev/null"));  // stands for a DAX device, whose node is in memory
  const auto in_memory = "scratch file in " + disk.path() + " (tmpfs), which is memory";
  CHECK(make_tier(tiers::file(disk.path(), 1_MiB))->description().ends_with(in_memory));
  CHECK(make_tier(tiers::mapped(disk.path(), 1_MiB))->description() == "mapped " + in_memory);
}

TEST_CASE("memory that the system does not have is refused with call, tier and size") {
  const auto more = message_of(tiers::dram(memory_bound() + 1_GiB));
  CAPTURE(more);
  CHECK(contains(more, "for tier dram"));
  CHECK(contains(more, "Cannot allocate memory"));
  const auto message = message_of(tiers::dram(Bytes{std::size_t{1} << 50}));
  CAPTURE(message);
  CHECK(contains(message, "for tier dram"));
  CHECK(contains(message, "1024.00 TiB"));
  CHECK(contains(message, "Cannot allocate memory"));
}

TEST_CASE("a model that nobody knows and a size of zero are refused") {
  CHECK(contains(message_of(tiers::emulated("floppy", 1_MiB)),
                 "unknown model at position 0 of \"floppy\"; allowed: optane, cxl, nvme, redl"));
  CHECK_THROWS_AS(std::ignore = make_tier(tiers::simulated("", 1_MiB)), ConfigError);
  CHECK_THROWS_AS(std::ignore = make_tier(tiers::dram(0_B)), ConfigError);
}

TEST_CASE("an injected error ends its request alone, whichever the tier") {
  const test::TemporaryDirectory directory;
  for (auto spec : specs_with_bytes(directory.path(), 8_MiB)) {
    const auto faults = std::make_shared<FailingIo>();
    spec.faults = faults;
    const auto tier = make_tier(spec);
    CAPTURE(tier->description());
    REQUIRE(!tier->reserve(0, (8_MiB).count));
    Buffer buffer{8 * 4096};
    std::vector<IoRequest> requests;
    for (std::size_t i = 0; i < 8; ++i) requests.push_back({i * 4096, buffer.data() + i * 4096, 4096, {}});

    buffer.fill(1);
    tier->transfer(Direction::Write, requests);
    Buffer first{8 * 4096}, read{8 * 4096};
    first.fill(1);
    faults->fail_nth(5);
    buffer.fill(2);
    tier->transfer(Direction::Write, requests);
    for (std::size_t i = 0; i < 8; ++i)
      CHECK(requests[i].error == (i == 5 ? std::make_error_code(std::errc::io_error) : std::error_code{}));
    faults->heal();
    transfer_all(*tier, Direction::Read, 0, read, 4096);
    for (std::size_t i = 0; i < 8; ++i) {
      auto& expected = i == 5 ? first : buffer;  // the failed write has not been made
      CHECK(std::memcmp(read.data() + i * 4096, expected.data() + i * 4096, 4096) == 0);
    }

    faults->fail_range(4096, 4097);
    tier->transfer(Direction::Read, requests);
    for (std::size_t i = 0; i < 8; ++i) CHECK(static_cast<bool>(requests[i].error) == (i == 1));
    CHECK(tier->access_error(Direction::Read, 0, 8192) == std::errc::io_error);
    CHECK(!tier->access_error(Direction::Read, 0, 4096));
    faults->heal();
    faults->fail_nth_reserve(0);
    CHECK(tier->reserve(0, 4096) == std::errc::no_space_on_device);
    CHECK(!tier->reserve(0, 4096));
  }
}

TEST_CASE("a kind of tier that there is not is refused, and not taken for another") {
  auto spec = tiers::dram(1_MiB);
  spec.kind = static_cast<TierKind>(99);
  CHECK_THROWS_WITH_AS(static_cast<void>(make_tier(spec)), doctest::Contains("kind 99 of a tier is unknown"),
                       ConfigError);
}

}  // namespace tier::tiers_test
