// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/zstd.hpp"

#include <tier/core/error.hpp>

#include "core/broken_rule.hpp"

#if defined(TIER_WITH_ZSTD)
#include <zstd.h>

#include <array>
#include <new>

namespace tier {
namespace {

/// Refuses frames that need a larger window; this is zstd's default bound.
constexpr int largest_window_log = 27;

struct Free {
  void operator()(ZSTD_DCtx* context) const noexcept { ZSTD_freeDCtx(context); }
  void operator()(ZSTD_CCtx* context) const noexcept { ZSTD_freeCCtx(context); }
};

/// Decompresses consecutive frames, as the program zstd does.
class Unpacked final : public ByteSource {
 public:
  explicit Unpacked(RawInput input) : input_{std::move(input)}, context_{ZSTD_createDCtx()} {
    if (!context_) throw std::bad_alloc{};
    ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, largest_window_log);
  }

  std::size_t read(std::span<char> to) override {
    ZSTD_outBuffer out{to.data(), to.size(), 0};
    while (out.pos == 0) {
      const auto next = input_.next();
      if (next.empty() && !within_frame_) return 0;
      ZSTD_inBuffer in{next.data(), next.size(), 0};
      const auto result = ZSTD_decompressStream(context_.get(), &out, &in);
      input_.take(in.pos);
      if (ZSTD_isError(result) != 0)
        throw BrokenRule{std::string{"the zstd stream is damaged: "} + ZSTD_getErrorName(result)};
      within_frame_ = result != 0;
      if (next.empty() && out.pos == 0 && within_frame_)
        throw BrokenRule{"the file is cut off: its zstd stream has no end"};
    }
    return out.pos;
  }

 private:
  RawInput input_;
  std::unique_ptr<ZSTD_DCtx, Free> context_;
  bool within_frame_ = false;
};

class Packed final : public ByteSink {
 public:
  explicit Packed(ByteSink& sink) : sink_{sink}, context_{ZSTD_createCCtx()} {
    if (!context_) throw std::bad_alloc{};
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
  }

  void write(std::string_view bytes) override { compress(bytes, ZSTD_e_continue); }
  void finish() override {
    compress({}, ZSTD_e_end);
    sink_.finish();
  }

 private:
  void compress(std::string_view bytes, ZSTD_EndDirective directive) {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    std::array<char, 1U << 15> packed{};
    for (bool done = false; !done;) {
      ZSTD_outBuffer out{packed.data(), packed.size(), 0};
      const auto left = ZSTD_compressStream2(context_.get(), &out, &in, directive);
      if (ZSTD_isError(left) != 0) throw std::bad_alloc{};  // memory is the only reason to fail
      sink_.write({packed.data(), out.pos});
      done = directive == ZSTD_e_end ? left == 0 : in.pos == in.size;
    }
  }

  ByteSink& sink_;
  std::unique_ptr<ZSTD_CCtx, Free> context_;
};

}  // namespace

std::unique_ptr<ByteSource> unpacked_zstd(RawInput input) {
  return std::make_unique<Unpacked>(std::move(input));
}
std::unique_ptr<ByteSink> packing_zstd(ByteSink& sink) { return std::make_unique<Packed>(sink); }

}  // namespace tier

#else

namespace tier {
namespace {
constexpr const char* missing =
    "this libtier was built without zstd: unpack or pack the file with the program zstd, or build libtier "
    "with TIER_WITH_ZSTD=ON and libzstd (on Debian the package libzstd-dev)";
}

std::unique_ptr<ByteSource> unpacked_zstd(RawInput) { throw BrokenRule{missing}; }
std::unique_ptr<ByteSink> packing_zstd(ByteSink&) { throw ConfigError{missing}; }

}  // namespace tier

#endif
