// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/binary_reader.hpp"

#include <bit>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "core/broken_rule.hpp"
#include "core/unpacked.hpp"
#include "trace/binary_form.hpp"
#include "trace/binary_records.hpp"
#include "trace/characters.hpp"
#include "trace/recording_reader.hpp"
#include "trace/rules.hpp"
#include "trace/stream_bytes.hpp"

namespace tier::trace {
namespace {

/// Reads records in order, as `TextReader` reads lines. What it accepts can be written as text.
class BinaryReader {
 public:
  void read(Payload& payload);
  void finish() const;
  [[nodiscard]] const Trace& trace() const noexcept { return trace_; }
  [[nodiscard]] Trace take() { return std::move(trace_); }

 private:
  void event(EventKind kind, Payload& p);
  void name(Payload& p);
  void header(Payload& p);
  void end(Payload& p);
  void tensor(Payload& p);
  void kernel(Payload& p);
  void migration(Payload& p);
  void row_access(Payload& p);
  void placement(Payload& p);
  void setting(Payload& p);

  [[nodiscard]] NameIndex any_name(Payload& p) const;
  /// Reads a name that could stand in a field.
  [[nodiscard]] NameIndex token(Payload& p) const;
  [[nodiscard]] TensorIndex tensor_of(Payload& p) const;
  [[nodiscard]] const std::vector<TensorIndex>& list(Payload& p);
  [[nodiscard]] std::uint32_t block_of(Payload& p) const {
    return static_cast<std::uint32_t>(p.number(whole_tensor)) - 1;
  }
  [[nodiscard]] std::chrono::nanoseconds time(Payload& p) const {
    return std::chrono::nanoseconds{static_cast<std::int64_t>(p.number(most_bytes))};
  }
  /// Reads the sequence number and the start of an event.
  template <class T>
  void when(Payload& p, T& event) {
    event.sequence = sequence_ += p.signed_number();
    start_ += p.signed_number();
    if (start_ > most_bytes) throw BrokenRule{"a time before the start, or after 292 years"};
    event.start = std::chrono::nanoseconds{static_cast<std::int64_t>(start_)};
  }

  Trace trace_;
  Rules rules_{trace_};
  bool has_events_ = false, has_end_ = false;
  std::uint64_t sequence_ = 0, start_ = 0;
  std::vector<Operand> operands_;
  std::vector<TensorIndex> tensors_;
  std::vector<std::uint64_t> rows_;
};

void BinaryReader::read(Payload& p) {
  if (has_end_) throw BrokenRule{"a record after the end"};
  const auto record = p.byte();
  switch (static_cast<BinaryRecord>(record)) {
    case BinaryRecord::Name:
      return name(p);
    case BinaryRecord::Header:
      return header(p);
    case BinaryRecord::End:
      return end(p);
    case BinaryRecord::FirstEvent:
      break;
  }
  const auto first = record_of(EventKind::Declaration), last = record_of(EventKind::Placement);
  if (record < static_cast<std::uint8_t>(first) || record > static_cast<std::uint8_t>(last))
    throw BrokenRule{"a record of an unknown kind: " + std::to_string(record)};
  has_events_ = true;
  event(static_cast<EventKind>(record - static_cast<std::uint8_t>(first)), p);
}

void BinaryReader::finish() const {
  if (!has_end_) throw BrokenRule{"the file is cut off: it has no end"};
}

void BinaryReader::event(EventKind kind, Payload& p) {
  switch (kind) {
    case EventKind::Declaration:
      return tensor(p);
    case EventKind::Kernel:
      return kernel(p);
    case EventKind::Archive:
      rules_.archive(list(p));
      return trace_.add_archive(tensors_);
    case EventKind::Retire:
      rules_.retire(list(p));
      return trace_.add_retire(tensors_);
    case EventKind::EndOfIteration:
      rules_.end_iteration();
      return trace_.add_end_of_iteration();
    case EventKind::Measurement: {
      Measurement m;
      when(p, m);
      m.duration = time(p);
      m.thread = p.number();
      m.placement = token(p);
      rules_.measurement();
      return trace_.add(m);
    }
    case EventKind::Migration:
      return migration(p);
    case EventKind::Stall: {
      Stall s;
      when(p, s);
      s.scope = token(p);
      s.duration = time(p);
      s.cause = token(p);
      return trace_.add(s);
    }
    case EventKind::Hint: {
      Hint h;
      when(p, h);
      h.hint = token(p);
      return trace_.add(h, list(p));
    }
    case EventKind::Fault: {
      Fault f;
      when(p, f);
      f.tensor = tensor_of(p);
      f.block = block_of(p);
      return trace_.add(f);
    }
    case EventKind::RowAccess:
      return row_access(p);
    case EventKind::Setting:
      return setting(p);
    case EventKind::Placement:
      return placement(p);
  }
}

void BinaryReader::name(Payload& p) {
  const auto expected = trace_.name_count();
  if (trace_.add_name(p.text()) != expected) throw BrokenRule{"a name stands there twice, or is empty"};
}

void BinaryReader::header(Payload& p) {
  if (has_events_) throw BrokenRule{"the header must come before all events"};
  const auto key = trace_.name(any_name(p)), value = trace_.name(any_name(p));
  if (!is_header(key, value)) throw BrokenRule{"a header that could not be written as text"};
  if (trace_.header(key)) throw BrokenRule{"the header has " + shortened(key) + " twice"};
  trace_.add_header(std::string{key}, std::string{value});
}

void BinaryReader::end(Payload& p) {
  const auto differ = [](std::string_view what, std::uint64_t told, std::size_t found) {
    if (told != found)
      throw BrokenRule{"the end says that there are " + std::to_string(told) + " " + std::string{what} +
                       ", but there are " + std::to_string(found)};
  };
  differ("tensors", p.number(), trace_.tensors().size());
  differ("kernels", p.number(), trace_.kernels().size());
  has_end_ = true;
}

void BinaryReader::tensor(Payload& p) {
  const auto id = p.number();
  const Bytes size{p.number(most_bytes)};
  const auto kind = static_cast<char>(p.byte());
  if (std::string_view{"pgatsi"}.find(kind) == std::string_view::npos)
    throw BrokenRule{"unknown kind, known are p, g, a, t, s and i"};
  const auto name = any_name(p);
  if (!is_last_text(trace_.name(name))) throw BrokenRule{"a name that could not be written as text"};
  if (trace_.find(id)) throw BrokenRule{"tensor " + std::to_string(id) + " is declared a second time"};
  rules_.declare(trace_.declare(id, size, static_cast<TensorKind>(kind), std::string{trace_.name(name)}));
}

void BinaryReader::kernel(Payload& p) {
  const auto op = token(p);
  const auto phase = static_cast<char>(p.byte());
  if (std::string_view{"fbu"}.find(phase) == std::string_view::npos)
    throw BrokenRule{"unknown phase, known are f, b and u"};
  const auto flops = std::bit_cast<double>(p.fixed(8));
  if (!std::isfinite(flops) || std::signbit(flops)) throw BrokenRule{"flops must be a number of 0 or more"};
  constexpr std::string_view order = "RWUO";
  operands_.clear();
  std::size_t before = 0;
  for (auto n = p.count(2); n > 0; --n) {
    const auto role = p.byte();
    const auto letter = static_cast<char>(role & 0x7f);
    const auto place = order.find(letter);
    if (place == std::string_view::npos || place < before)
      throw BrokenRule{"operands must come in the order R, W, U, O"};
    before = place;
    const auto tensor = tensor_of(p);
    const Bytes touched{(role & 0x80) != 0 ? trace_.tensor(tensor).size.count : p.number()};
    operands_.push_back({.touched = touched, .tensor = tensor, .role = static_cast<Role>(letter)});
  }
  rules_.kernel(operands_);
  trace_.add_kernel(std::string{trace_.name(op)}, static_cast<Phase>(phase), flops, operands_);
}

void BinaryReader::migration(Payload& p) {
  Migration m;
  when(p, m);
  m.tensor = tensor_of(p);
  m.block = block_of(p);
  m.from = token(p);
  m.to = token(p);
  m.size = {p.number(most_bytes)};
  const auto cause = p.byte();
  if (cause > static_cast<std::uint8_t>(Cause::Plan)) throw BrokenRule{"unknown cause"};
  m.cause = static_cast<Cause>(cause);
  m.duration = time(p);
  trace_.add(m);
}

void BinaryReader::placement(Payload& p) {
  Placement a;
  when(p, a);
  a.tensor = tensor_of(p);
  a.block = block_of(p);
  a.tier = token(p);
  a.alignment = {p.number(most_alignment.count)};
  if (!std::has_single_bit(a.alignment.count)) throw BrokenRule{"an alignment must be a power of two"};
  trace_.add(a);
}

void BinaryReader::row_access(Payload& p) {
  RowAccess g;
  when(p, g);
  g.table = token(p);
  g.count = p.number();
  g.updates = p.number(1) == 1;
  rows_.clear();
  for (auto n = p.count(); n > 0; --n) rows_.push_back(p.number());
  if (!rows_.empty() && rows_.size() != g.count)
    throw BrokenRule{std::to_string(rows_.size()) + " rows are listed, not " + std::to_string(g.count)};
  trace_.add(g, rows_);
}

void BinaryReader::setting(Payload& p) {
  const auto key = any_name(p), value = any_name(p);
  if (!is_setting(trace_.name(key), trace_.name(value)))
    throw BrokenRule{"a setting that could not be written as text"};
  trace_.add_setting(std::string{trace_.name(key)}, std::string{trace_.name(value)});
}

NameIndex BinaryReader::any_name(Payload& p) const {
  return static_cast<NameIndex>(p.number(trace_.name_count() - 1));
}

NameIndex BinaryReader::token(Payload& p) const {
  const auto name = any_name(p);
  if (!is_token(trace_.name(name))) throw BrokenRule{"a word that could not be written as text"};
  return name;
}

TensorIndex BinaryReader::tensor_of(Payload& p) const {
  const auto tensor = p.number();
  if (tensor >= trace_.tensors().size())
    throw BrokenRule{"tensor number " + std::to_string(tensor) + " is not declared before"};
  return static_cast<TensorIndex>(tensor);
}

const std::vector<TensorIndex>& BinaryReader::list(Payload& p) {
  tensors_.clear();
  for (auto n = p.count(); n > 0; --n) tensors_.push_back(tensor_of(p));
  return tensors_;
}

Trace read_trace(Blocks& blocks, std::string_view name, const ReadLimits& limits) {
  BinaryReader reader;
  while (const auto bytes = blocks.next()) {
    Payload payload{*bytes};
    try {
      while (!payload.at_end()) {
        reader.read(payload);
        if (reader.trace().memory() > limits.memory)
          throw BrokenRule{"a trace that takes more than " + to_string(limits.memory) +
                           " of memory, the reader's limit"};
      }
    } catch (const BrokenRule& broken) {
      throw TraceError::at_byte(name, blocks.offset() + payload.offset(), broken.what());
    } catch (const std::length_error& full) {
      throw TraceError::at_byte(name, blocks.offset() + payload.offset(), full.what());
    }
  }
  if (blocks.is_torn()) throw BrokenRule{"the file is cut off within a block"};
  reader.finish();
  return reader.take();
}

}  // namespace

Trace read_binary(ByteSource& source, std::string_view name, const ReadLimits& limits) {
  Blocks blocks{source, limits};
  try {
    return blocks.header() == Content::Recording ? read_recording(blocks, name, limits)
                                                 : read_trace(blocks, name, limits);
  } catch (const BrokenRule& broken) {
    throw TraceError::at_byte(name, blocks.offset(), broken.what());
  }
}

Trace read_binary(std::istream& in, std::string_view name, const ReadLimits& limits) {
  StreamSource source{in, name};
  try {
    const auto bytes = unpacked(source);
    return read_binary(*bytes, name, limits);
  } catch (const BrokenRule& broken) {
    throw TraceError::at_byte(name, 0, broken.what());
  }
}

}  // namespace tier::trace
