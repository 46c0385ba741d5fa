// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <tier/trace/files.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <tuple>
#include <vector>

#include "support/message_of.hpp"
#include "support/packed.hpp"
#include "support/temporary_directory.hpp"
#include "texts.hpp"

namespace tier::files_test {

using namespace tier::trace;
using tier::test::TemporaryDirectory;

namespace {

const std::string text =
    "H tmtrace=1 net=n\n"
    "T 1 64 p w\n"
    "K fc_f f 0 R 1 W - U -\n";

std::string bytes_of(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream{path, std::ios::binary} << bytes;
}

std::size_t files_in(const std::string& folder) {
  const std::filesystem::directory_iterator all{folder};
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

std::vector<Packing> packings() {
  if (test::has_zstd) return {Packing::None, Packing::Gzip, Packing::Zstd};
  return {Packing::None, Packing::Gzip};
}

std::string message_of(const std::string& bytes) {
  return test::message_of<TraceError>([&] { std::ignore = test::read(bytes); });
}

/// Returns a text long enough that its packed form is cut in the middle.
std::string long_text() {
  std::string result = text;
  for (int i = 0; i < 5000; ++i)
    result += "T " + std::to_string(i * i + 2) + " " + std::to_string(i) + " a x\n";
  return result;
}

}  // namespace

TEST_CASE("a file is packed by the end of its name") {
  CHECK(packing_of("trace") == Packing::None);
  CHECK(packing_of("a.gz.txt") == Packing::None);
  CHECK(packing_of("a.tmtrace.gz") == Packing::Gzip);
  CHECK(packing_of("a.zst") == Packing::Zstd);
}

TEST_CASE("a trace comes back from a file, packed or not, whatever the file's name says") {
  const TemporaryDirectory folder;
  const auto trace = test::read(long_text());
  for (const auto how : packings()) {
    const auto path = folder.path() + "/trace.txt";
    write_file(trace, path, how);
    CHECK(read_file(path) == trace);
    CHECK((bytes_of(path).size() < long_text().size() / 2) == (how != Packing::None));
    write_file(trace, path, how);  // overwrites the existing file
    CHECK(read_file(path) == trace);
    CHECK(files_in(folder.path()) == 1);
  }
}

TEST_CASE("who reads a file is told of its bytes as they are taken, packed or not, up to the last") {
  const TemporaryDirectory folder;
  const auto path = folder.path() + "/trace";
  for (const auto how : packings()) {
    write_file(test::read(long_text()), path, how);
    std::vector<std::uint64_t> taken;
    std::ignore = read_file(path, {}, [&](std::uint64_t bytes) { taken.push_back(bytes); });
    REQUIRE(!taken.empty());
    CHECK(std::ranges::is_sorted(taken));
    CHECK(taken.back() == bytes_of(path).size());
  }
}

TEST_CASE("the same trace makes the same file") {
  const TemporaryDirectory folder;
  const auto trace = test::read(long_text());
  for (const auto* name : {"/a.gz", "/b.gz"}) write_file(trace, folder.path() + name);
  CHECK(bytes_of(folder.path() + "/a.gz") == bytes_of(folder.path() + "/b.gz"));
}

TEST_CASE("packed streams one after another are one text") {
  for (const auto how : packings()) {
    const auto bytes = test::packed(how, text) + test::packed(how, "I\n");
    CHECK(test::read(bytes).events().size() == 3);
  }
}

TEST_CASE("a packed file that is cut off is refused, wherever it is cut") {
  for (const auto how : packings()) {
    if (how == Packing::None) continue;
    for (const auto& whole : {test::packed(how, text), test::packed(how, long_text())}) {
      for (std::size_t n = 4; n < whole.size(); n += 1 + whole.size() / 100) {
        CAPTURE(n);
        const auto message = message_of(whole.substr(0, n));
        CHECK(message.find(how == Packing::Gzip
                               ? ": the file is cut off: its gzip stream has no end"
                               : ": the file is cut off: its zstd stream has no end") != std::string::npos);
      }
    }
  }
}

TEST_CASE("a packed file that is damaged is refused") {
  for (const auto how : packings()) {
    if (how == Packing::None) continue;
    const std::string stream = how == Packing::Gzip ? "gzip" : "zstd";
    auto bytes = test::packed(how, long_text());
    CHECK(message_of(bytes + "x")
              .find(how == Packing::Gzip ? "bytes after the end of the gzip stream" : "zstd stream") !=
          std::string::npos);
    bytes[bytes.size() - 3] = static_cast<char>(bytes[bytes.size() - 3] ^ 1);  // in the checksum
    CHECK(message_of(bytes).find("the " + stream + " stream is damaged: ") != std::string::npos);
  }
}

TEST_CASE("a file without a trace in it is refused by name, line and reason") {
  const TemporaryDirectory folder;
  const auto path = folder.path() + "/trace";
  write_bytes(path, "not a trace\n");
  CHECK(test::message_of<TraceError>([&] { std::ignore = read_file(path); }) ==
        path + ":1: expected H, the header, as the first line, in \"not a trace\"");
}

TEST_CASE("a file that cannot be opened, read or made is told by call and path") {
  const TemporaryDirectory folder;
  const auto message = [&](const std::string& path, auto&& action) {
    return test::message_of<TierError>([&] { action(path); });
  };
  const auto read = [](const std::string& path) { std::ignore = read_file(path); };
  const auto write = [](const std::string& path) { write_file(test::read(text), path); };
  const auto missing = folder.path() + "/none/trace";
  CHECK(message(missing, read).starts_with("open of \"" + missing + "\": No such file"));
  CHECK(message(missing, write).starts_with("open of \"" + missing + "\": No such file"));
  CHECK(message(folder.path(), read).starts_with("read of \"" + folder.path() + "\": Is a directory"));
  CHECK(message(folder.path(), write).starts_with("open of \"" + folder.path() + "\": Is a directory"));
  CHECK(message("/dev/full", write).starts_with("write of \"/dev/full\": No space left"));
  CHECK(files_in(folder.path()) == 0);
}

TEST_CASE("a full disk leaves what was there, and nothing else") {
  test::SmallDisk disk{"64k"};
  if (!disk.mounted()) {
    MESSAGE("SKIPPED: the system does not let us mount a small disk");
    return;
  }
  const auto path = disk.path() + "/trace";
  write_file(test::read(text), path);
  const auto before = bytes_of(path);
  const auto large = test::read(long_text() + long_text().substr(text.size(), 0));
  Trace too_large = large;
  for (int i = 0; i < 10'000; ++i) too_large.add_setting("some", "configuration");
  const auto message = test::message_of<TierError>([&] { write_file(too_large, path); });
  CHECK(message == "write of \"" + path + "\": No space left on device");
  CHECK(bytes_of(path) == before);
  CHECK(files_in(disk.path()) == 1);
  write_file(test::read(text), path);  // there is room again
}

TEST_CASE("what cannot be written leaves what was there, and nothing else") {
  const TemporaryDirectory folder;
  const auto path = folder.path() + "/trace";
  write_bytes(path, "as it was");
  Trace trace;
  trace.add_setting("a=b", "c");
  CHECK_THROWS_AS(write_file(trace, path), TraceError);
  CHECK(bytes_of(path) == "as it was");
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("without zstd its files are refused by the name of what is missing") {
  if (test::has_zstd) {
    MESSAGE("not without zstd: this build has it");
    return;
  }
  const std::string zstd{"\x28\xb5\x2f\xfd", 4};
  CHECK(message_of(zstd).find("TIER_WITH_ZSTD=ON and libzstd (on Debian the package libzstd-dev)") !=
        std::string::npos);
  const TemporaryDirectory folder;
  const auto path = folder.path() + "/trace.zst";
  CHECK(test::message_of<ConfigError>([&] { write_file(test::read(text), path); }).find("libzstd-dev") !=
        std::string::npos);
  CHECK(files_in(folder.path()) == 0);
}

TEST_CASE("a text that a program of another system wrote is the same trace") {
  const auto as_it_is = test::read(test::written(test::read(long_text()), Ending::Checked));
  auto text_of_windows = test::written(as_it_is, Ending::Checked);
  for (std::size_t at = 0; (at = text_of_windows.find('\n', at)) != std::string::npos; at += 2)
    text_of_windows.insert(at, 1, '\r');
  CHECK(test::read("\xef\xbb\xbf" + text_of_windows) == as_it_is);
  SUBCASE("a carriage return elsewhere is a control character as before") {
    CHECK(message_of(text + "c a=\rb\n").find("t:4: a control character") == 0);
  }
  SUBCASE("a mark is no beginning of a later line") {
    CHECK(message_of(text + "\xef\xbb\xbf" + "c a=b\n").find("t:4: unknown type of line") == 0);
  }
}

}  // namespace tier::files_test
