// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "published.hpp"

namespace tier::tool::paper {
namespace {

constexpr PublishedRow traffic[] = {
    {"DenseNet264_b1536", "DRAM_read", {4.88, 4.88, 4.76, 4.81, 4.19, 4.65}},
    {"DenseNet264_b1536", "DRAM_write", {3.84, 2.86, 3.45, 1.99, 1.99, 2.34}},
    {"DenseNet264_b1536", "NVRAM_read", {1.87, 0.88, 2.13, 0.68, 0.52, 0.44}},
    {"DenseNet264_b1536", "NVRAM_write", {1.42, 0.68, 1.04, 1.13, 0.35, 0.37}},
    {"ResNet200_b2048", "DRAM_read", {6.53, 6.52, 6.06, 5.80, 5.59, 6.28}},
    {"ResNet200_b2048", "DRAM_write", {4.49, 3.31, 4.04, 2.21, 2.32, 2.69}},
    {"ResNet200_b2048", "NVRAM_read", {2.20, 1.00, 2.76, 1.28, 0.68, 0.37}},
    {"ResNet200_b2048", "NVRAM_write", {1.69, 0.82, 1.10, 1.21, 0.36, 0.37}},
    {"VGG416_b256", "DRAM_read", {11.30, 11.30, 8.45, 8.44, 8.93, 10.87}},
    {"VGG416_b256", "DRAM_write", {5.83, 4.65, 5.41, 3.85, 3.85, 4.20}},
    {"VGG416_b256", "NVRAM_read", {1.99, 0.80, 4.71, 3.17, 1.95, 0.36}},
    {"VGG416_b256", "NVRAM_write", {1.53, 0.56, 1.05, 1.06, 0.34, 0.34}},
};

constexpr PublishedRow utilisation[] = {
    {"ResNet200", "NVRAM", {0.063, 0.047, 0.085, 0.060, 0.036, 0.025}},
    {"ResNet200", "DRAM", {0.179, 0.254, 0.222, 0.192, 0.273, 0.299}},
    {"VGG416", "NVRAM", {0.046, 0.022, 0.072, 0.058, 0.037, 0.012}},
    {"VGG416", "DRAM", {0.223, 0.256, 0.174, 0.169, 0.206, 0.250}},
};

constexpr PublishedDemand demand[] = {
    {"DenseNet264_b1536", 4.35, 1.98}, {"ResNet200_b2048", 5.9, 2.30}, {"VGG416_b256", 10.54, 3.85}};

}  // namespace

std::span<const PublishedRow> published_traffic() { return traffic; }
std::span<const PublishedRow> published_utilisation() { return utilisation; }
std::optional<std::array<double, modes.size()>> published_speed_ups(std::string_view network) {
  std::array<double, modes.size()> bytes{}, speed_ups{};
  for (const auto& row : traffic)
    for (std::size_t m = 0; m < modes.size(); ++m)
      if (row.network == network && row.series.starts_with("DRAM_")) bytes.at(m) += row.values.at(m);
  for (const auto& row : utilisation) {
    if (row.series != "DRAM" || !network.starts_with(row.network)) continue;
    for (std::size_t m = 0; m < modes.size(); ++m)
      speed_ups.at(m) = bytes[0] / row.values[0] / (bytes.at(m) / row.values.at(m));
    return speed_ups;
  }
  return {};
}
std::span<const PublishedDemand> published_demand() { return demand; }

}  // namespace tier::tool::paper
