// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "common/tier_options.hpp"

#include <fmt/format.h>
#include <tier/core/error.hpp>
#include <tier/memory/spec.hpp>

#include <charconv>
#include <filesystem>
#include <vector>

namespace sample {

using namespace tier::literals;

tier::Bytes parse_fast(std::string_view text, tier::Bytes all) {
  if (!text.ends_with('%')) return tier::parse_bytes(text);
  double percent = 0;
  const auto* last = text.data() + text.size() - 1;
  const auto [end, error] = std::from_chars(text.data(), last, percent);
  if (error != std::errc{} || end != last || !(percent > 0 && percent <= 100)) {
    throw tier::ConfigError{"bad size or share of fast memory", text, 0,
                            "more than 0%, at most 100%, or a size such as 64MiB"};
  }
  return {static_cast<std::size_t>(static_cast<double>(all.count) * percent / 100)};
}

namespace {

tier::Bytes with_spare(tier::Bytes bytes) { return bytes / 4 * 5 + 8_MiB; }

std::vector<tier::TierSpec> parse_sized(const std::string& text, tier::Bytes bytes) {
  try {
    return tier::parse_tiers(text);
  } catch (const tier::ConfigError&) {
    try {
      return tier::parse_tiers(fmt::format("{}:{}", text, bytes.count));
    } catch (const tier::ConfigError&) {  // more than the size was wrong
    }
    throw;
  }
}

}  // namespace

tier::TierSpec parse_slow(const std::string& text, tier::Bytes bytes) {
  if (text.empty()) return tier::tiers::emulated("cxl", with_spare(bytes));
  auto tiers = parse_sized(text, with_spare(bytes));
  if (tiers.size() != 1)
    throw tier::ConfigError{fmt::format("--slow takes one tier; \"{}\" has {}", text, tiers.size())};
  tier::require_bytes(tiers);
  return tiers.front();
}

std::vector<tier::TierSpec> parse_more(const std::string& text) {
  if (text.empty()) return {};
  auto tiers = tier::parse_tiers(text);
  tier::require_bytes(tiers);
  return tiers;
}

std::string paging_folder(const std::string& slow) {
  const std::filesystem::path file{parse_slow(slow, 1_MiB).path};
  if (file.empty()) return "/var/tmp";
  return std::filesystem::is_directory(file) ? file.string() : file.parent_path().string();
}

}  // namespace sample
