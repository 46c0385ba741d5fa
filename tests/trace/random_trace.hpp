// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Random traces that keep all rules, with all kinds of events and extreme texts and numbers.
#include <tier/trace/trace.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace tier::test {

class RandomTrace {
 public:
  explicit RandomTrace(std::mt19937_64& random) : random_{random} {}

  trace::Trace make(std::size_t events) {
    for (auto n = below(4); n > 0; --n) trace_.add_header("key" + std::to_string(n), below(2) ? token() : "");
    for (std::size_t i = 0; i < events; ++i) add_event();
    return std::move(trace_);
  }

 private:
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  /// Returns a number of any magnitude.
  std::uint64_t number() { return random_() >> below(64); }
  std::chrono::nanoseconds time() {
    return std::chrono::nanoseconds{static_cast<std::int64_t>(number() >> 1)};
  }
  double flops() {
    const auto any = std::bit_cast<double>(random_());
    return below(4) == 0 ? 0 : std::isfinite(any) ? std::abs(any) : 5.54906e+10;
  }
  std::string token() {
    static constexpr std::array tokens{"conv3_f", "dram:8GiB", "0,1,0", "@", "a=b,c",
                                       "K",       "ö",         "--",    "=", "☃"};
    return tokens.at(below(tokens.size()));
  }
  std::string text() {
    const auto text = token();
    return below(3) == 0 ? text + " \t" + token() : below(8) == 0 ? "" : text;
  }
  trace::NameIndex name() { return trace_.add_name(below(8) == 0 ? "" : token()); }

  void add_event() {
    switch (below(16)) {
      case 0:
      case 1:
      case 2:
        return declare();
      case 3:
        return add_list(Which::Archive);
      case 4:
        return add_list(Which::Retire);
      case 5:
        return below(8) == 0
                   ? end_iteration()
                   : trace_.add_setting(token() == "=" ? "k" : "a " + std::to_string(below(9)), text());
      case 6:
        return add_recorded();
      default:
        return add_kernel();
    }
  }

  void declare() {
    static constexpr std::string_view kinds = "pgatsi";
    std::uint64_t id = number();
    while (trace_.find(id)) id = random_();
    const auto kind = static_cast<trace::TensorKind>(kinds[below(kinds.size())]);
    const auto tensor = trace_.declare(id, {number() >> 16}, kind, text());
    (kind == trace::TensorKind::Parameter ? alive_ : declared_).push_back(tensor);
  }

  std::optional<trace::TensorIndex> any_declared() {
    const auto n = trace_.tensors().size();
    return n == 0 ? std::optional<trace::TensorIndex>{} : static_cast<trace::TensorIndex>(below(n));
  }

  Bytes part_of(trace::TensorIndex tensor) {
    const auto size = trace_.tensor(tensor).size;
    return below(2) ? size : Bytes{random_() % (size.count + 1)};
  }

  void add_kernel() {
    std::vector<trace::Operand> operands;
    std::ranges::shuffle(alive_, random_);
    auto next = alive_.begin();
    const auto take = [&](trace::Role role) {
      for (auto n = below(4); n > 0 && next != alive_.end(); --n, ++next) {
        const auto size = trace_.tensor(*next).size;
        operands.push_back({role == trace::Role::Overwrites ? size : part_of(*next), *next, role});
        if (role == trace::Role::Reads && below(4) == 0)
          operands.push_back({part_of(*next), *next, role});  // another slice
      }
    };
    take(trace::Role::Reads);
    std::vector<trace::TensorIndex> created;
    for (auto n = below(3); n > 0 && !declared_.empty(); --n, declared_.pop_back())
      created.push_back(declared_.back());
    if (!survivors_.empty()) {  // W again, in a later iteration
      created.push_back(survivors_.back());
      survivors_.pop_back();
    }
    for (const auto t : created) operands.push_back({trace_.tensor(t).size, t, trace::Role::Creates});
    take(trace::Role::Updates);
    if (below(2)) take(trace::Role::Overwrites);
    trace_.add_kernel(token(), static_cast<trace::Phase>("fbu"[below(3)]), flops(), operands);
    alive_.insert(alive_.end(), created.begin(), created.end());
    if (below(4) == 0)
      trace_.add({.sequence = number(),
                  .start = time(),
                  .duration = time(),
                  .thread = number(),
                  .placement = name()});
  }

  enum class Which { Archive, Retire };
  void add_list(Which which) {
    std::ranges::shuffle(alive_, random_);
    const auto n = std::min(alive_.size(), below(3));
    const std::vector<trace::TensorIndex> some(alive_.end() - static_cast<std::ptrdiff_t>(n), alive_.end());
    if (which == Which::Archive) return trace_.add_archive(some);
    trace_.add_retire(some);
    alive_.resize(alive_.size() - n);
  }

  void end_iteration() {
    trace_.add_end_of_iteration();
    for (const auto t : std::exchange(alive_, {})) {
      const auto kind = trace_.tensor(t).kind;
      if (kind == trace::TensorKind::Parameter) alive_.push_back(t);
      if (kind == trace::TensorKind::Gradient) (below(2) ? survivors_ : alive_).push_back(t);
    }
  }

  void add_recorded() {
    const auto tensor = any_declared();
    if (!tensor) return;
    const auto block = below(2) ? trace::whole_tensor : static_cast<std::uint32_t>(random_() >> 40);
    switch (below(6)) {
      case 4:
        return trace_.add(trace::Placement{.sequence = number(),
                                           .tensor = *tensor,
                                           .block = block,
                                           .tier = name(),
                                           .alignment = {std::size_t{1} << below(22)},
                                           .start = time()});
      case 0:
        return trace_.add({.sequence = number(),
                           .tensor = *tensor,
                           .block = block,
                           .from = name(),
                           .to = name(),
                           .size = {number() >> 1},
                           .cause = static_cast<trace::Cause>(below(6)),
                           .start = time(),
                           .duration = time()});
      case 1:
        return trace_.add(trace::Stall{
            .sequence = number(), .scope = name(), .start = time(), .duration = time(), .cause = name()});
      case 2: {
        const std::vector<trace::TensorIndex> some(below(3), *tensor);
        return trace_.add(trace::Hint{.sequence = number(), .hint = name(), .tensors = {}, .start = time()},
                          some);
      }
      case 3:
        return trace_.add(
            trace::Fault{.sequence = number(), .tensor = *tensor, .block = block, .start = time()});
      default: {
        std::vector<std::uint64_t> rows(below(4));
        std::ranges::generate(rows, [&] { return number(); });
        const auto count = rows.empty() ? number() : rows.size();
        return trace_.add(trace::RowAccess{.sequence = number(),
                                           .table = name(),
                                           .count = count,
                                           .start = time(),
                                           .rows = {},
                                           .updates = below(2) == 0},
                          rows);
      }
    }
  }

  std::mt19937_64& random_;
  trace::Trace trace_;
  std::vector<trace::TensorIndex> declared_, alive_, survivors_;  // survivors: alive, and may be under W
};

}  // namespace tier::test
