// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/unpacked.hpp"

#include <zlib.h>

#include <algorithm>
#include <new>
#include <span>
#include <string>
#include <utility>

#include "core/broken_rule.hpp"
#include "core/raw_input.hpp"
#include "core/zstd.hpp"

namespace tier {
namespace {

class PlainSource final : public ByteSource {
 public:
  explicit PlainSource(RawInput input) : input_{std::move(input)} {}

  std::size_t read(std::span<char> to) override {
    const auto next = input_.next();
    const auto n = std::min(next.size(), to.size());
    std::copy_n(next.data(), n, to.data());
    input_.take(n);
    return n;
  }

 private:
  RawInput input_;
};

bool begins_gzip(std::span<const char> bytes) noexcept {
  return bytes.size() >= 2 && bytes[0] == '\x1f' && bytes[1] == '\x8b';
}

/// Decompresses consecutive gzip streams, as the program gzip does.
class GzipSource final : public ByteSource {
 public:
  explicit GzipSource(RawInput input) : input_{std::move(input)} {
    constexpr int window_of_gzip = 15 + 16;
    if (inflateInit2(&stream_, window_of_gzip) != Z_OK) throw std::bad_alloc{};
  }
  ~GzipSource() override { inflateEnd(&stream_); }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

  std::size_t read(std::span<char> to) override {
    stream_.next_out = reinterpret_cast<Bytef*>(to.data());
    stream_.avail_out = static_cast<uInt>(std::min<std::size_t>(to.size(), 1U << 30));
    const auto room = stream_.avail_out;
    while (stream_.avail_out == room && !at_end()) inflate_some();
    return room - stream_.avail_out;
  }

 private:
  /// True at the end of the input; otherwise begins the next stream if the previous one has ended.
  [[nodiscard]] bool at_end() {
    if (!stream_ended_) return false;
    const auto next = input_.next(2);
    if (next.empty()) return true;
    if (!begins_gzip(next)) throw BrokenRule{"bytes after the end of the gzip stream"};
    inflateReset(&stream_);
    return stream_ended_ = false;
  }
  void inflate_some() {
    const auto next = input_.next();
    if (next.empty()) throw BrokenRule{"the file is cut off: its gzip stream has no end"};
    // zlib's interface has no const
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(next.data()));
    stream_.avail_in = static_cast<uInt>(next.size());
    const int result = inflate(&stream_, Z_NO_FLUSH);
    input_.take(next.size() - stream_.avail_in);
    if (result == Z_MEM_ERROR) throw std::bad_alloc{};
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
      throw BrokenRule{std::string{"the gzip stream is damaged: "} +
                       (stream_.msg != nullptr ? stream_.msg : "it needs a dictionary")};
    stream_ended_ = result == Z_STREAM_END;
  }

  RawInput input_;
  z_stream stream_{};
  bool stream_ended_ = false;
};

/// True if the bytes begin a zstd frame, or a skippable frame.
bool begins_zstd(std::span<const char> bytes) noexcept {
  if (bytes.size() < 4) return false;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const bool frame = byte(0) == 0x28 && byte(1) == 0xb5 && byte(2) == 0x2f && byte(3) == 0xfd;
  const bool skipped = (byte(0) & 0xf0) == 0x50 && byte(1) == 0x2a && byte(2) == 0x4d && byte(3) == 0x18;
  return frame || skipped;
}

}  // namespace

std::unique_ptr<ByteSource> unpacked(ByteSource& packed) {
  RawInput input{packed};
  const auto next = input.next(4);
  if (begins_gzip(next)) return std::make_unique<GzipSource>(std::move(input));
  if (begins_zstd(next)) return unpacked_zstd(std::move(input));
  return std::make_unique<PlainSource>(std::move(input));
}

}  // namespace tier
