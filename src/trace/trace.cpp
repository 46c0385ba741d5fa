// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/trace/trace.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <tuple>

namespace tier::trace {
namespace {

template <class T>
std::size_t bytes_of(const std::vector<T>& all) noexcept {
  return all.size() * sizeof(T);
}

void check_declared(TensorIndex tensor, std::size_t declared) {
  if (tensor >= declared)
    throw std::out_of_range{"tensor number " + std::to_string(tensor) +
                            " is out of range; the trace declares " + std::to_string(declared)};
}

}  // namespace

std::uint32_t Trace::checked_place(std::size_t size) {
  if (size >= whole_tensor) throw std::length_error{"more than 4294967294 entries of one kind"};
  return static_cast<std::uint32_t>(size);
}

template <class T>
Range Trace::append_range(std::vector<T>& all, std::span<const T> some) {
  std::ignore = checked_place(all.size() + some.size());
  const Range range{place_in(all), static_cast<std::uint32_t>(some.size())};
  all.insert(all.end(), some.begin(), some.end());
  return range;
}

void Trace::add_header(std::string_view key, std::string_view value) {
  headers_.push_back({add_name(key), add_name(value)});
}

TensorIndex Trace::declare(std::uint64_t id, Bytes size, TensorKind kind, std::string_view name) {
  if (find(id)) throw std::invalid_argument{"tensor " + std::to_string(id) + " is declared a second time"};
  append(EventKind::Declaration, tensors_, {.id = id, .size = size, .name = add_name(name), .kind = kind});
  const auto place = static_cast<TensorIndex>(tensors_.size() - 1);
  by_id_.add(place, [this](TensorIndex t) { return detail::mixed(tensors_[t].id); });
  return place;
}

void Trace::add_kernel(std::string_view op, Phase phase, double flops, std::span<const Operand> operands) {
  for (const auto& operand : operands) check_declared(operand.tensor, tensors_.size());
  const auto range = append_range(operands_, operands);
  append(EventKind::Kernel, kernels_,
         {.flops = flops, .operands = range, .op = add_name(op), .phase = phase});
}

void Trace::add_list(EventKind kind, std::span<const TensorIndex> tensors) {
  check_tensors(tensors);
  append(kind, list_ranges_, append_range(lists_, tensors));
}

void Trace::add_end_of_iteration() {
  events_.push_back({EventKind::EndOfIteration, checked_place(iterations_)});
  ++iterations_;
}

void Trace::check_tensors(std::span<const TensorIndex> tensors) const {
  for (const auto tensor : tensors) check_declared(tensor, tensors_.size());
}

void Trace::check_names(std::initializer_list<NameIndex> names) const {
  for (const auto name : names)
    if (name >= name_count())
      throw std::out_of_range{"name number " + std::to_string(name) + " is out of range; the trace has " +
                              std::to_string(name_count())};
}

void Trace::add(const Measurement& m) {
  check_names({m.placement});
  append(EventKind::Measurement, measurements_, m);
}

void Trace::add(const Migration& m) {
  check_tensors({&m.tensor, 1});
  check_names({m.from, m.to});
  append(EventKind::Migration, migrations_, m);
}

void Trace::add(const Stall& s) {
  check_names({s.scope, s.cause});
  append(EventKind::Stall, stalls_, s);
}

void Trace::add(const Fault& f) {
  check_tensors({&f.tensor, 1});
  append(EventKind::Fault, faults_, f);
}

void Trace::add(const Placement& p) {
  check_tensors({&p.tensor, 1});
  check_names({p.tier});
  append(EventKind::Placement, placements_, p);
}

void Trace::add(Hint hint, std::span<const TensorIndex> tensors) {
  check_tensors(tensors);
  check_names({hint.hint});
  hint.tensors = append_range(lists_, tensors);
  append(EventKind::Hint, hints_, hint);
}

void Trace::add(RowAccess access, std::span<const std::uint64_t> rows) {
  if (!rows.empty() && rows.size() != access.count)
    throw std::invalid_argument{std::to_string(rows.size()) + " rows are listed, not " +
                                std::to_string(access.count)};
  check_names({access.table});
  access.rows = append_range(rows_, rows);
  append(EventKind::RowAccess, row_accesses_, access);
}

void Trace::add_setting(std::string_view key, std::string_view value) {
  append(EventKind::Setting, settings_, {add_name(key), add_name(value)});
}

std::optional<std::string_view> Trace::header(std::string_view key) const noexcept {
  const auto found = std::ranges::find_if(headers_, [&](const Setting& s) { return name(s.key) == key; });
  if (found == headers_.end()) return {};
  return name(found->value);
}

std::optional<TensorIndex> Trace::find(std::uint64_t id) const noexcept {
  const auto found =
      by_id_.find(detail::mixed(id), [&](TensorIndex tensor) { return tensors_[tensor].id == id; });
  if (found == detail::PlaceTable::none) return {};
  return found;
}

Bytes Trace::memory() const noexcept {
  return {names_.size_bytes() + bytes_of(headers_) + bytes_of(events_) + bytes_of(tensors_) +
          by_id_.size_bytes() + bytes_of(kernels_) + bytes_of(operands_) + bytes_of(list_ranges_) +
          bytes_of(lists_) + bytes_of(measurements_) + bytes_of(migrations_) + bytes_of(stalls_) +
          bytes_of(hints_) + bytes_of(faults_) + bytes_of(row_accesses_) + bytes_of(rows_) +
          bytes_of(settings_) + bytes_of(placements_)};
}

bool Trace::operator==(const Trace& other) const {
  const auto contents = [](const Trace& t) {
    return std::tie(t.names_, t.headers_, t.events_, t.tensors_, t.kernels_, t.operands_, t.list_ranges_,
                    t.lists_, t.measurements_, t.migrations_, t.stalls_, t.hints_, t.faults_, t.row_accesses_,
                    t.rows_, t.settings_, t.placements_);
  };
  return contents(*this) == contents(other);
}

}  // namespace tier::trace
