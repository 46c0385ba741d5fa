// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/error.hpp>
#include <tier/core/output_file.hpp>
#include <tier/trace/files.hpp>

#include <algorithm>
#include <memory>
#include <optional>

#include "core/byte_sink.hpp"
#include "core/file_source.hpp"
#include "core/raw_input.hpp"
#include "core/unpacked.hpp"
#include "trace/binary_form.hpp"
#include "trace/binary_reader.hpp"
#include "trace/binary_writer.hpp"
#include "trace/text_reader.hpp"
#include "trace/text_writer.hpp"

namespace tier::trace {
namespace {

/// Tells from a source's first bytes whether it is binary, and passes them on with the rest.
class Begun final : public ByteSource {
 public:
  explicit Begun(ByteSource& source) : input_{source} { is_binary_ = begins_binary(); }

  [[nodiscard]] bool is_binary() const noexcept { return is_binary_; }
  std::size_t read(std::span<char> to) override {
    const auto next = input_.next();
    const auto n = std::min(next.size(), to.size());
    std::copy_n(next.data(), n, to.data());
    input_.take(n);
    return n;
  }

 private:
  [[nodiscard]] bool begins_binary() {
    const auto next = input_.next(4);
    return std::string_view{next.data(), next.size()}.starts_with(binary_magic.substr(0, 4));
  }

  RawInput input_;
  bool is_binary_ = false;
};

class FileSink final : public ByteSink {
 public:
  explicit FileSink(const std::string& path) : file_{path} {}

  void write(std::string_view bytes) override { file_.write(bytes); }
  void finish() override { file_.finish(); }

 private:
  OutputFile file_;
};

}  // namespace

Packing packing_of(std::string_view path) noexcept {
  if (path.ends_with(".gz")) return Packing::Gzip;
  return path.ends_with(".zst") ? Packing::Zstd : Packing::None;
}

Form form_of(std::string_view path) noexcept {
  const auto packing = packing_of(path);
  if (packing != Packing::None) path.remove_suffix(packing == Packing::Gzip ? 3 : 4);
  return path.ends_with(".tt") ? Form::Binary : Form::Text;
}

Trace read_file(const std::string& path, const ReadLimits& limits, const ReadProgress& progress) {
  FileSource file{path, progress};
  std::unique_ptr<ByteSource> bytes;
  std::optional<Begun> begun;
  try {
    bytes = unpacked(file);
    begun.emplace(*bytes);
  } catch (const BrokenRule& broken) {
    throw TraceError{path, 1, broken.what()};
  }
  return begun->is_binary() ? read_binary(*begun, path, limits) : read_text(*begun, path, limits);
}

void write_file(const Trace& trace, const std::string& path, Packing how, Ending ending) {
  FileSink file{path};
  const auto sink = packing(how, file);
  write_text(trace, *sink, ending);
}

void write_file(const Trace& trace, const std::string& path, Form form, Packing how) {
  if (form == Form::Text) return write_file(trace, path, how);
  FileSink file{path};
  const auto sink = packing(how, file);
  write_binary(trace, *sink);
}

}  // namespace tier::trace
