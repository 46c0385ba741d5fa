// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Streams as sources and sinks of bytes.
#include <tier/core/error.hpp>

#include <istream>
#include <ostream>
#include <string>
#include <string_view>

#include "core/byte_sink.hpp"
#include "core/byte_source.hpp"

namespace tier::trace {

class StreamSource final : public ByteSource {
 public:
  StreamSource(std::istream& in, std::string_view name) : in_{in}, name_{name} {}

  std::size_t read(std::span<char> to) override {
    in_.read(to.data(), static_cast<std::streamsize>(to.size()));
    if (in_.bad() || (in_.fail() && !in_.eof()))
      throw TierError{std::make_error_code(std::errc::io_error), "read of " + name_};
    return static_cast<std::size_t>(in_.gcount());
  }

 private:
  std::istream& in_;
  std::string name_;
};

class StreamSink final : public ByteSink {
 public:
  explicit StreamSink(std::ostream& out) : out_{out} {}
  void write(std::string_view bytes) override {
    check(out_.write(bytes.data(), static_cast<std::streamsize>(bytes.size())));
  }
  void finish() override { check(out_.flush()); }

 private:
  static void check(const std::ostream& out) {
    if (!out) throw TierError{std::make_error_code(std::errc::io_error), "write of a trace"};
  }

  std::ostream& out_;
};

}  // namespace tier::trace
