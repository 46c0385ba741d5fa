// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <tier/core/error.hpp>
#include <tier/core/input_file.hpp>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <tuple>

#include "support/child.hpp"
#include "support/message_of.hpp"
#include "support/packed.hpp"
#include "support/temporary_directory.hpp"
#include "support/variable.hpp"

namespace tier::input_file_test {

using tier::test::message_of;
using tier::test::TemporaryDirectory;

namespace {

std::string written(const TemporaryDirectory& folder, const std::string& bytes) {
  auto path = folder.path() + "/file";
  std::ofstream{path, std::ios::binary} << bytes;
  return path;
}

std::string rest_of(InputFile& file) {
  std::string all;
  std::array<char, 1000> part{};
  while (const auto n = file.read(part)) all.append(part.data(), n);
  return all;
}

/// Returns a text longer than a pipe holds.
std::string long_text() {
  std::string text;
  for (int i = 0; text.size() < 300'000; ++i) text += std::to_string(i) + "\n";
  return text;
}

/// A named pipe into which a thread writes once.
class Pipe {
 public:
  Pipe(const TemporaryDirectory& folder, std::string bytes) : path_{folder.path() + "/pipe"} {
    std::signal(SIGPIPE, SIG_IGN);  // from a reader that gives up
    REQUIRE(::mkfifo(path_.c_str(), 0600) == 0);
    writer_ = std::jthread{[path = path_, bytes = std::move(bytes)] {
      std::ofstream{path, std::ios::binary} << bytes;
    }};
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::jthread writer_;
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a file is read unpacked, and again from its beginning, whatever it was packed by") {
  const TemporaryDirectory folder;
  const auto text = long_text();
  for (const auto packing : {Packing::None, Packing::Gzip, Packing::Zstd}) {
    if (packing == Packing::Zstd && !test::has_zstd) continue;
    CAPTURE(static_cast<int>(packing));
    InputFile file{written(folder, test::packed(packing, text)), InputFile::Passes::Several};
    CHECK(rest_of(file) == text);
    file.rewind();
    CHECK(rest_of(file) == text);
  }
}

TEST_CASE("what can be read only once is read several times, and leaves no file") {
  const TemporaryDirectory folder, scratch;
  const test::Variable variable{"TMPDIR", scratch.path()};
  const auto text = long_text();
  const Pipe pipe{folder, test::packed(Packing::Gzip, text)};
  InputFile file{pipe.path(), InputFile::Passes::Several};
  CHECK(rest_of(file) == text);
  file.rewind();
  CHECK(rest_of(file) == text);
  CHECK(std::filesystem::is_empty(scratch.path()));
}

TEST_CASE("a scratch file without room is an error that names the file, the folder and the way out") {
  const TemporaryDirectory folder;
  test::SmallDisk disk{"64k"};
  if (!disk.mounted()) {
    MESSAGE("SKIPPED: no small disk can be mounted");
    return;
  }
  const test::Variable variable{"TMPDIR", disk.path()};
  const Pipe pipe{folder, long_text()};
  const auto message = message_of<TierError>([&] { InputFile{pipe.path(), InputFile::Passes::Several}; });
  CHECK(contains(message, "\"" + pipe.path() +
                              "\" can be read only once, and its copy in a scratch file in " + disk.path() +
                              " failed after"));
  CHECK(contains(message, "(set TMPDIR to another folder): No space left on device"));
}

TEST_CASE("the standard input is read as the path -, from where it stands") {
  const TemporaryDirectory folder;
  const auto path = written(folder, "passed by\nthe rest");
  const auto ended = test::run_in_child("stdin", [&] {
    const int file = ::open(path.c_str(), O_RDONLY);
    ::dup2(file, STDIN_FILENO);
    ::lseek(STDIN_FILENO, 10, SEEK_SET);
    InputFile in{"-", InputFile::Passes::Several};
    CHECK(rest_of(in) == "the rest");
    in.rewind();
    CHECK(rest_of(in) == "the rest");
    ::close(STDIN_FILENO);
    CHECK(message_of<TierError>([] { InputFile{"-"}; }) ==
          "reading the standard input, the file \"-\": Bad file descriptor");
  });
  CHECK(ended.code == 0);
}

TEST_CASE("a file that is opened while the standard input is closed does not become the standard input") {
  const TemporaryDirectory folder;
  const auto path = written(folder, "text");
  const auto ended = test::run_in_child("closed", [&] {
    ::close(STDIN_FILENO);
    InputFile file{path, InputFile::Passes::Several};
    CHECK(::fcntl(STDIN_FILENO, F_GETFD) == -1);
    CHECK(rest_of(file) == "text");
  });
  CHECK(ended.code == 0);
}

TEST_CASE("packed bytes that are damaged or cut off are refused with the file's name") {
  const TemporaryDirectory folder;
  auto bytes = test::packed(Packing::Gzip, long_text());
  bytes.resize(bytes.size() / 2);
  const auto path = written(folder, bytes);
  InputFile file{path};
  CHECK(message_of<ConfigError>([&] { rest_of(file); }) ==
        "\"" + path + "\": the file is cut off: its gzip stream has no end");
}

TEST_CASE("a text file comes without the mark of UTF-8, and UTF-16 is named") {
  const TemporaryDirectory folder;
  CHECK(read_text_file(written(folder, "\xef\xbb\xbftext\r\n")) == "text\r\n");
  CHECK(read_text_file(written(folder, "")) == "");
  for (const auto* mark : {"\xff\xfe", "\xfe\xff"}) {
    const auto path = written(folder, std::string{mark} + "t");
    CHECK(message_of<ConfigError>([&] { std::ignore = read_text_file(path); }) ==
          "\"" + path +
              "\": its byte order mark says UTF-16 or UTF-32; text must be UTF-8 (the program iconv converts "
              "it)");
  }
}

TEST_CASE("a text file of more than is read is refused, however small it is packed") {
  const TemporaryDirectory folder;
  const auto path = written(folder, test::packed(Packing::Gzip, std::string(200'000, 'x')));
  CHECK(message_of<ConfigError>([&] { std::ignore = read_text_file(path, 64_KiB); }) ==
        "\"" + path + "\": the file has more than 64KiB, the most that is read");
}

TEST_CASE("a folder, or a file that is not there, is an error of the call that has failed") {
  CHECK(message_of<TierError>([] { std::ignore = read_text_file("/var"); }) ==
        "read of \"/var\": Is a directory");
  CHECK(message_of<TierError>([] { std::ignore = read_text_file("/no/such"); }) ==
        "open of \"/no/such\": No such file or directory");
}

}  // namespace tier::input_file_test
