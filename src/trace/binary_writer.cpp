// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/binary_writer.hpp"

#include <bit>

#include "trace/binary_form.hpp"
#include "trace/binary_records.hpp"
#include "trace/stream_bytes.hpp"

namespace tier::trace {
namespace {

class BinaryWriter {
 public:
  BinaryWriter(const Trace& trace, ByteSink& sink) : trace_{trace}, sink_{sink} {}

  void write();

 private:
  void names();
  void headers();
  void event(Event event);
  void tensor(const Tensor& tensor);
  void kernel(const Kernel& kernel);
  void list(std::span<const TensorIndex> tensors);
  void block(TensorIndex tensor, std::uint32_t block);
  void migration(const Migration& m);
  void placement(const Placement& p);
  void row_access(const RowAccess& g);

  void begin(BinaryRecord record) {
    if (payload_.size() >= usual_block) flush();
    payload_ += static_cast<char>(record);
  }
  BinaryWriter& number(std::uint64_t number) {
    append_number(payload_, number);
    return *this;
  }
  /// Writes when something happened; events may come in any order.
  BinaryWriter& when(std::uint64_t sequence, std::chrono::nanoseconds start) {
    append_signed(payload_, sequence - sequence_);
    append_signed(payload_, static_cast<std::uint64_t>(start.count()) - start_);
    sequence_ = sequence;
    start_ = static_cast<std::uint64_t>(start.count());
    return *this;
  }
  BinaryWriter& time(std::chrono::nanoseconds time) {
    return number(static_cast<std::uint64_t>(time.count()));
  }
  void flush() {
    sink_.write(block_header(payload_));
    sink_.write(payload_);
    payload_.clear();
  }

  const Trace& trace_;
  ByteSink& sink_;
  std::string payload_;
  std::uint64_t sequence_ = 0, start_ = 0;  // of the record before
};

void BinaryWriter::write() {
  sink_.write(binary_header(Content::Trace));
  names();
  headers();
  for (const auto e : trace_.events()) event(e);
  begin(BinaryRecord::End);
  number(trace_.tensors().size()).number(trace_.kernels().size());
  flush();
  sink_.finish();
}

void BinaryWriter::names() {
  for (NameIndex name = 1; name < trace_.name_count(); ++name) {
    begin(BinaryRecord::Name);
    append_text(payload_, trace_.name(name));
  }
}

void BinaryWriter::headers() {
  for (const auto& [key, value] : trace_.headers()) {
    begin(BinaryRecord::Header);
    number(key).number(value);
  }
}

void BinaryWriter::event(Event event) {
  begin(record_of(event.kind));
  switch (event.kind) {
    case EventKind::Declaration:
      return tensor(trace_.tensor(event.place));
    case EventKind::Kernel:
      return kernel(trace_.kernel(event));
    case EventKind::Archive:
    case EventKind::Retire:
      return list(trace_.tensors_of(event));
    case EventKind::EndOfIteration:
      return;
    case EventKind::Measurement: {
      const auto& m = trace_.measurement(event);
      when(m.sequence, m.start).time(m.duration).number(m.thread).number(m.placement);
      return;
    }
    case EventKind::Migration:
      return migration(trace_.migration(event));
    case EventKind::Stall: {
      const auto& s = trace_.stall(event);
      when(s.sequence, s.start).number(s.scope).time(s.duration).number(s.cause);
      return;
    }
    case EventKind::Hint: {
      const auto& h = trace_.hint(event);
      when(h.sequence, h.start).number(h.hint);
      return list(trace_.tensors_of(h));
    }
    case EventKind::Fault: {
      const auto& f = trace_.fault(event);
      return when(f.sequence, f.start).block(f.tensor, f.block);
    }
    case EventKind::RowAccess:
      return row_access(trace_.row_access(event));
    case EventKind::Setting: {
      const auto& [key, value] = trace_.setting(event);
      number(key).number(value);
      return;
    }
    case EventKind::Placement:
      return placement(trace_.placement(event));
  }
}

void BinaryWriter::tensor(const Tensor& tensor) {
  number(tensor.id).number(tensor.size.count);
  payload_ += static_cast<char>(tensor.kind);
  number(tensor.name);
}

void BinaryWriter::kernel(const Kernel& kernel) {
  number(kernel.op);
  payload_ += static_cast<char>(kernel.phase);
  append_fixed(payload_, std::bit_cast<std::uint64_t>(kernel.flops), 8);
  const auto operands = trace_.operands(kernel);
  number(operands.size());
  for (const auto& operand : operands) {
    const bool whole = operand.touched == trace_.tensor(operand.tensor).size;
    payload_ += static_cast<char>(static_cast<unsigned char>(operand.role) | (whole ? 0x80U : 0U));
    number(operand.tensor);
    if (!whole) number(operand.touched.count);
  }
}

void BinaryWriter::list(std::span<const TensorIndex> tensors) {
  number(tensors.size());
  for (const auto tensor : tensors) number(tensor);
}

void BinaryWriter::block(TensorIndex tensor, std::uint32_t block) {
  number(tensor).number(std::uint32_t{block + 1});  // 0: the whole tensor
}

void BinaryWriter::migration(const Migration& m) {
  when(m.sequence, m.start).block(m.tensor, m.block);
  number(m.from).number(m.to).number(m.size.count);
  payload_ += static_cast<char>(m.cause);
  time(m.duration);
}

void BinaryWriter::placement(const Placement& p) {
  when(p.sequence, p.start).block(p.tensor, p.block);
  number(p.tier).number(p.alignment.count);
}

void BinaryWriter::row_access(const RowAccess& g) {
  when(g.sequence, g.start).number(g.table).number(g.count).number(g.updates ? 1 : 0);
  const auto rows = trace_.rows_of(g);
  number(rows.size());
  for (const auto row : rows) number(row);
}

}  // namespace

void write_binary(const Trace& trace, ByteSink& sink) { BinaryWriter{trace, sink}.write(); }

void write_binary(const Trace& trace, std::ostream& out) {
  StreamSink sink{out};
  write_binary(trace, sink);
}

}  // namespace tier::trace
