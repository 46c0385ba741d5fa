// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "harness/node_pages.hpp"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <tier/core/error.hpp>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>

namespace tier::bench {

std::vector<int> memory_nodes() {
  std::ifstream file{"/sys/devices/system/node/has_memory"};  // 0-1,3
  std::vector<int> nodes;
  int first = 0, last = 0;
  char separator = 0;
  while (file >> first) {
    last = first;
    if (file.get(separator) && separator == '-') file >> last >> std::ws, file.get(separator);
    for (; first <= last; ++first) nodes.push_back(first);
  }
  return nodes;
}

NodePages::NodePages(Bytes size) : memory_(size.count, std::byte{1}) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(memory_.data());
  for (std::size_t at = 0; at < size.count; at += page - (begin + at) % page)
    pages_.push_back(memory_.data() + at);
}

void NodePages::move_to(int node) {
  const std::vector<int> nodes(pages_.size(), node);
  std::vector<int> status(pages_.size());
  const auto elsewhere = [node](int of_page) { return of_page != node; };
  constexpr int attempts = 3;
  for (int i = 0; i < attempts; ++i) {
    if (::syscall(SYS_move_pages, 0, pages_.size(), pages_.data(), nodes.data(), status.data(),
                  MPOL_MF_MOVE) < 0)
      throw TierError{last_system_error(), "move_pages(2) to node " + std::to_string(node)};
    if (std::ranges::none_of(status, elsewhere)) return;
  }
  throw TierError{std::make_error_code(std::errc::device_or_resource_busy),
                  "move_pages(2): " + std::to_string(std::ranges::count_if(status, elsewhere)) + " of " +
                      std::to_string(pages_.size()) + " pages did not move to node " + std::to_string(node)};
}

}  // namespace tier::bench
