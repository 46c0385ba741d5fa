// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/tiers/numa_nodes.hpp"

#include <tier/core/error.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <utility>

#include "core/refusal.hpp"
#include "memory/system/pages.hpp"
#include "memory/system/resident_pages.hpp"
#include "memory/system/system_files.hpp"
#include "memory/values/node_list.hpp"
#include "memory/values/node_models.hpp"

namespace tier {
namespace {

constexpr std::size_t most_asked = 65'536;  // pages: 256 MiB in small pages take some 10 ms
/// One part in so many of a node's memory, or its watermarks if larger, is left to the kernel: a guess of what it may need.
constexpr std::size_t kept_share = 64;

std::string allowed_only(const std::error_code& error) {
  const bool denied = error == std::errc::operation_not_permitted;
  return denied ? " (in a container, seccomp may deny it: it needs CAP_SYS_NICE with Docker's rules)" : "";
}

std::error_code error_code(std::errc error) { return std::make_error_code(error); }

}  // namespace

PageCounts count_pages(const NumaSystem& system, std::byte* begin, std::size_t size) {
  constexpr std::size_t together = 512;
  const auto all = size / page_size(), step = std::max<std::size_t>((all + most_asked - 1) / most_asked, 1);
  PageCounts counts;
  std::array<void*, together> pages;
  std::array<int, together> found;
  for (std::size_t at = 0; at < all;) {
    std::size_t count = 0;
    for (; count < together && at < all; at += step) pages[count++] = begin + at * page_size();
    counts.error = system.locate(std::span{pages}.first(count), std::span{found}.first(count));
    if (counts.error) return counts;
    for (const int node : std::span{found}.first(count))
      if (node >= 0) ++counts.on[static_cast<unsigned>(node)];
  }
  return counts;
}

NumaNodes::NumaNodes(std::string_view list, std::string tier, std::shared_ptr<const NumaSystem> system)
    : tier_{std::move(tier)}, system_{std::move(system)}, policy_{PagePolicy::Mode::Bind, {}} {
  const auto ids = parse_node_list(list);
  if (const auto error = system_->supported()) {
    const bool absent = error == std::errc::function_not_supported;
    throw TierError{error, "get_mempolicy for tier " + tier_ +
                               (absent ? " (the kernel has no NUMA support)" : allowed_only(error))};
  }
  const auto known = system_->nodes();
  for (const auto id : ids) nodes_.push_back({id, 1, model_of(check(id, known))});
  if (nodes_.size() > 1) read_weights();
  for (const auto& node : nodes_) weights_ += node.weight;
  policy_ =
      PagePolicy{ids.size() == 1 ? PagePolicy::Mode::Prefer : PagePolicy::Mode::WeightedInterleave, ids};
}

const NumaNode& NumaNodes::check(unsigned node, const std::vector<NumaNode>& known) const {
  const auto path = system_->node_path(node);
  const auto subject = "node " + std::to_string(node) + " for tier " + tier_;
  if (std::error_code error; !std::filesystem::exists(path, error)) {
    const auto online = read_line(system_->paths().sysfs + "/devices/system/node/online");
    const bool is_one = online.find_first_not_of("0123456789") == std::string::npos;
    throw TierError{
        error_code(std::errc::no_such_device),
        subject + (online.empty() ? " (the system shows no nodes: take dram)"
                                  : " (the system has " + std::string{is_one ? "node " : "nodes "} + online +
                                        ": name one of these, or take dram)")};
  }
  const auto found = std::ranges::find(known, node, &NumaNode::id);
  if (found == known.end())
    throw TierError{error_code(std::errc::not_enough_memory), subject + ": the node has no memory"};
  const auto cpuset = cpuset_nodes(system_->paths());
  if (cpuset && std::ranges::find(*cpuset, node) == cpuset->end())
    throw TierError{error_code(std::errc::operation_not_permitted),
                    subject + ": the node is outside this process's cpuset (Mems_allowed)"};
  return *found;
}

TierModel NumaNodes::model() const {
  TierModel all = nodes_.front().model;
  double latency = 0;
  all.read_bytes_per_second = all.write_bytes_per_second = std::numeric_limits<double>::max();
  for (const auto& node : nodes_) {
    const auto& one = node.model;
    const double share = static_cast<double>(node.weight) / static_cast<double>(weights_);
    all.read_bytes_per_second = std::min(all.read_bytes_per_second, one.read_bytes_per_second / share);
    all.write_bytes_per_second = std::min(all.write_bytes_per_second, one.write_bytes_per_second / share);
    latency += share * static_cast<double>(one.latency.count());
  }
  all.latency = std::chrono::nanoseconds{static_cast<std::int64_t>(latency)};
  return all;
}

void NumaNodes::place(std::byte* begin, std::size_t size) {
  auto error = system_->bind(begin, size, policy_);
  if (error == std::errc::invalid_argument && policy_.mode() == PagePolicy::Mode::WeightedInterleave) {
    std::vector<unsigned> ids;
    for (const auto& node : nodes_) ids.push_back(node.id);
    policy_ = PagePolicy{PagePolicy::Mode::Interleave, ids};  // before Linux 6.9
    error = system_->bind(begin, size, policy_);
  }
  placed_ = {begin, size};
  if (error) throw TierError{error, "mbind for tier " + tier_ + allowed_only(error)};
  error = system_->try_in_thread(policy_);
  if (error)
    throw TierError{error, "set_mempolicy, which windows need, for tier " + tier_ + allowed_only(error)};
}

/// If the system has come to refuse `mbind`, the node is only preferred.
int NumaNodes::fault_in(std::byte* begin, std::size_t size) const noexcept {
  bool alone = policy_.mode() == PagePolicy::Mode::Prefer;
  if (alone) {
    const auto error = system_->bind(placed_.data(), placed_.size(),
                                     {PagePolicy::Mode::Bind, std::span{&nodes_.front().id, 1}});
    if (error && !detail::is_refusal(error.value())) return error.value();
    alone = !error;
  }
  const int failed = populate_in_parallel(begin, size);
  const auto error = alone ? system_->bind(placed_.data(), placed_.size(), policy_) : std::error_code{};
  return failed != 0 ? failed : error.value();
}

/// Reads the weights of the nodes, from Linux 6.9 on; before that all are 1.
void NumaNodes::read_weights() {
  for (auto& node : nodes_) {
    const auto path =
        system_->paths().sysfs + "/kernel/mm/mempolicy/weighted_interleave/node" + std::to_string(node.id);
    const auto weight = to_number(read_line(path)).value_or(1);
    node.weight = static_cast<unsigned>(std::max<std::size_t>(weight, 1));
  }
}

std::size_t NumaNodes::share(const Node& node, std::size_t size) const {
  return size / weights_ * node.weight + size % weights_;
}

/// Returns memory that is free or page cache that the kernel would give up, less what it keeps for itself.
Bytes NumaNodes::available(unsigned node) const {
  const auto path = system_->node_path(node) + "/meminfo";
  const auto reclaimable =
      read_kib(path, "Active(file):") + read_kib(path, "Inactive(file):") + read_kib(path, "SReclaimable:");
  const auto all = read_kib(path, "MemFree:") + reclaimable;
  const auto kept =
      std::max(read_kib(path, "MemTotal:") / kept_share, read_watermarks(system_->paths().zoneinfo, node));
  return all > kept ? all - kept : 0_B;
}

std::string NumaNodes::lacking(std::size_t size, PageKind pages) const {
  for (const auto& node : nodes_) {
    const auto needed = share(node, size);
    const auto name = "node " + std::to_string(node.id);
    if (pages != PageKind::Hugetlb) {
      const auto free = available(node.id);
      if (needed > free.count)
        return name + " has " + to_human(free) + " free, but " + to_human(Bytes{needed}) + " are needed";
      continue;
    }
    const auto page = std::max<std::size_t>(huge_page_pool().page.count, 1);
    const auto count = (needed + page - 1) / page;
    const auto file =
        system_->node_path(node.id) + "/hugepages/hugepages-" + std::to_string(page >> 10) + "kB/";
    const auto free = to_number(read_line(file + "free_hugepages")).value_or(0);
    if (count > free)
      return (name + " has ")
          .append(std::to_string(free) + " free huge pages, but " + std::to_string(count) + " are needed")
          .append(": reserve them in ")
          .append(file + "nr_hugepages");
  }
  return {};
}

std::string NumaNodes::lacking_together(std::size_t size) const {
  Bytes free;
  std::string names;
  for (const auto& node : nodes_) {
    free += available(node.id);
    names.append(names.empty() ? "" : ",").append(std::to_string(node.id));
  }
  if (size <= free.count) return {};
  return (nodes_.size() == 1 ? "node " : "nodes ") + names + (nodes_.size() == 1 ? " has " : " have ") +
         to_human(free) + " free, but " + to_human(Bytes{size}) + " are needed";
}

std::string NumaNodes::room() const {
  std::string text;
  for (const auto& node : nodes_)
    text.append(text.empty() ? "node " : ", node ")
        .append(std::to_string(node.id) + " has " + to_human(available(node.id)) + " free");
  return text;
}

NumaNodes::Places NumaNodes::find(std::byte* begin, std::size_t size) const {
  const auto counts = count_pages(*system_, begin, size);
  Places places;
  places.error = counts.error;
  for (const auto& [node, count] : counts.on) {
    places.asked += count;
    if (std::ranges::find(nodes_, node, &Node::id) != nodes_.end()) continue;
    places.astray += count;
    places.where.append(places.where.empty() ? "node " : ", node ")
        .append(std::to_string(node) + ": " + std::to_string(count));
  }
  return places;
}

std::string NumaNodes::description() const {
  if (nodes_.size() == 1) return "node " + std::to_string(nodes_.front().id);
  std::string ids, turns;
  bool weighted = false;
  for (const auto& node : nodes_) {
    ids.append(ids.empty() ? "" : ",").append(std::to_string(node.id));
    turns.append(turns.empty() ? "" : ":").append(std::to_string(node.weight));
    weighted = weighted || node.weight != nodes_.front().weight;
  }
  return "nodes " + ids + " in turns" + (weighted ? " of " + turns : "");
}

}  // namespace tier
