// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/recording_reader.hpp"

#include <tier/manager/observer.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "trace/recorded_events.hpp"
#include "trace/recorded_trace.hpp"

namespace tier::trace {
namespace {

class RecordReader {
 public:
  RecordReader(std::string_view name, const ReadLimits& limits) : name_{name}, limits_{limits} {}

  void read_block(std::string_view bytes, std::uint64_t offset);
  [[nodiscard]] RecordedEvents take(bool torn);

 private:
  void read(Payload& payload);
  void read_event(unsigned first, Payload& payload);
  void check_event(const RecordedEvent& event) const;
  void check_memory() const;

  std::string_view name_;
  ReadLimits limits_;
  RecordedEvents all_;
  bool has_end_ = false;
  std::uint64_t sequence_ = 0, start_ = 0;  // of the record before, in this block
  std::uint64_t offset_ = 0;                // of the record, in the file
  std::size_t text_bytes_ = 0;
};

void RecordReader::read_block(std::string_view bytes, std::uint64_t offset) {
  Payload payload{bytes};
  sequence_ = start_ = 0;
  while (!payload.at_end()) {
    offset_ = offset + payload.offset();
    try {
      if (has_end_) throw BrokenRule{"a record after the end"};
      read(payload);
      check_memory();
    } catch (const BrokenRule& broken) {
      throw TraceError::at_byte(name_, offset_, broken.what());
    }
  }
}

void RecordReader::read(Payload& p) {
  const unsigned first = p.byte();
  switch (static_cast<RecordKind>(first & record_kind_bits)) {
    case RecordKind::Name:
      text_bytes_ += all_.names.emplace_back(p.text()).size();
      return;
    case RecordKind::Tier:
      if (all_.tiers.size() == max_tiers || !all_.events.empty()) throw BrokenRule{"a tier too many"};
      text_bytes_ += all_.tiers.emplace_back(p.text()).size();
      return;
    case RecordKind::Setting: {
      std::string key{p.text()}, value{p.text()};
      text_bytes_ += key.size() + value.size();
      all_.settings.emplace_back(std::move(key), std::move(value));
      return;
    }
    default:
      return read_event(first, p);
  }
}

void RecordReader::read_event(unsigned first, Payload& p) {
  constexpr std::uint64_t most_time = (1ULL << 63) - 1;
  RecordedEvent event;
  event.offset = offset_;
  event.kind = static_cast<RecordKind>(first & record_kind_bits);
  event.sequence = sequence_ += p.signed_number();
  event.start = start_ += p.signed_number();
  if ((first & has_duration_bit) != 0) event.duration = p.number(most_time);
  if (event.start > most_time) throw BrokenRule{"a time before the start, or after 292 years"};
  if ((first & has_name_bit) != 0) {
    event.name = static_cast<std::uint32_t>(p.number(all_.names.size()));
    event.thread = static_cast<std::uint32_t>(p.number(0xffff'ffff));
  }
  if ((first & has_details_bit) != 0)
    for (auto* detail : {&event.x, &event.y, &event.z}) *detail = p.byte();
  event.first_word = all_.words.size();
  if ((first & has_words_bit) != 0) event.word_count = static_cast<std::uint32_t>(p.count());
  for (auto n = event.word_count; n > 0; --n) all_.words.push_back(p.number());
  check_event(event);
  if (event.kind == RecordKind::Lost)
    all_.lost += all_.words[event.first_word] + all_.words[event.first_word + 1];
  else if (event.kind == RecordKind::End)
    has_end_ = true;
  else
    all_.events.push_back(event);
}

/// Checks that whatever will be looked up is there.
void RecordReader::check_event(const RecordedEvent& e) const {
  const auto require = [](bool holds) {
    if (!holds) throw BrokenRule{"a record that is malformed"};
  };
  const auto is_tier = [&](unsigned tier) { return tier < all_.tiers.size(); };
  const auto words = e.word_count;
  constexpr std::uint64_t most_rows = 1ULL << 32;  // of a table
  switch (e.kind) {
    case RecordKind::Lost:
      return require(words == 2);
    case RecordKind::End:
      return require(words == 1);
    case RecordKind::Object:
      require(words >= 4 && e.x <= static_cast<unsigned>(ObjectChange::Destroyed));
      require(all_.words[e.first_word] != 0 && all_.words[e.first_word + 1] < 1ULL << 63);
      return;
    case RecordKind::Placement:
      return require(words == 1 && is_tier(e.x));
    case RecordKind::Hint:
      return require(words == 2 && e.x <= static_cast<unsigned>(tier::Hint::Prefetch));
    case RecordKind::Migration:
      require(words == 2 && is_tier(e.x) && is_tier(e.y) &&
              (e.z & ~(became_primary | of_rows)) < cause_count);
      return require(all_.words[e.first_word + 1] < 1ULL << 63);
    case RecordKind::Stall:
      return require(words == 0 && e.x <= static_cast<unsigned>(StallCause::Fault));
    case RecordKind::Fault:
      return require(words == 1);
    case RecordKind::Step:
      return require(words == 0);
    case RecordKind::Rows: {
      if (words == 1) return;
      const auto all = all_.words_of(e);
      require(words >= 3 && all[0] == words - 3 && all[1] <= most_rows);
      return require(std::ranges::all_of(all.subspan(3), [&](auto row) { return row < all[1]; }));
    }
    case RecordKind::Scope:
      return require(words % 2 == 0);
    default:
      throw BrokenRule{"a record of an unknown kind"};
  }
}

void RecordReader::check_memory() const {
  constexpr std::size_t each_text = sizeof(std::string);
  const auto texts = all_.names.size() + 2 * all_.settings.size();
  const Bytes memory{all_.events.size() * sizeof(RecordedEvent) + all_.words.size() * sizeof(std::uint64_t) +
                     texts * each_text + text_bytes_};
  if (memory > limits_.memory)
    throw BrokenRule{"a recording that takes more than " + to_string(limits_.memory) +
                     " of memory, the reader's limit"};
}

RecordedEvents RecordReader::take(bool torn) {
  all_.unfinished = torn || !has_end_;
  std::ranges::stable_sort(all_.events, {}, &RecordedEvent::sequence);
  return std::move(all_);
}

}  // namespace

Trace read_recording(Blocks& blocks, std::string_view name, const ReadLimits& limits) {
  RecordReader reader{name, limits};
  while (const auto bytes = blocks.next()) reader.read_block(*bytes, blocks.offset());
  return trace_of(reader.take(blocks.is_torn()), name, limits);
}

}  // namespace tier::trace
