// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/node_pages.hpp"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <tier/core/error.hpp>
#include <tier/memory/discovery.hpp>

#include <algorithm>
#include <array>
#include <string>

#include "memory/system/mapping.hpp"
#include "memory/system/pages.hpp"
#include "memory/system/resident_pages.hpp"

namespace tier::bench {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr int attempts = 3;
constexpr unsigned most_nodes = 1024;
using Mask = std::array<unsigned long, most_nodes / (8 * sizeof(unsigned long))>;
constexpr unsigned long mask_bits = most_nodes + 1;  // the kernel uses one bit less

Mask mask_of(unsigned node) {
  constexpr auto bits = 8 * sizeof(unsigned long);
  Mask mask{};
  mask.at(node / bits) |= 1UL << (node % bits);
  return mask;
}

std::string to_node(const char* call, unsigned node) {
  return std::string{call} + " to node " + std::to_string(node);
}

void set_policy(std::span<std::byte> bytes, unsigned node, unsigned flags) {
  const auto mask = mask_of(node);
  if (::syscall(SYS_mbind, bytes.data(), bytes.size(), MPOL_BIND, mask.data(), mask_bits, flags) != 0)
    throw TierError{last_system_error(), to_node("mbind(2)", node)};
}

}  // namespace

std::vector<unsigned> memory_nodes() {
  std::vector<unsigned> nodes;
  for (const auto& node : discover().nodes)
    if (node.allowed) nodes.push_back(node.id);
  return nodes;
}

NodePages::NodePages(Bytes size, PageKind pages, unsigned node)
    : memory_{std::make_unique<Mapping>(size.count, -1, "of a node", pages)} {
  set_policy(bytes(), node, 0);
  if (const int error = populate(memory_->data(), memory_->size()); error != 0)
    throw TierError{{error, std::generic_category()},
                    "faulting in " + to_human(size) + " of node " + std::to_string(node)};
  if (::syscall(SYS_mbind, memory_->data(), memory_->size(), MPOL_DEFAULT, nullptr, 0, 0) != 0)
    throw TierError{last_system_error(), "mbind(2)"};
  name_pages(huge().count >= memory_->size() ? huge_page : page_size());
}

NodePages::~NodePages() = default;

std::span<std::byte> NodePages::bytes() const noexcept { return {memory_->data(), memory_->size()}; }

Bytes NodePages::huge() const { return residence(memory_->data(), memory_->size()).huge; }

void NodePages::name_pages(std::size_t step) {
  pages_.clear();
  for (std::size_t at = 0; at < memory_->size(); at += step) pages_.push_back(memory_->data() + at);
}

void NodePages::name_small_pages() { name_pages(page_size()); }

void NodePages::move_pages(unsigned node) {
  const auto wanted = static_cast<int>(node);
  const std::vector<int> nodes(pages_.size(), wanted);
  std::vector<int> status(pages_.size());
  const auto elsewhere = [wanted](int of_page) { return of_page != wanted; };
  for (int i = 0; i < attempts; ++i) {
    if (::syscall(SYS_move_pages, 0, pages_.size(), pages_.data(), nodes.data(), status.data(),
                  MPOL_MF_MOVE) < 0)
      throw TierError{last_system_error(), to_node("move_pages(2)", node)};
    if (std::ranges::none_of(status, elsewhere)) return;
  }
  throw TierError{std::make_error_code(std::errc::device_or_resource_busy),
                  "move_pages(2): " + std::to_string(std::ranges::count_if(status, elsewhere)) + " of " +
                      std::to_string(pages_.size()) + " pages did not move to node " + std::to_string(node)};
}

void NodePages::mbind(unsigned node) { set_policy(bytes(), node, MPOL_MF_MOVE); }

void migrate_pages(unsigned from, unsigned to) {
  const auto source = mask_of(from), target = mask_of(to);
  if (::syscall(SYS_migrate_pages, 0, mask_bits, source.data(), target.data()) < 0)
    throw TierError{last_system_error(), to_node("migrate_pages(2)", to)};
}

std::size_t pages_elsewhere(std::span<const std::byte> bytes, unsigned node) {
  std::vector<const void*> pages;
  for (std::size_t at = 0; at < bytes.size(); at += page_size()) pages.push_back(bytes.data() + at);
  std::vector<int> status(pages.size());
  if (::syscall(SYS_move_pages, 0, pages.size(), pages.data(), nullptr, status.data(), 0) < 0)
    throw TierError{last_system_error(), "move_pages(2)"};
  const auto wanted = static_cast<int>(node);
  return static_cast<std::size_t>(
      std::ranges::count_if(status, [wanted](int of_page) { return of_page != wanted; }));
}

}  // namespace tier::bench
