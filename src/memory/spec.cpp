// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/error.hpp>
#include <tier/core/spec_text.hpp>
#include <tier/memory/spec.hpp>

#include <algorithm>
#include <array>
#include <tuple>

namespace tier {
namespace {

constexpr std::string_view special = ":;";
constexpr std::string_view allowed_forms =
    "dram:SIZE, file:PATH:SIZE, mapped:PATH:SIZE, emulated:MODEL:SIZE, simulated:MODEL:SIZE";
constexpr std::string_view allowed_sizes =
    "a number and B, kB, MB, GB, TB (powers of 1000), KiB, MiB, GiB, TiB (of 1024); in a path, : is written "
    "\\:";

enum class Argument : std::uint8_t { None, Path, Model };

struct Kind {
  std::string_view name;
  TierKind kind;
  Argument argument;
};
constexpr std::array<Kind, 5> kinds{{{"dram", TierKind::Dram, Argument::None},
                                     {"file", TierKind::File, Argument::Path},
                                     {"mapped", TierKind::Mapped, Argument::Path},
                                     {"emulated", TierKind::Emulated, Argument::Model},
                                     {"simulated", TierKind::Simulated, Argument::Model}}};

const Kind& parse_kind(detail::SpecReader& reader) {
  const auto start = reader.position();
  const auto name = reader.field(special);
  for (const auto& kind : kinds)
    if (kind.name == name) return kind;
  if (name.empty()) reader.fail_at(start, "expected a tier", allowed_forms);
  reader.fail_at(start, "unknown tier \"" + name + "\"", allowed_forms);
}

std::string parse_path(detail::SpecReader& reader) {
  auto path = reader.field(special);
  if (path.empty()) reader.fail("expected a path", "an existing directory, or a new file in one");
  return path;
}

std::string parse_model(detail::SpecReader& reader) {
  const auto start = reader.position();
  auto name = reader.field(special);
  if (find_model(name)) return name;
  std::string known;
  for (const auto model : model_names()) known.append(known.empty() ? "" : ", ").append(model);
  reader.fail_at(start, name.empty() ? "expected a model" : "unknown model \"" + name + "\"", known);
}

bool is_size(const std::string& text) {
  try {
    std::ignore = parse_bytes(text);
    return true;
  } catch (const ConfigError&) {
    return false;
  }
}

/// Says what is wrong with it, and where in the whole spec.
[[noreturn]] void refuse_size(const detail::SpecReader& reader, std::size_t start, const std::string& field) {
  const auto digits = std::min(field.find_first_not_of("0123456789."), field.size());
  if (digits == 0) reader.fail_at(start, "expected a size", allowed_sizes);
  const auto unit = field.substr(digits);
  if (!is_size("1" + unit)) reader.fail_at(start + digits, "unknown unit \"" + unit + "\"", allowed_sizes);
  reader.fail_at(start, "no size that is possible", "less than 8 EiB");
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
  expect_colon(reader);
  if (kind.argument != Argument::None) {
    (kind.argument == Argument::Path ? spec.path : spec.model) =
        kind.argument == Argument::Path ? parse_path(reader) : parse_model(reader);
    expect_colon(reader);
  }
  spec.size = parse_size(reader);
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
  std::string text{kind->name};
  if (kind->argument == Argument::Path) text.append(":").append(detail::escaped(spec.path, special));
  if (kind->argument == Argument::Model) text.append(":").append(spec.model);
  return text.append(":").append(to_string(spec.size));
}

std::string to_string(std::span<const TierSpec> specs) {
  std::string text;
  for (const auto& spec : specs) text.append(text.empty() ? "" : ";").append(to_string(spec));
  return text;
}

}  // namespace tier
