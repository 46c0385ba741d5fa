// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/policy_spec.hpp>
#include <tier/core/spec_text.hpp>

#include <algorithm>

namespace tier {
namespace {

constexpr std::string_view allowed_form = "NAME or NAME:OPTION=VALUE,OPTION=VALUE";
constexpr std::string_view allowed_names = "letters, digits, _ and -";

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

std::string parse_name(detail::SpecReader& reader, std::string_view delimiters, std::string_view what) {
  const auto start = reader.position();
  auto name = reader.field(delimiters);
  if (name.empty()) reader.fail_at(start, std::string{"expected the name of "}.append(what), allowed_form);
  if (!is_name(name)) reader.fail_at(start, "\"" + name + "\" is not a name", allowed_names);
  return name;
}

std::pair<std::string, std::string> parse_option(detail::SpecReader& reader) {
  auto name = parse_name(reader, "=,", "an option");
  if (!reader.skip('=')) reader.fail("expected = and a value for option \"" + name + "\"", allowed_form);
  return {std::move(name), reader.field(",")};
}

}  // namespace

PolicySpec parse_policy(std::string_view text) {
  detail::SpecReader reader{text};
  PolicySpec spec{parse_name(reader, ":", "a policy"), {}};
  if (reader.at_end()) return spec;
  reader.skip(':');
  do {
    const auto start = reader.position();
    auto option = parse_option(reader);
    const auto same = [&](const auto& other) { return other.first == option.first; };
    if (std::any_of(spec.options.begin(), spec.options.end(), same))
      reader.fail_at(start, "option \"" + option.first + "\" is given twice", "each option once");
    spec.options.push_back(std::move(option));
  } while (reader.skip(','));
  return spec;
}

std::string to_string(const PolicySpec& spec) {
  auto text = spec.name;
  char delimiter = ':';
  for (const auto& [name, value] : spec.options) {
    text.append(1, delimiter).append(name).append("=").append(detail::escaped(value, ","));
    delimiter = ',';
  }
  return text;
}

}  // namespace tier
