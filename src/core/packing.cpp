// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <zlib.h>

#include <algorithm>
#include <array>
#include <new>

#include "core/byte_sink.hpp"
#include "core/zstd.hpp"

namespace tier {
namespace {

class PlainSink final : public ByteSink {
 public:
  explicit PlainSink(ByteSink& sink) : sink_{sink} {}
  void write(std::string_view bytes) override { sink_.write(bytes); }
  void finish() override { sink_.finish(); }

 private:
  ByteSink& sink_;
};

/// Compresses to gzip without a name or time stamp, so that the same bytes give the same file.
class GzipSink final : public ByteSink {
 public:
  explicit GzipSink(ByteSink& sink) : sink_{sink} {
    constexpr int window_of_gzip = 15 + 16;
    constexpr int usual_memory = 8;
    if (deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window_of_gzip, usual_memory,
                     Z_DEFAULT_STRATEGY) != Z_OK)
      throw std::bad_alloc{};
  }
  ~GzipSink() override { deflateEnd(&stream_); }
  GzipSink(const GzipSink&) = delete;
  GzipSink& operator=(const GzipSink&) = delete;

  void write(std::string_view bytes) override {
    constexpr std::size_t at_once = 1U << 30;
    for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), at_once)))
      deflate_all(bytes.substr(0, at_once), Z_NO_FLUSH);
  }
  void finish() override {
    deflate_all({}, Z_FINISH);
    sink_.finish();
  }

 private:
  void deflate_all(std::string_view bytes, int flush) {
    // zlib's interface has no const
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    std::array<char, 1U << 15> packed{};
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(packed.data());
      stream_.avail_out = packed.size();
      deflate(&stream_, flush);
      sink_.write({packed.data(), packed.size() - stream_.avail_out});
    } while (stream_.avail_out == 0);
  }

  ByteSink& sink_;
  z_stream stream_{};
};

}  // namespace

std::unique_ptr<ByteSink> packing(Packing packing, ByteSink& sink) {
  if (packing == Packing::Gzip) return std::make_unique<GzipSink>(sink);
  if (packing == Packing::Zstd) return packing_zstd(sink);
  return std::make_unique<PlainSink>(sink);
}

}  // namespace tier
