// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fcntl.h>
#include <unistd.h>
#include <tier/core/error.hpp>
#include <tier/trace/files.hpp>

#include <cerrno>

#include "trace/output_file.hpp"
#include "trace/text_form.hpp"

namespace tier::trace {
namespace {

class InputFile final : public ByteSource {
 public:
  explicit InputFile(const std::string& path)
      : path_{path}, descriptor_{::open(path.c_str(), O_RDONLY | O_CLOEXEC)} {
    if (descriptor_ < 0) fail("open");
  }
  ~InputFile() override { ::close(descriptor_); }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  std::size_t read(std::span<char> to) override {
    for (;;) {
      const auto n = ::read(descriptor_, to.data(), to.size());
      if (n >= 0) return static_cast<std::size_t>(n);
      if (errno != EINTR) fail("read");
    }
  }

 private:
  [[noreturn]] void fail(const char* call) const {
    throw TierError{last_system_error(), std::string{call} + " of \"" + path_ + "\""};
  }

  std::string path_;
  int descriptor_;
};

}  // namespace

Packing packing_of(std::string_view path) noexcept {
  if (path.ends_with(".gz")) return Packing::Gzip;
  return path.ends_with(".zst") ? Packing::Zstd : Packing::None;
}

Trace read_file(const std::string& path, const ReadLimits& limits) {
  InputFile file{path};
  return read_text(file, path, limits);
}

void write_file(const Trace& trace, const std::string& path, Packing how, Ending ending) {
  OutputFile file{path};
  const auto sink = packing(how, file);
  write_text(trace, *sink, ending);
}

}  // namespace tier::trace
