// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <tier/core/bytes.hpp>

#include <cerrno>
#include <cstring>
#include <string>

#include "hardware/machine.hpp"

namespace tier::dax_test {
namespace {

using test::given;

/// A file or device, mapped.
class Mapping {
 public:
  Mapping(const std::string& path, int open_flags, Bytes size, int map_flags) : size_{size} {
    fd_ = ::open(path.c_str(), open_flags | O_RDWR | O_CLOEXEC, 0600);
    if (fd_ < 0) throw std::system_error{errno, std::generic_category(), "open " + path};
    if ((open_flags & O_TMPFILE) == O_TMPFILE && ::ftruncate(fd_, static_cast<::off_t>(size.count)) != 0)
      throw std::system_error{errno, std::generic_category(), "ftruncate"};
    address_ = ::mmap(nullptr, size.count, PROT_READ | PROT_WRITE, map_flags, fd_, 0);
    error_ = address_ == MAP_FAILED ? errno : 0;
  }
  ~Mapping() {
    if (error_ == 0) ::munmap(address_, size_.count);
    ::close(fd_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] int error() const { return error_; }  ///< errno of mmap
  [[nodiscard]] char* data() const { return static_cast<char*>(address_); }

 private:
  Bytes size_;
  int fd_ = -1, error_ = 0;
  void* address_ = nullptr;
};

bool is_dax(int fd) {
  struct ::statx status {};
  REQUIRE(::statx(fd, "", AT_EMPTY_PATH, 0, &status) == 0);
  return (status.stx_attributes & STATX_ATTR_DAX) != 0;
}

constexpr int synchronous = MAP_SHARED_VALIDATE | MAP_SYNC;

}  // namespace

TEST_CASE("files on persistent memory are mapped without a page cache") {
  if (!given() || given()->fsdax.empty()) return test::not_given("file system on persistent memory");
  const Mapping file{given()->fsdax, O_TMPFILE, 2_MiB, synchronous};
  CHECK(is_dax(file.fd()));
  REQUIRE(file.error() == 0);
  std::strcpy(file.data(), "here");
  CHECK(std::string{file.data()} == "here");
}

TEST_CASE("files on the disk are not mapped without a page cache") {
  if (!given() || given()->disk.empty()) return test::not_given("disk of its own");
  const Mapping file{given()->disk, O_TMPFILE, 2_MiB, synchronous};
  CHECK(!is_dax(file.fd()));
  CHECK(file.error() == EOPNOTSUPP);
}

TEST_CASE("a DAX device is mapped, and has what was stored in it when it is mapped again") {
  if (!given() || given()->devdax.empty()) return test::not_given("DAX device");
  struct ::stat status {};
  REQUIRE(::stat(given()->devdax.c_str(), &status) == 0);
  CHECK(S_ISCHR(status.st_mode));
  for (const bool again : {false, true}) {
    const Mapping device{given()->devdax, 0, 4_MiB, MAP_SHARED};
    REQUIRE(device.error() == 0);
    if (again) CHECK(std::string{device.data()} == "stays");
    if (!again) std::strcpy(device.data(), "stays");
  }
}

}  // namespace tier::dax_test
