// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/recorded_trace.hpp"

#include <tier/manager/observer.hpp>
#include <tier/trace/binary.hpp>
#include <tier/trace/summary.hpp>
#include <tier/trace/tables.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <optional>
#include <stdexcept>
#include <unordered_set>

#include "core/broken_rule.hpp"
#include "trace/characters.hpp"
#include "trace/recorded_objects.hpp"

namespace tier::trace {
namespace {

constexpr std::array<std::string_view, 3> stall_words{"transfer", "room", "fault"};

/// One life of an object, from its making or its revival to its end.
struct Life {
  TensorKind kind = TensorKind::Parameter;  ///< unless the first use is a whole write
  bool used = false;
};

/// The use of an object by the current kernel.
struct OperandUse {
  std::uint32_t object;
  bool reads = false, updates = false, overwrites = false;
  std::uint64_t bytes = 0;
  Role role{};
};

/// Walks all events twice, because the kind of a tensor shows only after its declaration. The walks are the same, except
/// that only the second one writes.
class TraceMaker {
 public:
  TraceMaker(const RecordedEvents& recorded, std::string_view name, const ReadLimits& limits)
      : recorded_{recorded}, name_{name}, limits_{limits}, objects_{recorded} {}

  Trace make();

 private:
  void walk(bool writing);
  void event(const RecordedEvent& e);
  void object(const RecordedEvent& e);
  void placement(const RecordedEvent& e);
  void hint(const RecordedEvent& e);
  void migration(const RecordedEvent& e);
  void rows(const RecordedEvent& e);
  void row_use(const RecordedEvent& e);
  void stall(const RecordedEvent& e);
  void scope(const RecordedEvent& e);
  void step();

  void begin_life(const RecordedEvent& e, std::uint32_t object);
  void end_life(std::uint32_t object);
  void declare(const RecordedEvent& e, std::uint32_t object);
  void place(const RecordedEvent& e, std::uint32_t object, const RecordedBlock& block);
  void gather_operands(const RecordedEvent& e);
  void decide_role(OperandUse& use);
  [[nodiscard]] std::string placement_of_operands() const;
  void add_tiers_of(std::string& text, const RecordedObject& object) const;

  void unknown(const char* what) const {
    if (recorded_.lost == 0) throw BrokenRule{what};
  }
  [[nodiscard]] std::string token_of(std::uint32_t name) const {
    return name == 0 ? std::string{} : as_token(recorded_.names[name - 1]);
  }
  [[nodiscard]] NameIndex tier_name(TierIndex tier) { return trace_.add_name(tiers_[tier]); }
  [[nodiscard]] static std::chrono::nanoseconds ns(std::uint64_t time) {
    return std::chrono::nanoseconds{static_cast<std::int64_t>(time)};
  }

  const RecordedEvents& recorded_;
  std::string_view name_;
  ReadLimits limits_;
  Trace trace_;
  bool writing_ = false;
  std::vector<std::string> tiers_;
  RecordedObjects objects_;
  std::unordered_set<std::uint32_t> tables_;  // names of tables whose rows are listed
  std::vector<Life> lives_;
  std::uint32_t next_life_ = 0;
  std::uint64_t next_id_ = 0;                  // the last id; later lives get the next ones
  std::vector<std::uint32_t> since_the_step_;  // objects created since then by a whole write
  std::vector<OperandUse> uses_;
  struct LastHint {
    std::uint32_t object = no_index;
    unsigned hint = 0;
  };
  LastHint last_hint_;  // if the previous event was one
};

Trace TraceMaker::make() {
  for (const auto& tier : recorded_.tiers) tiers_.push_back(as_token(tier));
  walk(false);
  walk(true);
  std::ignore = summarise(trace_, name_);
  return std::move(trace_);
}

void TraceMaker::walk(bool writing) {
  writing_ = writing;
  next_life_ = 0;
  next_id_ = objects_.last_id();
  objects_.begin_walk();
  since_the_step_.clear();
  if (writing) {
    trace_.add_header("recorded", "1");
    if (recorded_.unfinished) trace_.add_header(unfinished_key, "1");
    if (recorded_.lost > 0) trace_.add_header(lost_key, std::to_string(recorded_.lost));
    for (const auto& [key, value] : recorded_.settings) {
      if (!is_setting(key, value))
        throw TraceError::at_byte(name_, 0, "a setting that could not be written as text");
      trace_.add_setting(key, value);
    }
  }
  std::size_t count = 0;
  for (const auto& e : recorded_.events) {
    try {
      event(e);
      constexpr std::size_t often = 256;
      if (writing && ++count % often == 0 && trace_.memory() > limits_.memory)
        throw BrokenRule{"a trace that takes more than " + to_string(limits_.memory) +
                         " of memory, the reader's limit"};
    } catch (const BrokenRule& broken) {
      throw TraceError::at_byte(name_, e.offset, broken.what());
    } catch (const std::length_error& full) {
      throw TraceError::at_byte(name_, e.offset, full.what());
    }
  }
  if (trace_.memory() > limits_.memory)
    throw TraceError::at_byte(
        name_, 0,
        "a trace that takes more than " + to_string(limits_.memory) + " of memory, the reader's limit");
}

void TraceMaker::event(const RecordedEvent& e) {
  const auto last = std::exchange(last_hint_, {});
  switch (e.kind) {
    case RecordKind::Object:
      return object(e);
    case RecordKind::Placement:
      return placement(e);
    case RecordKind::Hint:
      last_hint_ = last;
      return hint(e);
    case RecordKind::Migration:
      return (e.z & of_rows) != 0 ? rows(e) : migration(e);
    case RecordKind::Stall:
      return stall(e);
    case RecordKind::Fault: {
      const auto block = recorded_.words_of(e)[0];
      const auto object = objects_.find_at(block);
      if (!object) return unknown("an access to a block that nobody has made");
      declare(e, *object);
      if (writing_)
        trace_.add(Fault{.sequence = e.sequence,
                         .tensor = objects_[*object].tensor,
                         .block = objects_.block_number(block, *object),
                         .start = ns(e.start)});
      return;
    }
    case RecordKind::Step:
      return step();
    case RecordKind::Rows:
      if (writing_) row_use(e);
      return;
    case RecordKind::Scope:
      return scope(e);
    default:
      return;
  }
}

void TraceMaker::object(const RecordedEvent& e) {
  const auto o = objects_.find(recorded_.words_of(e)[0]).value();
  switch (static_cast<ObjectChange>(e.x)) {
    case ObjectChange::Made:
    case ObjectChange::Revived:
      if (objects_[o].destroyed) throw BrokenRule{"an object that is made after its end"};
      if (!objects_[o].alive) begin_life(e, o);
      if (!objects_[o].grouped || objects_[o].placed) return;
      objects_[o].blocks = {recorded_.words_of(e)[3]};
      return place(e, o, objects_.block(objects_[o].blocks.front()));
    case ObjectChange::Grown:
      return declare(e, o);
    case ObjectChange::Retired:
    case ObjectChange::Destroyed:
      declare(e, o);
      end_life(o);
      if (static_cast<ObjectChange>(e.x) == ObjectChange::Destroyed) objects_[o].destroyed = true;
      return;
  }
}

/// Begins the first life of an object, unless it has had one.
void TraceMaker::declare(const RecordedEvent& e, std::uint32_t o) {
  if (objects_[o].life == no_index) begin_life(e, o);
}

void TraceMaker::begin_life(const RecordedEvent& e, std::uint32_t o) {
  auto& object = objects_[o];
  const bool first = object.life == no_index;
  object.life = next_life_++;
  object.alive = true;
  object.created = object.placed = false;
  if (!writing_) lives_.emplace_back();
  const auto id = first ? object.id : ++next_id_;
  if (!writing_) return;
  const auto name = object.name == 0 ? std::string{} : as_last_text(recorded_.names[object.name - 1]);
  if (trace_.find(id)) throw BrokenRule{"more objects than there are ids"};
  const auto before =
      std::exchange(object.tensor, trace_.declare(id, {object.size}, lives_[object.life].kind, name));
  if (first) return;
  Hint revived;
  revived.sequence = e.sequence;
  revived.hint = trace_.add_name("revive");
  revived.start = ns(e.start);
  trace_.add(revived, std::array{object.tensor, before});
}

void TraceMaker::end_life(std::uint32_t o) {
  auto& object = objects_[o];
  if (!std::exchange(object.alive, false) || !writing_) return;
  trace_.add_retire(std::array{object.tensor});
}

void TraceMaker::placement(const RecordedEvent& e) {
  const auto id = recorded_.words_of(e)[0];
  auto* const block = objects_.find_block(id);
  if (block == nullptr) return;  // the block of an object that could not be made
  block->tier = e.x;
  const auto o = objects_.find_at(id);
  if (!o || objects_[*o].destroyed) return;
  if (!objects_[*o].alive) begin_life(e, *o);
  place(e, *o, *block);
}

void TraceMaker::place(const RecordedEvent& e, std::uint32_t o, const RecordedBlock& block) {
  auto& object = objects_[o];
  object.placed = true;
  if (!writing_ || block.tier == no_tier) return;
  const auto alignment = object.alignment;
  const bool sound = std::has_single_bit(alignment) && alignment <= most_alignment.count;
  if (!sound) throw BrokenRule{"an alignment must be a power of two up to 2097152"};
  trace_.add(Placement{.sequence = e.sequence,
                       .tensor = object.tensor,
                       .block = object.blocks.size() > 1 ? block.number : whole_tensor,
                       .tier = tier_name(block.tier),
                       .alignment = {static_cast<std::size_t>(alignment)},
                       .start = ns(e.start)});
}

/// Adds a hint. An `archive` becomes a line Z if the object has contents.
void TraceMaker::hint(const RecordedEvent& e) {
  const auto words = recorded_.words_of(e);
  const auto o = words[0] != 0 ? objects_.find(words[0]) : objects_.find_at(words[1]);
  if (!o) return unknown("a hint for an object that nobody has made");
  declare(e, *o);
  const auto& object = objects_[*o];
  const bool again = last_hint_.object == *o && last_hint_.hint == e.x && object.blocks.size() > 1;
  last_hint_ = {*o, e.x};
  if (again || !writing_) return;  // the hint came once for each block
  const bool holds = object.alive && (object.created || lives_[object.life].kind == TensorKind::Parameter);
  if (static_cast<tier::Hint>(e.x) == tier::Hint::Archive && holds)
    return trace_.add_archive(std::array{object.tensor});
  trace_.add(Hint{.sequence = e.sequence,
                  .hint = trace_.add_name(to_string(static_cast<tier::Hint>(e.x))),
                  .tensors = {},
                  .start = ns(e.start)},
             std::array{object.tensor});
}

void TraceMaker::migration(const RecordedEvent& e) {
  const auto words = recorded_.words_of(e);
  const auto o = objects_.find_at(words[0]);
  if (!o) return unknown("a migration of a block that nobody has made");
  declare(e, *o);
  if ((e.z & became_primary) != 0) objects_.block(words[0]).tier = e.y;
  if (!writing_) return;
  trace_.add(Migration{.sequence = e.sequence,
                       .tensor = objects_[*o].tensor,
                       .block = objects_.block_number(words[0], *o),
                       .from = tier_name(e.x),
                       .to = tier_name(e.y),
                       .size = {static_cast<std::size_t>(words[1])},
                       .cause = static_cast<Cause>(e.z & ~became_primary),
                       .start = ns(e.start),
                       .duration = ns(e.duration)});
}

/// Adds a move of rows between their home and the table's slots. The home itself does not move.
void TraceMaker::rows(const RecordedEvent& e) {
  const auto o = objects_.find_home(e);
  if (!o) return unknown("rows of a table that nobody has made");
  declare(e, *o);
  if (!writing_) return;
  auto& home = objects_[*o];
  if (!std::exchange(home.told_as_home, true))
    trace_.add_setting(std::string{table_key} + std::to_string(trace_.tensor(home.tensor).id),
                       e.name == 0 ? std::string{} : as_last_text(recorded_.names[e.name - 1]));
  trace_.add(Migration{.sequence = e.sequence,
                       .tensor = home.tensor,
                       .from = tier_name(e.x),
                       .to = tier_name(e.y),
                       .size = {static_cast<std::size_t>(recorded_.words_of(e)[1])},
                       .cause = static_cast<Cause>(e.z & ~of_rows),
                       .start = ns(e.start),
                       .duration = ns(e.duration)});
}

/// Adds a row access, with the table's shape before the first one that lists rows.
void TraceMaker::row_use(const RecordedEvent& e) {
  const auto words = recorded_.words_of(e);
  const auto name = token_of(e.name);
  const bool lists = words.size() > 1;
  if (lists && tables_.insert(e.name).second)
    trace_.add_setting(std::string{rows_key} + std::to_string(tables_.size()),
                       std::to_string(words[1]) + "," + std::to_string(words[2]) + "," + name);
  trace_.add(RowAccess{.sequence = e.sequence,
                       .table = trace_.add_name(name),
                       .count = words[0],
                       .start = ns(e.start),
                       .rows = {},
                       .updates = e.x != 0},
             lists ? words.subspan(3) : words.first(0));
}

void TraceMaker::stall(const RecordedEvent& e) {
  if (!writing_) return;
  trace_.add(Stall{.sequence = e.sequence,
                   .scope = trace_.add_name(token_of(e.name)),
                   .start = ns(e.start),
                   .duration = ns(e.duration),
                   .cause = trace_.add_name(stall_words.at(e.x))});
}

/// To the format, an object that was created in the iteration and outlives it is a gradient.
void TraceMaker::step() {
  for (const auto o : since_the_step_)
    if (objects_[o].alive && objects_[o].created && !writing_)
      lives_[objects_[o].life].kind = TensorKind::Gradient;
  since_the_step_.clear();
  if (writing_) trace_.add_end_of_iteration();
}

void TraceMaker::scope(const RecordedEvent& e) {
  gather_operands(e);
  for (auto& use : uses_) decide_role(use);
  constexpr std::string_view order = "RWUO";
  std::ranges::stable_sort(uses_, {},
                           [&](const OperandUse& use) { return order.find(static_cast<char>(use.role)); });
  if (!writing_) return;
  std::vector<Operand> operands;
  operands.reserve(uses_.size());
  for (const auto& use : uses_) {
    const auto& object = objects_[use.object];
    const bool whole = use.role == Role::Creates || use.role == Role::Overwrites;
    operands.push_back({.touched = {whole ? object.size : std::min(use.bytes, object.size)},
                        .tensor = object.tensor,
                        .role = use.role});
  }
  const auto op = e.name == 0 ? std::string{"scope"} : token_of(e.name);
  trace_.add_kernel(op, Phase::Forward, 0, operands);
  trace_.add(Measurement{.sequence = e.sequence,
                         .start = ns(e.start),
                         .duration = ns(e.duration),
                         .thread = e.thread,
                         .placement = trace_.add_name(placement_of_operands())});
}

/// Collects the scope's operands, each object once.
void TraceMaker::gather_operands(const RecordedEvent& e) {
  uses_.clear();
  const auto words = recorded_.words_of(e);
  for (std::size_t i = 0; i < words.size(); i += 2) {
    if (words[i] == 0) continue;  // memory that no runtime manages
    const auto o = objects_.find(words[i]);
    if (!o || objects_[*o].destroyed) {
      unknown("a scope on an object that is not there");
      continue;
    }
    if (!objects_[*o].alive) begin_life(e, *o);
    auto& place = objects_[*o].operand;
    if (place == no_index) {
      place = static_cast<std::uint32_t>(uses_.size());
      uses_.push_back({.object = *o});
    }
    auto& use = uses_[place];
    const auto what = static_cast<Use>(words[i + 1] & 3);
    use.reads |= what == Use::Read;
    use.updates |= what == Use::Update;
    use.overwrites |= what == Use::Overwrite;
    const auto bytes = words[i + 1] >> 2;
    use.bytes += std::min(bytes, std::numeric_limits<std::uint64_t>::max() - use.bytes);
  }
  for (const auto& use : uses_) objects_[use.object].operand = no_index;
}

void TraceMaker::decide_role(OperandUse& use) {
  auto& object = objects_[use.object];
  auto& life = lives_[object.life];
  const bool whole = use.overwrites && !use.reads && !use.updates && use.bytes >= object.size;
  const bool first = !object.created && (writing_ ? life.kind != TensorKind::Parameter : !life.used);
  use.role = !use.overwrites && !use.updates ? Role::Reads : whole ? Role::Overwrites : Role::Updates;
  if (!writing_ && first && whole) life.kind = TensorKind::Activation;
  life.used = true;
  if (!first || !whole) return;
  use.role = Role::Creates;
  object.created = true;
  since_the_step_.push_back(use.object);
}

std::string TraceMaker::placement_of_operands() const {
  std::string text;
  for (const auto& use : uses_) {
    if (!text.empty()) text += ',';
    add_tiers_of(text, objects_[use.object]);
  }
  return text;
}

void TraceMaker::add_tiers_of(std::string& text, const RecordedObject& object) const {
  std::uint32_t seen = 0;
  for (const auto number : object.blocks) {
    const auto tier = objects_.block(number).tier;
    if (tier == no_tier || (seen & (1U << tier)) != 0) continue;
    if (seen != 0) text += '+';
    seen |= 1U << tier;
    text += tiers_[tier];
  }
  if (seen == 0) text += '?';
}

}  // namespace

Trace trace_of(const RecordedEvents& recorded, std::string_view name, const ReadLimits& limits) {
  return TraceMaker{recorded, name, limits}.make();
}

}  // namespace tier::trace
