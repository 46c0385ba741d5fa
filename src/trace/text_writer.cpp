// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/text_writer.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <ostream>
#include <string>
#include <utility>

#include "trace/characters.hpp"
#include "trace/crc32.hpp"
#include "trace/stream_bytes.hpp"
#include "trace/text_form.hpp"

namespace tier::trace {
namespace {

constexpr std::size_t flushed_at = std::size_t{64} << 10;

class TextWriter {
 public:
  TextWriter(const Trace& trace, ByteSink& sink) : trace_{trace}, sink_{sink} {}

  void header();
  void event(Event event);
  void end();
  void flush();

 private:
  void tensor(const Tensor& tensor);
  void kernel(const Kernel& kernel);
  void measurement(const Measurement& m);
  void migration(const Migration& m);
  void stall(const Stall& s);
  void hint(const Hint& h);
  void fault(const Fault& f);
  void row_access(const RowAccess& g);
  void setting(const Setting& c);
  void placement(const Placement& p);

  void begin(char type);
  void end_line();
  TextWriter& field(std::string_view text);
  TextWriter& number(std::uint64_t number);
  TextWriter& time(std::chrono::nanoseconds time) { return number(static_cast<std::uint64_t>(time.count())); }
  TextWriter& token(NameIndex name);
  TextWriter& text_to_end(std::string_view text);
  TextWriter& list(std::span<const TensorIndex> tensors);
  TextWriter& block(TensorIndex tensor, std::uint32_t block);
  void operands(std::span<const Operand> operands, Role role);
  void append_number(auto number);
  /// \throws  `TraceError` if a reader would take the text for something else
  void check(std::string_view text, bool holds) const;

  const Trace& trace_;
  ByteSink& sink_;
  std::string buffer_;
  std::uint64_t line_ = 0;
  std::uint32_t checksum_ = 0;
};

void TextWriter::check(std::string_view text, bool holds) const {
  if (!holds) throw TraceError{"trace", line_, "this text cannot be written in a trace", text};
}

void TextWriter::flush() {
  checksum_ = crc32_of(buffer_, checksum_);
  sink_.write(buffer_);
  buffer_.clear();
}

void TextWriter::begin(char type) {
  ++line_;
  buffer_ += type;
}

void TextWriter::end_line() {
  buffer_ += '\n';
  if (buffer_.size() >= flushed_at) flush();
}

void TextWriter::append_number(auto number) {
  std::array<char, 32> digits{};
  buffer_.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr);
}

TextWriter& TextWriter::field(std::string_view text) {
  buffer_.append(1, ' ').append(text);
  return *this;
}

TextWriter& TextWriter::number(std::uint64_t number) {
  buffer_ += ' ';
  append_number(number);
  return *this;
}

TextWriter& TextWriter::token(NameIndex name) {
  const auto text = trace_.name(name);
  check(text, is_token(text));
  return field(text.empty() ? nothing : text);
}

TextWriter& TextWriter::text_to_end(std::string_view text) {
  check(text, is_last_text(text));
  return field(text.empty() ? nothing : text);
}

TextWriter& TextWriter::list(std::span<const TensorIndex> tensors) {
  if (tensors.empty()) return field(nothing);
  char separator = ' ';
  for (const auto tensor : tensors) {
    buffer_ += std::exchange(separator, ',');
    append_number(trace_.tensor(tensor).id);
  }
  return *this;
}

TextWriter& TextWriter::block(TensorIndex tensor, std::uint32_t block) {
  number(trace_.tensor(tensor).id);
  if (block == whole_tensor) return *this;
  buffer_ += '.';
  append_number(block);
  return *this;
}

void TextWriter::header() {
  begin('H');
  field(format_key);
  buffer_.append("=").append(format_version);
  for (const auto& [key, value] : trace_.headers()) {
    const auto k = trace_.name(key);
    check(k, is_header(k, trace_.name(value)));
    field(k);
    buffer_.append("=").append(trace_.name(value));
  }
  end_line();
}

void TextWriter::event(Event event) {
  switch (event.kind) {
    case EventKind::Declaration:
      tensor(trace_.tensor(event.place));
      break;
    case EventKind::Kernel:
      kernel(trace_.kernel(event));
      break;
    case EventKind::Archive:
      begin('Z');
      list(trace_.tensors_of(event));
      break;
    case EventKind::Retire:
      begin('X');
      list(trace_.tensors_of(event));
      break;
    case EventKind::EndOfIteration:
      begin('I');
      break;
    case EventKind::Measurement:
      measurement(trace_.measurement(event));
      break;
    case EventKind::Migration:
      migration(trace_.migration(event));
      break;
    case EventKind::Stall:
      stall(trace_.stall(event));
      break;
    case EventKind::Hint:
      hint(trace_.hint(event));
      break;
    case EventKind::Fault:
      fault(trace_.fault(event));
      break;
    case EventKind::RowAccess:
      row_access(trace_.row_access(event));
      break;
    case EventKind::Setting:
      setting(trace_.setting(event));
      break;
    case EventKind::Placement:
      placement(trace_.placement(event));
      break;
  }
  end_line();
}

void TextWriter::tensor(const Tensor& tensor) {
  begin('T');
  number(tensor.id).number(tensor.size.count);
  buffer_.append(1, ' ').append(1, static_cast<char>(tensor.kind));
  text_to_end(trace_.name(tensor.name));
}

void TextWriter::kernel(const Kernel& kernel) {
  begin('K');
  token(kernel.op);
  buffer_.append(1, ' ').append(1, static_cast<char>(kernel.phase)).append(1, ' ');
  std::array<char, 32> digits{};
  buffer_.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), kernel.flops,
                                              std::chars_format::general)
                                    .ptr);
  const auto all = trace_.operands(kernel);
  for (const auto role : {Role::Reads, Role::Creates, Role::Updates}) operands(all, role);
  if (!all.empty() && all.back().role == Role::Overwrites) operands(all, Role::Overwrites);
}

void TextWriter::operands(std::span<const Operand> operands, Role role) {
  buffer_.append(1, ' ').append(1, static_cast<char>(role));
  char separator = ' ';
  for (const auto& operand : operands) {
    if (operand.role != role) continue;
    const auto& tensor = trace_.tensor(operand.tensor);
    buffer_ += std::exchange(separator, ',');
    append_number(tensor.id);
    if (operand.touched == tensor.size) continue;
    buffer_ += '@';
    append_number(operand.touched.count);
  }
  if (separator == ' ') field(nothing);
}

void TextWriter::measurement(const Measurement& m) {
  begin('k');
  number(m.sequence).time(m.start).time(m.duration).number(m.thread).token(m.placement);
}

void TextWriter::migration(const Migration& m) {
  begin('m');
  number(m.sequence).block(m.tensor, m.block).token(m.from).token(m.to).number(m.size.count);
  field(cause_words.at(static_cast<std::size_t>(m.cause))).time(m.start).time(m.duration);
}

void TextWriter::stall(const Stall& s) {
  begin('s');
  number(s.sequence).token(s.scope).time(s.start).time(s.duration).token(s.cause);
}

void TextWriter::hint(const Hint& h) {
  begin('h');
  number(h.sequence).token(h.hint).list(trace_.tensors_of(h)).time(h.start);
}

void TextWriter::fault(const Fault& f) {
  begin('f');
  number(f.sequence).block(f.tensor, f.block).time(f.start);
}

void TextWriter::row_access(const RowAccess& g) {
  begin(g.updates ? 'u' : 'g');
  number(g.sequence).token(g.table).number(g.count).time(g.start);
  char separator = ' ';
  for (const auto row : trace_.rows_of(g)) {
    buffer_ += std::exchange(separator, ',');
    append_number(row);
  }
}

void TextWriter::setting(const Setting& c) {
  begin('c');
  const auto key = trace_.name(c.key);
  const auto value = trace_.name(c.value);
  check(key, is_setting(key, value));
  field(key);
  buffer_.append("=").append(value);
}

void TextWriter::placement(const Placement& p) {
  begin('a');
  number(p.sequence).block(p.tensor, p.block).token(p.tier).number(p.alignment.count).time(p.start);
}

void TextWriter::end() {
  flush();
  constexpr std::string_view digits = "0123456789abcdef";
  const auto checksum = checksum_;
  begin('E');
  number(trace_.tensors().size()).number(trace_.kernels().size());
  buffer_ += ' ';
  for (int shift = 28; shift >= 0; shift -= 4) buffer_ += digits[(checksum >> shift) & 15];
  end_line();
}

}  // namespace

void write_text(const Trace& trace, ByteSink& sink, Ending ending) {
  TextWriter writer{trace, sink};
  writer.header();
  for (const auto event : trace.events()) writer.event(event);
  if (ending == Ending::Checked) writer.end();
  writer.flush();
  sink.finish();
}

void write_text(const Trace& trace, std::ostream& out, Ending ending) {
  StreamSink sink{out};
  write_text(trace, sink, ending);
}

}  // namespace tier::trace
