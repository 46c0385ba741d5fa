// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/error.hpp>
#include <tier/core/input_file.hpp>

#include <algorithm>
#include <memory>

#include "core/broken_rule.hpp"
#include "core/file_source.hpp"
#include "core/unpacked.hpp"

namespace tier {
namespace {

[[noreturn]] void fail(const std::string& path, const char* what) {
  throw ConfigError{"\"" + path + "\": " + what};
}

}  // namespace

struct InputFile::State {
  explicit State(const std::string& name) : path{name}, file{name} {}

  void begin() try { bytes = unpacked(file); } catch (const BrokenRule& broken) {
    fail(path, broken.what());
  }

  std::string path;
  FileSource file;
  std::unique_ptr<ByteSource> bytes;
};

InputFile::InputFile(const std::string& path, Passes passes) : state_{std::make_unique<State>(path)} {
  if (passes == Passes::Several) state_->file.keep();
  state_->begin();
}

InputFile::~InputFile() = default;
InputFile::InputFile(InputFile&&) noexcept = default;
InputFile& InputFile::operator=(InputFile&&) noexcept = default;

std::size_t InputFile::read(std::span<char> to) try {
  return state_->bytes->read(to);
} catch (const BrokenRule& broken) {
  fail(state_->path, broken.what());
}

void InputFile::rewind() {
  state_->bytes.reset();
  state_->file.rewind();
  state_->begin();
}

std::string read_text_file(const std::string& path, Bytes most) {
  InputFile file{path};
  std::string text;
  constexpr std::size_t part = std::size_t{1} << 16;
  for (std::size_t size = 0;;) {
    text.resize(size + part);
    const auto n = file.read(std::span{text}.subspan(size));
    size += n;
    text.resize(size);
    if (size > most.count)
      fail(path, ("the file has more than " + to_string(most) + ", the most that is read").c_str());
    if (n == 0) break;
  }
  text.erase(0, text.size() - without_byte_order_mark(text, path).size());
  return text;
}

std::string_view without_byte_order_mark(std::string_view text, std::string_view path) {
  if (text.starts_with("\xef\xbb\xbf")) return text.substr(3);
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff"))
    fail(std::string{path},
         "its byte order mark says UTF-16 or UTF-32; text must be UTF-8 (the program iconv converts it)");
  return text;
}

}  // namespace tier
