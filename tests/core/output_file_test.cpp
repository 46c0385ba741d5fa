// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <tier/core/error.hpp>
#include <tier/core/output_file.hpp>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "support/message_of.hpp"
#include "support/temporary_directory.hpp"

namespace tier::output_file_test {

using tier::test::TemporaryDirectory;

namespace {

std::string bytes_of(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

std::size_t files_in(const std::string& folder) {
  const std::filesystem::directory_iterator all{folder};
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

}  // namespace

TEST_CASE("a file is there when it is finished, and replaces what was there") {
  const TemporaryDirectory folder;
  const auto path = folder.path() + "/file";
  write_file(path, "as it was");
  OutputFile file{path};
  file.write("one, ");
  file.write("two");
  CHECK(bytes_of(path) == "as it was");
  file.finish();
  CHECK(bytes_of(path) == "one, two");
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("a file that is not finished was never there") {
  const TemporaryDirectory folder;
  { OutputFile{folder.path() + "/file"}.write("a part"); }
  CHECK(files_in(folder.path()) == 0);
}

TEST_CASE("a file that cannot be made or written is told by call, path and reason") {
  const TemporaryDirectory folder;
  const auto message = [](const std::string& path) {
    return test::message_of<TierError>([&] { write_file(path, "text"); });
  };
  const auto missing = folder.path() + "/none/file";
  CHECK(message(missing) == "open of \"" + missing + "\": No such file or directory");
  CHECK(message(folder.path()) == "open of \"" + folder.path() + "\": Is a directory");
  CHECK(message("/dev/full") == "write of \"/dev/full\": No space left on device");
  CHECK(files_in(folder.path()) == 0);
}

TEST_CASE("on a full disk what was there stays, and nothing else") {
  const test::SmallDisk disk{"64k"};
  if (!disk.mounted()) {
    MESSAGE("SKIPPED: the system does not let us mount a small disk");
    return;
  }
  const auto path = disk.path() + "/file";
  write_file(path, "as it was");
  const std::string large(100'000, 'x');
  CHECK(test::message_of<TierError>([&] { write_file(path, large); }) ==
        "write of \"" + path + "\": No space left on device");
  CHECK(bytes_of(path) == "as it was");
  CHECK(files_in(disk.path()) == 1);
  write_file(path, "there is room again");
  CHECK(bytes_of(path) == "there is room again");
}

TEST_CASE("a file that cannot be moved to its place in the end is given up") {
  const TemporaryDirectory folder;
  const auto path = folder.path() + "/file";
  {
    OutputFile file{path};
    file.write("text");
    std::filesystem::create_directory(path);
    CHECK(test::message_of<TierError>([&] { file.finish(); }) ==
          "rename of \"" + path + "\": Is a directory");
  }
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("the path - is the standard output, after what was printed") {
  const TemporaryDirectory folder;
  const auto path = folder.path() + "/file";
  const int before = ::dup(STDOUT_FILENO);
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT, 0600);
  std::fflush(stdout);
  ::dup2(file, STDOUT_FILENO);
  std::printf("printed, ");
  write_file("-", "written, ");
  write_file("-", "and more");
  ::dup2(before, STDOUT_FILENO);
  ::close(file);
  ::close(before);
  CHECK(bytes_of(path) == "printed, written, and more");
  CHECK(!std::filesystem::exists("-"));
}

TEST_CASE("a link is written through, and a device is written into") {
  const TemporaryDirectory folder;
  write_file(folder.path() + "/file", "as it was");
  std::filesystem::create_symlink("file", folder.path() + "/link");
  write_file(folder.path() + "/link", "through it");
  CHECK(std::filesystem::is_symlink(folder.path() + "/link"));
  CHECK(bytes_of(folder.path() + "/file") == "through it");
  write_file("/dev/null", "text");
  CHECK(std::filesystem::is_character_file("/dev/null"));
}

TEST_CASE("a file has the rights that the process gives its files") {
  const TemporaryDirectory folder;
  const auto mask = ::umask(027);
  write_file(folder.path() + "/file", "text");
  ::umask(mask);
  struct ::stat status {};
  REQUIRE(::stat((folder.path() + "/file").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0640);
}

}  // namespace tier::output_file_test
