// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/error.hpp>
#include <tier/replay/machine.hpp>

#include <algorithm>
#include <cmath>

namespace tier::replay {
namespace {

/// Returns the entry whose operation is the longest prefix of `op` among those that `fits` accepts.
template <class T>
const T* longest(const std::vector<T>& all, std::string_view op, auto&& fits) noexcept {
  const T* best = nullptr;
  for (const T& each : all)
    if (op.starts_with(each.op) && fits(each) && (best == nullptr || each.op.size() > best->op.size()))
      best = &each;
  return best;
}

void require(bool holds, const std::string& what) {
  if (!holds) throw ConfigError{what};
}

bool is_rate(double number) { return std::isfinite(number) && number > 0; }

/// True for a time that is in range; sums of a few of these cannot overflow.
bool is_time(std::chrono::nanoseconds time) {
  constexpr std::chrono::nanoseconds most{1'000'000'000'000'000};
  return time.count() >= 0 && time <= most;
}

constexpr const char* no_time = " is negative or too long; allowed: 0 to 10^15 ns";

bool has_control_characters(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}
constexpr const char* no_text = " has control characters, such as line breaks; allowed: all others";

}  // namespace

TierModel Device::tier_model() const {
  return {copy_read, copy_write, latency, parallelism, addressable ? 64_B : 4_KiB, addressable, persistent};
}

const Device* Machine::find(std::string_view device) const noexcept {
  const auto found = std::ranges::find(devices, device, &Device::name);
  return found != devices.end() ? &*found : nullptr;
}

const OpCost& Machine::cost_of(std::string_view op) const noexcept {
  static const OpCost unknown{};
  const auto* const known = longest(ops, op, [](const OpCost&) { return true; });
  return known != nullptr ? *known : unknown;
}

const SlowDown* Machine::slow_down_of(std::string_view device, std::string_view op) const noexcept {
  return longest(slow_downs, op, [&](const SlowDown& s) { return s.device == device; });
}

void Machine::check() const {
  const auto about = [&](const Device& d) { return "device " + d.name + " of machine " + name + ": "; };
  require(!name.empty(), "a machine needs a name");
  require(!has_control_characters(name), std::string{"the name of the machine"} + no_text);
  require(!devices.empty(), "machine " + name + " has no devices");
  require(is_rate(operations), "machine " + name + ": operations a second must be above zero");
  require(cores > 0, "machine " + name + " has no cores");
  require(lost_to_mover >= 0 && lost_to_mover < 1,
          "machine " + name + ": the share lost to a mover must be from 0 to less than 1");
  require(is_time(copy_start), "machine " + name + ": the time that a copy takes to begin" + no_time);
  for (const auto row : {row_lookup, row_update, row_announce})
    require(is_time(row), "machine " + name + ": the time that a row of a cache takes" + no_time);
  for (const auto& d : devices) {
    require(!d.name.empty(), "a device of machine " + name + " has no name");
    require(!has_control_characters(d.name), "the name of a device of machine " + name + no_text);
    require(&d == find(d.name), about(d) + "there are two of that name");
    for (const double rate : {d.read, d.store, d.copy_read, d.copy_write, d.mover_read, d.mover_write})
      require(is_rate(rate), about(d) + "every rate must be above zero");
    require(is_time(d.latency), about(d) + "the latency" + no_time);
    require(is_time(d.row_read) && is_time(d.row_write), about(d) + "the time that a row takes" + no_time);
    require(d.parallelism > 0, about(d) + "it must serve at least 1 request at once");
  }
  for (const auto& c : ops)
    require(is_rate(c.efficiency) && c.efficiency <= 1 && is_rate(c.reads) && is_rate(c.writes),
            "operation " + c.op + " of machine " + name +
                ": efficiency must be above 0 and at most 1, and passes must be above zero");
  for (const auto& s : slow_downs) {
    require(find(s.device) != nullptr,
            "machine " + name + " has no device " + s.device + " to slow down " + s.op);
    require(s.inputs >= 1 && s.outputs >= 1 && s.both >= 1,
            "operation " + s.op + " of machine " + name + ": a slow-down must be at least 1");
  }
}

}  // namespace tier::replay
