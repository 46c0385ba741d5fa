// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  How batches of requests become system calls, and which result each request gets.
#include "memory/io/io_pieces.hpp"
#include "memory/io/thread_backend.hpp"
#include "memory/io/uring_backend.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "support/seed.hpp"
#include "support/temporary_directory.hpp"

namespace tier::io_pieces_test {

namespace {

constexpr std::size_t block = 512;

/// Makes adjacent requests of one size.
std::vector<IoRequest> row_of(std::size_t count, std::size_t size, std::uint64_t offset = 0) {
  std::vector<IoRequest> requests;
  for (std::size_t i = 0; i < count; ++i) requests.push_back({offset + i * size, nullptr, size, {}});
  return requests;
}

/// A file of whole blocks, some of them bad: a call stops before a bad block, and at times without a reason.
class FickleFile {
 public:
  FickleFile(std::size_t blocks, std::uint64_t seed) : random_{seed}, bytes_(blocks * block), bad_(blocks) {
    for (auto& byte : bytes_) byte = static_cast<std::byte>(random_());
    for (std::size_t i = 0; i < blocks; ++i) bad_[i] = random_() % 16 == 0;
  }

  std::int64_t call(Direction direction, std::span<const ::iovec> vectors, std::uint64_t offset) {
    if (random_() % 8 == 0) return random_() % 2 == 0 ? -EINTR : -EAGAIN;
    std::int64_t moved = 0;
    for (const auto& vector : vectors) {
      REQUIRE(vector.iov_len % block == 0);
      for (std::size_t i = 0; i < vector.iov_len; i += block, offset += block, moved += block) {
        if (offset >= bytes_.size()) return moved;
        if (bad_[offset / block]) return moved > 0 ? moved : -EIO;
        if (moved > 0 && random_() % 32 == 0)
          return moved + (random_() % 2 == 0 ? 7 : 0);  // at times not whole blocks
        auto* memory = static_cast<std::byte*>(vector.iov_base) + i;
        if (direction == Direction::Read)
          std::copy_n(&bytes_[offset], block, memory);
        else
          std::copy_n(memory, block, &bytes_[offset]);
      }
    }
    return moved;
  }
  /// Returns the result of a request that nothing interrupts.
  [[nodiscard]] std::error_code error_of(const IoRequest& request) const {
    for (auto at = request.offset; at < request.offset + request.size; at += block)
      if (at >= bytes_.size() || bad_[at / block]) return std::make_error_code(std::errc::io_error);
    return {};
  }
  [[nodiscard]] bool holds(const IoRequest& request) const {
    return std::memcmp(&bytes_[request.offset], request.memory, request.size) == 0;
  }

 private:
  std::mt19937_64 random_;
  std::vector<std::byte> bytes_;
  std::vector<bool> bad_;
};

/// Makes requests for some blocks, each at most once, often adjacent; some lie beyond the end, some are empty.
std::vector<IoRequest> some_requests(std::mt19937_64& random, std::size_t blocks,
                                     std::vector<std::byte>& memory) {
  memory.assign((blocks + 8) * block, std::byte{0});
  std::vector<IoRequest> requests;
  for (std::size_t at = random() % 4; at < blocks;) {
    const auto size = random() % 9 == 0 ? 0 : 1 + random() % 4;
    requests.push_back({at * block, nullptr, size * block, {}});
    at += size + (random() % 4 == 0 ? random() % 5 : 0);
  }
  for (auto& request : requests)  // memory is in another order
    request.memory = memory.data() + memory.size() - (request.offset + request.size);
  if (random() % 2 == 0) std::shuffle(requests.begin(), requests.end(), random);
  return requests;
}

}  // namespace

TEST_CASE("adjacent requests are one operation, up to 64 of them and 256 KiB") {
  CHECK(adjacent(row_of(1, 4096)) == 1);
  CHECK(adjacent(row_of(1000, 4096)) == 64);
  CHECK(adjacent(row_of(1000, 512)) == 64);
  CHECK(adjacent(row_of(1000, 64 << 10)) == 4);
  CHECK(adjacent(row_of(2, 1 << 20)) == 1);
  auto requests = row_of(4, 4096);
  requests[2].offset += 4096;
  CHECK(adjacent(requests) == 2);
  CHECK(operations(requests) == 3);  // the last one lies behind a gap, too
  std::swap(requests[0], requests[1]);
  CHECK(operations(requests) == 4);
  CHECK(operations({}) == 0);
}

TEST_CASE("whatever a call moves, each request moves once, and has the error that is its own") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  std::size_t failed = 0;
  for (int round = 0; round < 500; ++round) {
    const std::size_t blocks = 1 + random() % 300;
    FickleFile file{blocks, random()};
    std::vector<std::byte> memory;
    auto requests = some_requests(random, blocks + 4, memory);
    const auto direction = random() % 2 == 0 ? Direction::Read : Direction::Write;
    if (direction == Direction::Write)
      for (auto& byte : memory) byte = static_cast<std::byte>(random());

    for (IoCutter cutter{requests}; !cutter.done();) {
      for (auto piece = cutter.next(); !piece.done();) {
        IoPiece::Vectors vectors;
        const auto count = piece.fill(vectors);
        REQUIRE(piece.offset() % block == 0);
        piece.advance(file.call(direction, std::span{vectors}.first(count), piece.offset()), block);
      }
    }
    for (const auto& request : requests) {
      CHECK(request.error == file.error_of(request));
      if (request.error)
        ++failed;
      else
        CHECK((request.size == 0 || file.holds(request)));
    }
  }
  CHECK(failed > 100);
}

TEST_CASE("a large request is cut, and an error in one part is its error") {
  std::vector<std::byte> memory((3 << 20) + 4096);
  IoRequest request{0, memory.data(), memory.size(), {}};
  std::vector<std::size_t> sizes;
  for (IoCutter cutter{{&request, 1}}; !cutter.done();) {
    auto piece = cutter.next();
    IoPiece::Vectors vectors;
    REQUIRE(piece.fill(vectors) == 1);
    sizes.push_back(vectors[0].iov_len);
    CHECK(vectors[0].iov_base == memory.data() + piece.offset());
    piece.advance(sizes.size() == 2 ? -EIO : static_cast<std::int64_t>(vectors[0].iov_len), 512);
    CHECK(piece.done());
  }
  CHECK(sizes == std::vector<std::size_t>{1 << 20, 1 << 20, 1 << 20, 4096});
  CHECK(request.error == std::errc::io_error);
}

TEST_CASE("requests behind the end of a file fail, those before it in the same call do not") {
  const test::TemporaryDirectory directory;
  const auto path = directory.path() + "/file";
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  REQUIRE(descriptor >= 0);
  std::vector<char> written(3 * block + 100, 'x');
  REQUIRE(::write(descriptor, written.data(), written.size()) == static_cast<::ssize_t>(written.size()));

  std::string reason;
  for (const bool uring : {false, true}) {
    CAPTURE(uring);
    const auto backend =
        uring ? make_uring_backend(descriptor, block, reason) : make_thread_backend(descriptor, block);
    if (backend == nullptr) {
      MESSAGE("SKIPPED: no io_uring here: " << reason);
      continue;
    }
    std::vector<std::byte> memory(6 * block);
    auto requests = row_of(6, block);
    for (auto& request : requests) request.memory = &memory[request.offset];
    backend->run(Direction::Read, requests);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      CAPTURE(i);
      CHECK(static_cast<bool>(requests[i].error) == (i >= 3));
      CHECK((i >= 3 || memory[i * block] == std::byte{'x'}));
    }
  }
  ::close(descriptor);
}

}  // namespace tier::io_pieces_test
