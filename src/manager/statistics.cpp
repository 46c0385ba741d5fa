// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Counters as text for people and as JSON for programs.
#include <tier/core/detail/json_text.hpp>
#include <tier/manager/statistics.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace tier {
namespace {

std::string name_of(const std::vector<TierStatistics>& tiers, TierIndex tier) {
  return tier < tiers.size() ? tiers[tier].name : "?";
}

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

std::string line(std::string_view what, std::uint64_t count) {
  return padded(std::string{what}, 28) + std::to_string(count) + "\n";
}
std::string line(std::string_view what, std::uint64_t count, std::uint64_t bytes) {
  return padded(std::string{what}, 28) + padded(std::to_string(count), 14) + to_human(Bytes{bytes}) + "\n";
}

std::string text_of(const TierStatistics& tier) {
  std::string text = padded(tier.name, 20);
  for (const auto size : {tier.capacity, tier.used, tier.high_water, tier.largest_free})
    text += padded(to_human(size), 14);
  text += std::to_string(tier.regions);
  if (tier.condemned.count != 0) text += "  (" + to_human(tier.condemned) + " unusable)";
  return text + "\n";
}

std::string milliseconds(std::uint64_t ns) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3f ms", static_cast<double>(ns) * 1e-6);
  return text.data();
}

/// Lists hints, with the reasons of those that started nothing.
std::string text_of(const HintCounts& hints) {
  return line("hints: fetch begun", hints.begun) + line("hints: fast already", hints.present) +
         line("hints: no room", hints.full) + line("hints: in use", hints.busy) +
         line("hints: not followed", hints.passed_over);
}

nlohmann::ordered_json json_of(const HintCounts& hints) {
  return {{"begun", hints.begun},
          {"present", hints.present},
          {"full", hints.full},
          {"busy", hints.busy},
          {"passed_over", hints.passed_over}};
}

nlohmann::ordered_json json_of(const TierStatistics& tier) {
  return {{"name", tier.name},
          {"capacity", tier.capacity.count},
          {"used", tier.used.count},
          {"high_water", tier.high_water.count},
          {"largest_free", tier.largest_free.count},
          {"condemned", tier.condemned.count},
          {"regions", tier.regions}};
}

// Leaves out counters that are 0: a table has many.
std::string text_of(const TableCounts& table) {
  std::string text;
  for (const auto& [name, count] : table.counts)
    if (count != 0) text += (text.empty() ? "" : ", ") + std::string{name} + " " + std::to_string(count);
  return padded(table.name, 28) + text + "\n";
}

nlohmann::ordered_json json_of(const TableCounts& table) {
  nlohmann::ordered_json json{{"name", table.name}};
  for (const auto& [name, count] : table.counts) json[std::string{name}] = count;
  return json;
}

}  // namespace

TableCounts Statistics::all_tables() const {
  TableCounts all{"all tables", {}};
  for (const auto& table : tables) {
    if (all.counts.empty()) all.counts = {table.counts.size(), NamedCount{}};
    for (std::size_t i = 0; i < table.counts.size(); ++i)
      all.counts[i] = {table.counts[i].name, all.counts[i].count + table.counts[i].count};
  }
  return all;
}

std::uint64_t Statistics::bytes_moved(TierIndex from, TierIndex to) const noexcept {
  std::uint64_t sum = 0;
  for (const auto& m : moved)
    if (m.from == from && m.to == to) sum += m.bytes;
  return sum;
}

std::string Statistics::to_text() const {
  std::string text = "tier                capacity      used          high water    largest free  regions\n";
  for (const auto& tier : tiers) text += text_of(tier);
  text += "\nmoved                       transfers     bytes\n";
  for (const auto& m : moved)
    text +=
        line(name_of(tiers, m.from) + " > " + name_of(tiers, m.to) + ", " + std::string{to_string(m.cause)},
             m.transfers, m.bytes);
  text += "\noperands                    count         bytes\n";
  text += line("fetched", fetched_operands, fetched_operand_bytes);
  text += line("used in place", in_place_operands, in_place_bytes);
  text +=
      "\n" + line("objects", objects) + line("blocks", blocks) + line("hits", hits) + line("misses", misses);
  text += line("evictions", evictions) + line("  without a copy", dropped_clean) +
          line("further copies dropped", copies_dropped) + line("forced", forced);
  text += text_of(hints);
  text += line("prefetches begun", prefetches_begun) + line("prefetches refused", prefetches_refused) +
          line("compactions begun", compactions_begun);
  text += line("transfers cancelled", transfers_cancelled);
  if (windows) text += padded("windows", 28) + std::string{to_string(*windows)} + "\n";
  text += line("window faults", window_faults) + line("window writes held", window_writes_held);
  text += line("hints dropped", hints_dropped) + line("uses dropped", uses_dropped);
  text += padded("stalls", 28) + padded(std::to_string(stalls), 14) + milliseconds(stalled_ns) + "\n";
  text += padded("moving", 42) + milliseconds(moving_ns) + "\n";
  text += padded("metadata", 28) + to_human(metadata) + "\n";
  if (tables.empty()) return text;
  text += "\ntable                       counts\n";
  for (const auto& table : tables) text += text_of(table);
  return text + text_of(all_tables());
}

std::string Statistics::to_json() const {
  nlohmann::ordered_json json;
  json["tiers"] = nlohmann::ordered_json::array();
  for (const auto& tier : tiers) json["tiers"].push_back(json_of(tier));
  json["moved"] = nlohmann::ordered_json::array();
  for (const auto& m : moved)
    json["moved"].push_back({{"from", name_of(tiers, m.from)},
                             {"to", name_of(tiers, m.to)},
                             {"cause", to_string(m.cause)},
                             {"bytes", m.bytes},
                             {"transfers", m.transfers}});
  json["hits"] = hits;
  json["misses"] = misses;
  json["fetched_operands"] = fetched_operands;
  json["fetched_operand_bytes"] = fetched_operand_bytes;
  json["in_place_operands"] = in_place_operands;
  json["in_place_bytes"] = in_place_bytes;
  json["evictions"] = evictions;
  json["dropped_clean"] = dropped_clean;
  json["copies_dropped"] = copies_dropped;
  json["forced"] = forced;
  json["hints"] = json_of(hints);
  json["prefetches_begun"] = prefetches_begun;
  json["prefetches_refused"] = prefetches_refused;
  json["compactions_begun"] = compactions_begun;
  json["transfers_cancelled"] = transfers_cancelled;
  json["hints_dropped"] = hints_dropped;
  json["uses_dropped"] = uses_dropped;
  if (windows) json["windows"] = to_string(*windows);
  json["window_faults"] = window_faults;
  json["window_writes_held"] = window_writes_held;
  json["stalls"] = stalls;
  json["stalled_ns"] = stalled_ns;
  json["moving_ns"] = moving_ns;
  json["objects"] = objects;
  json["blocks"] = blocks;
  json["metadata"] = metadata.count;
  json["tables"] = nlohmann::ordered_json::array();
  for (const auto& table : tables) json["tables"].push_back(json_of(table));
  json["all_tables"] = json_of(all_tables());
  return detail::json_text(json);
}

std::string to_text(std::span<const ObjectStatistics> objects, const Statistics& runtime) {
  std::string text =
      "object                      size          tier                fetches   evictions  moved\n";
  for (const auto& o : objects) {
    const auto name = o.name.empty() ? "object " + std::to_string(o.id) : o.name;
    text += padded(name, 28) + padded(to_human(o.size), 14) + padded(name_of(runtime.tiers, o.tier), 20) +
            padded(std::to_string(o.fetches), 10) + padded(std::to_string(o.evictions), 11) +
            to_human(Bytes{o.bytes_moved}) + (o.dirty ? ", dirty" : "") + (o.pinned ? ", in use" : "") + "\n";
  }
  return text;
}

std::string ObjectsToJson::operator()(std::span<const ObjectStatistics> objects,
                                      const Statistics& runtime) const {
  auto json = nlohmann::ordered_json::array();
  for (const auto& o : objects)
    json.push_back({{"id", o.id},
                    {"name", o.name},
                    {"size", o.size.count},
                    {"tier", name_of(runtime.tiers, o.tier)},
                    {"pinned", o.pinned},
                    {"dirty", o.dirty},
                    {"fetches", o.fetches},
                    {"evictions", o.evictions},
                    {"bytes_moved", o.bytes_moved}});
  return detail::json_text(json);
}

}  // namespace tier
