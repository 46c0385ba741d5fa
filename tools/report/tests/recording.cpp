// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recording.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

namespace tier::test {
namespace {

using trace::Cause;
using trace::Phase;
using trace::Role;
using trace::TensorKind;
using ns = std::chrono::nanoseconds;

// Each would do harm in its own way; the test of the page looks for their traces.
constexpr std::array hostile_names{
    "</script><script>document.title='hacked'</script>",
    "<img/src=x/onerror=document.title='hacked'>",
    "\"'onload='document.title=1'x=\"",
    "<!--<script>",
    "]]></svg><style>*{display:none}</style>",
    "\\u003cb\\u003e&lt;&amp;&#60;",
    "${document.title='hacked'}`",
    "ö☃\xE2\x80\xAE\xF0\x9F\x92\xBE",
};

}  // namespace

Recording::Recording(const RecordingOptions& options) : options_{options}, random_{options.seed} {}

std::string Recording::token(const std::string& name) {
  if (!options_.hostile) return name;
  const std::string text{hostile_names.at(std::hash<std::string>{}(name) % hostile_names.size())};
  return text + name;
}

std::string Recording::named(const std::string& name) {
  return options_.hostile ? token(name) + " " + std::string(200, 'w') : name;
}

void Recording::settings() {
  trace_.add_header("net", token("small_cnn"));
  trace_.add_header("batch", "64");
  trace_.add_header("recorded", "1");
  if (!options_.hostile)
    trace_.add_setting("tiers", "dram:" + to_string(options_.fast) + ";emulated:cxl:1GiB");
  trace_.add_setting("policy", "hint_aware:mode=LM");
  trace_.add_setting("model.dram", "60e9,60e9,90,16");
  trace_.add_setting(token("clock"), named("steady"));
}

std::size_t Recording::object(TensorKind kind, std::size_t size, const std::string& name) {
  objects_.push_back(
      {.tensor = trace_.declare(ids_++, {size}, kind, named(name)), .size = size, .alive = true});
  return objects_.size() - 1;
}

/// Adds the migrations that have ended.
void Recording::tell_until(Time time) {
  std::ranges::stable_sort(under_way_, {}, [](const auto& m) { return m.start + m.duration; });
  auto done = under_way_.begin();
  for (; done != under_way_.end() && (done->start + done->duration).count() <= time; ++done) {
    done->sequence = ++sequence_;
    trace_.add(*done);
  }
  under_way_.erase(under_way_.begin(), done);
}

void Recording::migrate(std::size_t i, bool to_fast, Cause cause) {
  auto& object = objects_[i];
  const auto start = std::max({now_, mover_free_, object.arrives});
  const bool clean = !to_fast && below(4) == 0;
  const auto duration = clean ? Time{500} : static_cast<Time>(object.size / 4 + 2000);  // 4 GB/s
  mover_free_ = object.arrives = start + duration;
  if (to_fast) fast_used_ += object.size;
  if (!to_fast) fast_used_ -= object.size;
  if (!to_fast) evicted_ = mover_free_;
  object.fast = to_fast;
  under_way_.push_back({.tensor = object.tensor,
                        .from = trace_.add_name(tier(!to_fast)),
                        .to = trace_.add_name(tier(to_fast)),
                        .size = {clean ? 0 : object.size},
                        .cause = cause,
                        .start = ns{start},
                        .duration = ns{duration}});
}

/// Puts the object into fast memory if there is room. It arrives after what was evicted for it has left.
void Recording::place(std::size_t i) {
  auto& object = objects_[i];
  object.placed = true;
  object.fast = fast_used_ + object.size <= options_.fast.count;
  if (object.fast) fast_used_ += object.size;
  object.arrives = std::max(now_, evicted_);
  tell_until(object.arrives);
  trace_.add(trace::Placement{.sequence = ++sequence_,
                              .tensor = object.tensor,
                              .tier = trace_.add_name(tier(object.fast)),
                              .alignment = {64},
                              .start = ns{object.arrives}});
}

void Recording::make_room(std::size_t bytes, const Objects& busy) {
  if (bytes > options_.fast.count) return;
  while (fast_used_ + bytes > options_.fast.count) {
    std::size_t oldest = objects_.size();
    for (std::size_t i = 0; i < objects_.size(); ++i)
      if (objects_[i].alive && objects_[i].placed && objects_[i].fast && !std::ranges::count(busy, i) &&
          (oldest == objects_.size() || objects_[i].used < objects_[oldest].used))
        oldest = i;
    if (oldest == objects_.size()) return;
    migrate(oldest, false, Cause::Evict);
  }
}

void Recording::fetch(std::size_t i, Cause cause, const Objects& busy) {
  make_room(objects_[i].size, busy);
  if (fast_used_ + objects_[i].size <= options_.fast.count) migrate(i, true, cause);
}

void Recording::hint(const Objects& objects) {
  std::vector<trace::TensorIndex> tensors;
  for (const auto i : objects) tensors.push_back(objects_[i].tensor);
  trace_.add(
      trace::Hint{
          .sequence = ++sequence_, .hint = trace_.add_name("will_read"), .tensors = {}, .start = ns{now_}},
      tensors);
  for (const auto i : objects)
    if (!objects_[i].fast && below(8) != 0) fetch(i, Cause::Hint, objects);
}

void Recording::kernel(const std::string& op, Phase phase, const Objects& reads, const Objects& creates,
                       const Objects& updates) {
  auto busy = reads;
  busy.insert(busy.end(), creates.begin(), creates.end());
  busy.insert(busy.end(), updates.begin(), updates.end());
  const auto entered = now_;
  tell_until(now_);
  for (const auto i : busy) {
    auto& object = objects_[i];
    if (object.placed && !object.fast && below(5) != 0) fetch(i, Cause::Miss, busy);
    if (object.placed) continue;
    make_room(object.size, busy);
    place(i);
  }
  for (const auto i : busy) now_ = std::max(now_, objects_[i].arrives);
  tell_until(now_);
  if (now_ > entered)
    trace_.add(trace::Stall{.sequence = ++sequence_,
                            .scope = trace_.add_name(token(op)),
                            .start = ns{entered},
                            .duration = ns{now_ - entered},
                            .cause = trace_.add_name(token(below(6) == 0 ? "room" : "transfer"))});
  std::vector<trace::Operand> operands;
  std::string placement;
  const auto add = [&](const Objects& some, Role role) {
    for (const auto i : some) {
      operands.push_back({{objects_[i].size}, objects_[i].tensor, role});
      placement += (placement.empty() ? "" : ",") + tier(objects_[i].fast);
      objects_[i].used = ++uses_;
    }
  };
  add(reads, Role::Reads);
  add(creates, Role::Creates);
  add(updates, Role::Updates);
  const auto duration = static_cast<Time>(400'000 + below(1'600'000));
  trace_.add_kernel(token(op), phase, 1e6 * static_cast<double>(duration), operands);
  trace_.add({.sequence = ++sequence_,
              .start = ns{now_},
              .duration = ns{duration},
              .thread = below(10) == 0 ? 1U : 0U,
              .placement = trace_.add_name(placement)});
  now_ += duration;
}

void Recording::retire(const Objects& objects) {
  std::vector<trace::TensorIndex> tensors;
  for (const auto i : objects) {
    now_ = std::max(now_, objects_[i].arrives);
    if (objects_[i].fast) fast_used_ -= objects_[i].size;
    objects_[i].alive = objects_[i].fast = false;
    tensors.push_back(objects_[i].tensor);
  }
  tell_until(now_);
  trace_.add_retire(tensors);
}

void Recording::end_iteration() {
  now_ += 3'000'000;
  tell_until(now_);
  trace_.add_end_of_iteration();
}

trace::Trace Recording::make() && {
  settings();
  const auto layers = options_.layers;
  Objects weights;
  for (std::size_t i = 0; i < layers; ++i)
    weights.push_back(
        object(TensorKind::Parameter, (1 + below(4)) << 20U, "conv" + std::to_string(i) + ".w"));
  const auto table =
      object(TensorKind::Parameter, options_.fast.count + (32U << 20U), "table");  // never fits
  for (std::size_t iteration = 0; iteration < options_.iterations; ++iteration) {
    Objects outputs{object(TensorKind::Activation, 4U << 20U, "input")};
    kernel("load", Phase::Forward, {}, {outputs[0]}, {});
    const auto embedding = object(TensorKind::Activation, 1U << 20U, "embedding");
    kernel("embed_f", Phase::Forward, {table}, {embedding}, {});
    for (std::size_t i = 0; i < layers; ++i) {
      outputs.push_back(
          object(TensorKind::Activation, (4 + below(9)) << 20U, "conv" + std::to_string(i) + ".y"));
      kernel("conv3_f", Phase::Forward, {outputs[i], weights[i]}, {outputs[i + 1]}, {});
      trace_.add_archive(std::vector{objects_[outputs[i]].tensor});
      if (below(4) == 0) now_ += static_cast<Time>(below(2'000'000));
    }
    auto gradient = object(TensorKind::Activation, 4U << 20U, "loss.d");
    kernel("loss", Phase::Forward, {outputs[layers]}, {gradient}, {});
    for (auto i = layers; i-- > 0;) {
      const bool late = below(4) == 0;
      if (late) hint({outputs[i], weights[i]});
      if (i >= 1 && !late) hint({outputs[i - 1], weights[i - 1]});
      const auto next =
          object(TensorKind::Activation, (4 + below(4)) << 20U, "conv" + std::to_string(i) + ".d");
      const auto of_weight =
          object(TensorKind::Activation, objects_[weights[i]].size, "conv" + std::to_string(i) + ".dw");
      kernel("conv3_d", Phase::Backward, {gradient, weights[i]}, {next}, {});
      kernel("conv3_w", Phase::Backward, {gradient, outputs[i]}, {of_weight}, {});
      kernel("sgd", Phase::Update, {of_weight}, {}, {weights[i]});
      retire({gradient, outputs[i + 1], of_weight});
      gradient = next;
    }
    retire({gradient, outputs[0], embedding});
    end_iteration();
  }
  tell_until(std::max(now_, mover_free_));
  return std::move(trace_);
}

}  // namespace tier::test
