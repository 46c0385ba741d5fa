// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/error.hpp>
#include <tier/core/spec_text.hpp>
#include <tier/core/suggestion.hpp>
#include <tier/memory/device_models.hpp>
#include <tier/memory/tier_text.hpp>

#include <algorithm>
#include <array>
#include <tuple>

#include "memory/values/memkind_names.hpp"
#include "memory/values/node_list.hpp"

namespace tier {
namespace {

constexpr std::string_view special = ":;";
constexpr std::string_view allowed_forms =
    "dram:SIZE, numa:NODES:SIZE, pmem:PATH:SIZE, memkind:KIND:SIZE, file:PATH:SIZE, mapped:PATH:SIZE "
    "(PATH a folder, or new=FILE), "
    "emulated:MODEL:SIZE, simulated:MODEL:SIZE, node:NODES:SIZE, fastest:SIZE, largest:SIZE, hbm:SIZE, "
    "cxl:SIZE";
constexpr std::string_view allowed_sizes =
    "a number and B, kB, MB, GB, TB (powers of 1000), KiB, MiB, GiB, TiB (of 1024); in a path, : is written "
    "\\:";

constexpr std::string_view units = "B, kB, MB, GB, TB, KiB, MiB, GiB, TiB";

enum class Argument : std::uint8_t { None, Nodes, Path, Model, Memkind };  // roles have none, only names

struct Kind {
  std::string_view name;
  TierKind kind;
  Argument argument;
  bool has_pages;
};
constexpr std::array<Kind, 13> kinds{{{"dram", TierKind::Dram, Argument::None, true},
                                      {"numa", TierKind::Numa, Argument::Nodes, true},
                                      {"pmem", TierKind::Pmem, Argument::Path, false},
                                      {"memkind", TierKind::Memkind, Argument::Memkind, false},
                                      {"file", TierKind::File, Argument::Path, false},
                                      {"mapped", TierKind::Mapped, Argument::Path, false},
                                      {"emulated", TierKind::Emulated, Argument::Model, true},
                                      {"simulated", TierKind::Simulated, Argument::Model, false},
                                      {"node", TierKind::Numa, Argument::Nodes, true},  // written as numa
                                      {"fastest", TierKind::Role, Argument::None, true},
                                      {"largest", TierKind::Role, Argument::None, true},
                                      {"hbm", TierKind::Role, Argument::None, true},
                                      {"cxl", TierKind::Role, Argument::None, true}}};

struct NamedPages {
  std::string_view text;
  PageKind pages;
};
constexpr std::array<NamedPages, 3> page_kinds{
    {{"pages=huge", PageKind::Huge}, {"pages=hugetlb", PageKind::Hugetlb}, {"pages=small", PageKind::Small}}};
constexpr std::string_view allowed_pages = "pages=huge, pages=hugetlb, pages=small";

/// Reports blanks and commas as mistakes of their own, in a field that never has them if it is right.
void refuse_blanks_and_commas(const detail::SpecReader& reader, std::size_t start, std::string_view field) {
  if (const auto blank = field.find_first_of(" \t\n\r"); blank != std::string_view::npos)
    reader.fail_at(start + blank, "a blank", "no blank around : and ;");
  if (const auto comma = field.find(','); comma != std::string_view::npos)
    reader.fail_at(start + comma, "a comma", "a semicolon between tiers");
}

const Kind& parse_kind(detail::SpecReader& reader) {
  const auto start = reader.position();
  const auto name = reader.field(special);
  for (const auto& kind : kinds)
    if (kind.name == name) return kind;
  if (name.empty()) reader.fail_at(start, "expected a tier", allowed_forms);
  refuse_blanks_and_commas(reader, start, name);
  reader.fail_at(start, "unknown tier \"" + name + "\"" + detail::did_you_mean(name, allowed_forms),
                 allowed_forms);
}

constexpr std::string_view new_file_mark = "new";

/// Reads the rest of a path in which the reader has stopped at `=`.
std::string rest_of_path(detail::SpecReader& reader) {
  std::string rest;
  while (reader.skip('=')) rest.append("=").append(reader.field(":;="));
  return rest;
}

/// Reads a path. After `new=` it is the path of a new file; `new\=` begins the name of a folder.
void parse_path(detail::SpecReader& reader, TierSpec& spec) {
  auto first = reader.field(":;=");
  spec.new_file = first == new_file_mark && reader.skip('=');
  spec.path = spec.new_file ? reader.field(special) : first + rest_of_path(reader);
  if (spec.path.empty()) reader.fail("expected a path", "an existing folder, or new= and a file in one");
}

std::string text_of_path(const TierSpec& spec) {
  const auto path = detail::escaped(spec.path, special);
  const auto mark = std::string{new_file_mark} + "=";
  if (spec.new_file) return mark + path;
  return path.starts_with(mark) ? std::string{new_file_mark} + "\\" + path.substr(new_file_mark.size())
                                : path;
}

std::string parse_model(detail::SpecReader& reader) {
  const auto start = reader.position();
  auto name = reader.field(special);
  if (find_model(name)) return name;
  std::string known;
  for (const auto model : model_names()) known.append(known.empty() ? "" : ", ").append(model);
  refuse_blanks_and_commas(reader, start, name);
  reader.fail_at(start,
                 name.empty() ? "expected a model"
                              : "unknown model \"" + name + "\"" + detail::did_you_mean(name, known),
                 known);
}

std::string parse_nodes(detail::SpecReader& reader) {
  const auto start = reader.position();
  auto text = reader.field(special);
  NodeListProblem problem;
  if (!parse_node_list(text, problem).empty()) return text;
  if (const auto blank = text.find(' '); blank != std::string::npos)
    reader.fail_at(start + blank, "a blank", allowed_node_lists);
  reader.fail_at(start + problem.position, problem.what, allowed_node_lists);
}

std::string parse_memkind(detail::SpecReader& reader) {
  const auto start = reader.position();
  auto kind = reader.field(special);
  if (is_memkind(kind)) return kind;
  refuse_blanks_and_commas(reader, start, kind);
  reader.fail_at(start,
                 kind.empty() ? "expected a kind"
                              : "unknown kind \"" + kind + "\"" + detail::did_you_mean(kind, memkind_names()),
                 memkind_names() + ", or a directory, as /mnt/pmem");
}

void parse_argument(detail::SpecReader& reader, Argument argument, TierSpec& spec) {
  if (argument == Argument::Nodes) spec.nodes = parse_nodes(reader);
  if (argument == Argument::Path) parse_path(reader, spec);
  if (argument == Argument::Model) spec.model = parse_model(reader);
  if (argument == Argument::Memkind) spec.model = parse_memkind(reader);
}

PageKind parse_pages(detail::SpecReader& reader) {
  const auto start = reader.position();
  const auto text = reader.field(special);
  for (const auto& known : page_kinds)
    if (known.text == text) return known.pages;
  refuse_blanks_and_commas(reader, start, text);
  reader.fail_at(start,
                 "unknown option \"" + text + "\" of memory" + detail::did_you_mean(text, allowed_pages),
                 allowed_pages);
}

bool is_size(const std::string& text) {
  try {
    std::ignore = parse_bytes(text);
    return true;
  } catch (const ConfigError&) {
    return false;
  }
}

/// Says what is wrong with a size, and where in the whole spec.
[[noreturn]] void refuse_size(const detail::SpecReader& reader, std::size_t start, const std::string& field) {
  refuse_blanks_and_commas(reader, start, field);
  const auto digits = std::min(field.find_first_not_of("0123456789."), field.size());
  if (digits == 0) reader.fail_at(start, "expected a size", allowed_sizes);
  const auto unit = field.substr(digits);
  if (!is_size("1" + unit))
    reader.fail_at(start + digits, "unknown unit \"" + unit + "\"" + detail::did_you_mean(unit, units),
                   allowed_sizes);
  reader.fail_at(start, "not a possible size", "less than 8 EiB");
}

Bytes parse_size(detail::SpecReader& reader) {
  const auto start = reader.position();
  const auto field = reader.field(special);
  if (!is_size(field)) refuse_size(reader, start, field);
  const auto size = parse_bytes(field);
  if (size == 0_B) reader.fail_at(start, "a size of zero", "1 byte or more");
  return size;
}

void expect_colon(detail::SpecReader& reader) {
  if (!reader.skip(':')) reader.fail("expected : and a size", allowed_forms);
}

TierSpec parse_tier(detail::SpecReader& reader) {
  const auto& kind = parse_kind(reader);
  TierSpec spec;
  spec.kind = kind.kind;
  if (kind.kind == TierKind::Role) spec.model = kind.name;
  expect_colon(reader);
  if (kind.argument != Argument::None) {
    parse_argument(reader, kind.argument, spec);
    expect_colon(reader);
  }
  spec.size = parse_size(reader);
  if (kind.has_pages && reader.skip(':')) spec.pages = parse_pages(reader);
  return spec;
}

}  // namespace

std::vector<TierSpec> parse_tiers(std::string_view text) {
  detail::SpecReader reader{text};
  std::vector<TierSpec> specs;
  do specs.push_back(parse_tier(reader));
  while (reader.skip(';'));
  if (!reader.at_end())
    reader.fail("text after a tier", "; and another tier, or the end; in a path, : is written \\:");
  return specs;
}

std::string to_string(const TierSpec& spec) {
  const auto kind =
      std::find_if(kinds.begin(), kinds.end(), [&](const Kind& k) { return k.kind == spec.kind; });
  std::string text{spec.kind == TierKind::Role ? std::string_view{spec.model} : kind->name};
  if (kind->argument == Argument::Nodes) text.append(":").append(spec.nodes);
  if (kind->argument == Argument::Path) text.append(":").append(text_of_path(spec));
  if (kind->argument == Argument::Model) text.append(":").append(spec.model);
  if (kind->argument == Argument::Memkind) text.append(":").append(detail::escaped(spec.model, special));
  text.append(":").append(to_string(spec.size));
  for (const auto& known : page_kinds)
    if (spec.pages == known.pages && spec.pages != PageKind::Huge) text.append(":").append(known.text);
  return text;
}

std::vector<std::string_view> memkind_kinds() {
  return has_memkind() ? std::vector<std::string_view>{memkind_kind_names.begin(),
                                                       memkind_kind_names.begin() + memkind_memories}
                       : std::vector<std::string_view>{};
}

void require_bytes(std::span<const TierSpec> specs) {
  for (const auto& spec : specs)
    if (spec.kind == TierKind::Simulated)
      throw ConfigError{"simulated:" + spec.model +
                        " has addresses without memory, for replays; take emulated:" + spec.model +
                        ", whose bytes are in DRAM, or a real tier"};
}

std::string to_string(std::span<const TierSpec> specs) {
  std::string text;
  for (const auto& spec : specs) text.append(text.empty() ? "" : ";").append(to_string(spec));
  return text;
}

}  // namespace tier
