// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/text_reader.hpp"

#include <algorithm>
#include <bit>
#include <istream>
#include <stdexcept>
#include <vector>

#include "core/broken_rule.hpp"
#include "core/unpacked.hpp"
#include "trace/characters.hpp"
#include "trace/fields.hpp"
#include "trace/lines.hpp"
#include "trace/plain_text.hpp"
#include "trace/rules.hpp"
#include "trace/stream_bytes.hpp"
#include "trace/text_form.hpp"

namespace tier::trace {
namespace {

/// Calls `take` with each element of `a,b,c`; for `-` with none.
template <class Take>
void for_each_in(std::string_view list, Take&& take) {
  if (list == nothing) return;
  for (;;) {
    const auto comma = list.find(',');
    take(list.substr(0, comma));
    if (comma == std::string_view::npos) return;
    list.remove_prefix(comma + 1);
  }
}

TensorKind kind_of(char letter) {
  if (std::string_view{"pgatsi"}.find(letter) == std::string_view::npos)
    throw BrokenRule{"unknown kind, known are p, g, a, t, s and i"};
  return static_cast<TensorKind>(letter);
}

Phase phase_of(char letter) {
  if (std::string_view{"fbu"}.find(letter) == std::string_view::npos)
    throw BrokenRule{"unknown phase, known are f, b and u"};
  return static_cast<Phase>(letter);
}

Cause cause_of(std::string_view word) {
  const auto found = std::ranges::find(cause_words, word);
  if (found == cause_words.end())
    throw BrokenRule{"unknown cause, known are hint, miss, forced, evict, compact and plan"};
  return static_cast<Cause>(found - cause_words.begin());
}

struct KeyAndValue {
  std::string_view key, value;
};
/// Returns the text that a field stands for.
std::string_view text_of(std::string_view field) { return field == nothing ? std::string_view{} : field; }

KeyAndValue key_and_value(std::string_view text) {
  const auto equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0)
    throw BrokenRule{"expected key=value, not \"" + shortened(text) + "\""};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

bool is_unknown_in_lower_case(std::string_view type) {
  const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  return type.front() >= 'a' && type.front() <= 'z' && std::ranges::none_of(type, is_upper);
}

/// True if the text is the checksum: in eight hexadecimal digits, as it is written, or as a decimal number.
bool is_checksum(std::string_view text, std::uint32_t checksum) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string hexadecimal;
  for (int shift = 28; shift >= 0; shift -= 4) hexadecimal += digits[(checksum >> shift) & 15];
  std::string lower{text};
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c; });
  return lower == hexadecimal || lower == std::to_string(checksum);
}

/// Reads lines in order. A line that breaks a rule throws `BrokenRule`; the reader must not be used after that.
class TextReader {
 public:
  explicit TextReader(Lines& lines) : lines_{lines} {}

  void read(std::string_view line);
  void finish() const;
  [[nodiscard]] const Trace& trace() const noexcept { return trace_; }
  [[nodiscard]] Trace take() { return std::move(trace_); }

 private:
  void read_first(std::string_view type, Fields& line);
  void read_upper(std::string_view type, Fields& line);
  void read_lower(std::string_view type, Fields& line);

  void header(Fields& line);
  void tensor(Fields& line);
  void kernel(Fields& line);
  void end(Fields& line);
  void measurement(Fields& line);
  void migration(Fields& line);
  void stall(Fields& line);
  void hint(Fields& line);
  void fault(Fields& line);
  void row_access(Fields& line, bool updates);
  void setting(Fields& line);
  void placement(Fields& line);

  [[nodiscard]] NameIndex name(Fields& line, std::string_view what);
  [[nodiscard]] TensorIndex tensor_of(std::string_view id) const;
  void add_operands(Fields& line, Role role, std::string_view what);
  [[nodiscard]] Operand operand_of(std::string_view text, Role role) const;
  [[nodiscard]] const std::vector<TensorIndex>& tensors_of(std::string_view list);
  struct BlockName {
    TensorIndex tensor;
    std::uint32_t block;
  };
  [[nodiscard]] BlockName block_of(std::string_view text) const;

  Lines& lines_;
  Trace trace_;
  Rules rules_{trace_};
  bool has_header_ = false;
  bool has_end_ = false;
  // Parts of the line that is being read; kept so that lines do not allocate.
  std::vector<Operand> operands_;
  std::vector<TensorIndex> tensors_;
  std::vector<std::uint64_t> rows_;
};

void TextReader::read(std::string_view line) {
  if (has_end_) throw BrokenRule{"a line after E, the end"};
  if (const auto* wrong = wrong_characters(line)) throw BrokenRule{wrong};
  Fields fields{line};
  const auto type = fields.next("a line type");
  if (!has_header_) return read_first(type, fields);
  if (type.size() == 1 && type.front() >= 'A' && type.front() <= 'Z')
    read_upper(type, fields);
  else
    read_lower(type, fields);
}

void TextReader::finish() const {
  if (!has_header_) throw BrokenRule{"an empty file: expected H, the header, as the first line"};
}

void TextReader::read_first(std::string_view type, Fields& line) {
  if (type != "H") throw BrokenRule{"expected H, the header, as the first line"};
  header(line);
  has_header_ = true;
}

void TextReader::read_upper(std::string_view type, Fields& line) {
  switch (type.front()) {
    case 'T':
      return tensor(line);
    case 'K':
      return kernel(line);
    case 'Z': {
      const auto& tensors = tensors_of(line.next("the ids of what is archived"));
      line.end();
      rules_.archive(tensors);
      return trace_.add_archive(tensors);
    }
    case 'X': {
      const auto& tensors = tensors_of(line.next("the ids of what is retired"));
      line.end();
      rules_.retire(tensors);
      return trace_.add_retire(tensors);
    }
    case 'I':
      line.end();
      rules_.end_iteration();
      return trace_.add_end_of_iteration();
    case 'E':
      return end(line);
    case 'H':
      throw BrokenRule{"H, the header, can only be the first line"};
    default:
      throw BrokenRule{"unknown type of line; only unknown types in lower case are skipped"};
  }
}

void TextReader::read_lower(std::string_view type, Fields& line) {
  if (type == "k") return measurement(line);
  if (type == "m") return migration(line);
  if (type == "s") return stall(line);
  if (type == "h") return hint(line);
  if (type == "f") return fault(line);
  if (type == "g" || type == "u") return row_access(line, type == "u");
  if (type == "c") return setting(line);
  if (type == "a") return placement(line);
  if (!is_unknown_in_lower_case(type))
    throw BrokenRule{"unknown type of line; only unknown types in lower case are skipped"};
}

void TextReader::header(Fields& line) {
  bool has_version = false;
  while (!line.at_end()) {
    const auto [key, value] = key_and_value(line.next("key=value"));
    const bool version = key == format_key;
    if (version && value != format_version)
      throw BrokenRule{"unknown format tmtrace=" + shortened(value) + "; known is tmtrace=1"};
    if (version ? has_version : trace_.header(key).has_value())
      throw BrokenRule{"the header has " + shortened(key) + " twice"};
    if (!version) trace_.add_header(key, value);
    has_version |= version;
  }
  if (!has_version) throw BrokenRule{"the header lacks tmtrace=1"};
}

void TextReader::tensor(Fields& line) {
  const auto id = line.number("an id");
  const Bytes size{line.number("a size in bytes", most_bytes)};
  const auto kind = kind_of(line.letter("a kind"));
  const auto name = line.text("a name");
  if (trace_.find(id)) throw BrokenRule{"tensor " + std::to_string(id) + " is declared a second time"};
  rules_.declare(trace_.declare(id, size, kind, text_of(name)));
}

void TextReader::kernel(Fields& line) {
  const auto op = text_of(line.next("the name of an op"));
  const auto phase = phase_of(line.letter("a phase"));
  const auto flops = line.flops();
  operands_.clear();
  add_operands(line, Role::Reads, "R and what is read");
  add_operands(line, Role::Creates, "W and what is created");
  add_operands(line, Role::Updates, "U and what is updated");
  if (!line.at_end()) add_operands(line, Role::Overwrites, "O and what is overwritten, or nothing");
  line.end();
  rules_.kernel(operands_);
  trace_.add_kernel(op, phase, flops, operands_);
}

void TextReader::add_operands(Fields& line, Role role, std::string_view what) {
  if (const auto mark = line.next(what); mark.size() != 1 || mark.front() != static_cast<char>(role))
    throw BrokenRule{"expected " + std::string{what} + ", not \"" + shortened(mark) + "\""};
  for_each_in(line.next(what), [&](std::string_view text) { operands_.push_back(operand_of(text, role)); });
}

Operand TextReader::operand_of(std::string_view text, Role role) const {
  const auto at = text.find('@');
  const auto tensor = tensor_of(text.substr(0, at));
  if (at == std::string_view::npos)
    return {.touched = trace_.tensor(tensor).size, .tensor = tensor, .role = role};
  const auto bytes = parse_number(text.substr(at + 1), "bytes that are touched");
  return {.touched = {bytes}, .tensor = tensor, .role = role};
}

TensorIndex TextReader::tensor_of(std::string_view text) const {
  const auto id = parse_number(text, "an id");
  const auto tensor = trace_.find(id);
  if (!tensor)
    throw BrokenRule{"tensor " + std::to_string(id) +
                     " is not declared: no line T before this line declares it"};
  return *tensor;
}

const std::vector<TensorIndex>& TextReader::tensors_of(std::string_view list) {
  tensors_.clear();
  for_each_in(list, [&](std::string_view id) { tensors_.push_back(tensor_of(id)); });
  return tensors_;
}

TextReader::BlockName TextReader::block_of(std::string_view text) const {
  const auto dot = text.find('.');
  const auto tensor = tensor_of(text.substr(0, dot));
  if (dot == std::string_view::npos) return {tensor, whole_tensor};
  const auto block = parse_number(text.substr(dot + 1), "the number of a block", whole_tensor - 1);
  return {tensor, static_cast<std::uint32_t>(block)};
}

void TextReader::end(Fields& line) {
  const auto tensors = line.number("the number of tensors");
  const auto kernels = line.number("the number of kernels");
  const auto checksum = line.next("the CRC-32 of all bytes before this line");
  line.end();
  const auto differ = [](std::string_view what, std::uint64_t told, std::size_t found) {
    if (told != found)
      throw BrokenRule{"E says that there are " + std::to_string(told) + " " + std::string{what} +
                       ", but there are " + std::to_string(found)};
  };
  differ("tensors", tensors, trace_.tensors().size());
  differ("kernels", kernels, trace_.kernels().size());
  if (!is_checksum(checksum, lines_.checksum_before()))
    throw BrokenRule{"the CRC-32 of the bytes before E is wrong: the bytes were changed"};
  has_end_ = true;
}

NameIndex TextReader::name(Fields& line, std::string_view what) {
  return trace_.add_name(text_of(line.next(what)));
}

void TextReader::measurement(Fields& line) {
  Measurement m;
  m.sequence = line.number("a sequence number");
  m.start = line.time("the start");
  m.duration = line.time("a duration");
  m.thread = line.number("a thread");
  m.placement = name(line, "a placement");
  line.end();
  rules_.measurement();
  trace_.add(m);
}

void TextReader::migration(Fields& line) {
  Migration m;
  m.sequence = line.number("a sequence number");
  const auto [tensor, block] = block_of(line.next("an id"));
  m.tensor = tensor;
  m.block = block;
  m.from = name(line, "the tier it came from");
  m.to = name(line, "the tier it went to");
  m.size = {line.number("a size in bytes", most_bytes)};
  m.cause = cause_of(line.next("a cause"));
  m.start = line.time("the start");
  m.duration = line.time("a duration");
  line.end();
  trace_.add(m);
}

void TextReader::stall(Fields& line) {
  Stall s;
  s.sequence = line.number("a sequence number");
  s.scope = name(line, "a scope");
  s.start = line.time("the start");
  s.duration = line.time("a duration");
  s.cause = name(line, "a cause");
  line.end();
  trace_.add(s);
}

void TextReader::hint(Fields& line) {
  Hint h;
  h.sequence = line.number("a sequence number");
  h.hint = name(line, "a hint");
  const auto& tensors = tensors_of(line.next("the ids it is about"));
  h.start = line.time("the start");
  line.end();
  trace_.add(h, tensors);
}

void TextReader::fault(Fields& line) {
  Fault f;
  f.sequence = line.number("a sequence number");
  const auto [tensor, block] = block_of(line.next("an id"));
  f.tensor = tensor;
  f.block = block;
  f.start = line.time("the start");
  line.end();
  trace_.add(f);
}

void TextReader::row_access(Fields& line, bool updates) {
  RowAccess g;
  g.updates = updates;
  g.sequence = line.number("a sequence number");
  g.table = name(line, "a table");
  g.count = line.number("the number of rows");
  g.start = line.time("the start");
  rows_.clear();
  if (!line.at_end())
    for_each_in(line.next("rows"),
                [&](std::string_view row) { rows_.push_back(parse_number(row, "a row")); });
  line.end();
  if (!rows_.empty() && rows_.size() != g.count)
    throw BrokenRule{std::to_string(rows_.size()) + " rows are listed, not " + std::to_string(g.count)};
  trace_.add(g, rows_);
}

void TextReader::setting(Fields& line) {
  const auto [key, value] = key_and_value(line.text("key=value"));
  trace_.add_setting(key, value);
}

void TextReader::placement(Fields& line) {
  Placement p;
  p.sequence = line.number("a sequence number");
  const auto [tensor, block] = block_of(line.next("an id"));
  p.tensor = tensor;
  p.block = block;
  p.tier = name(line, "a tier");
  p.alignment = {line.number("an alignment", most_alignment.count)};
  if (!std::has_single_bit(p.alignment.count)) throw BrokenRule{"an alignment must be a power of two"};
  p.start = line.time("the start");
  line.end();
  trace_.add(p);
}

void check_memory(const Trace& trace, const ReadLimits& limits) {
  if (trace.memory() > limits.memory)
    throw BrokenRule{"a trace that takes more than " + to_string(limits.memory) +
                     " of memory, the reader's limit"};
}

/// \param[out] line  the last line that was begun; empty if there was none
void read_lines(Lines& lines, TextReader& reader, const ReadLimits& limits, std::string_view& line) {
  while (const auto next = lines.next()) {
    line = *next;
    reader.read(line);
    check_memory(reader.trace(), limits);
    line = {};
  }
  reader.finish();
}

}  // namespace

Trace read_text(ByteSource& source, std::string_view name, const ReadLimits& limits) {
  PlainText text{source};
  Lines lines{text, limits};
  TextReader reader{lines};
  std::string_view line;
  try {
    read_lines(lines, reader, limits, line);
  } catch (const BrokenRule& broken) {
    throw TraceError{name, lines.number(), broken.what(), line};
  } catch (const std::length_error& full) {
    throw TraceError{name, lines.number(), full.what(), line};
  }
  return reader.take();
}

Trace read_text(std::istream& in, std::string_view name, const ReadLimits& limits) {
  StreamSource source{in, name};
  std::unique_ptr<ByteSource> text;
  try {
    text = unpacked(source);
  } catch (const BrokenRule& broken) {
    throw TraceError{name, 1, broken.what()};
  }
  return read_text(*text, name, limits);
}

}  // namespace tier::trace
