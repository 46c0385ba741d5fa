// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Where pages are, as the kernel says; without libnuma, so that it is no witness in its own cause.
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <tier/core/bytes.hpp>

#include <cerrno>
#include <cstddef>
#include <map>
#include <span>
#include <system_error>
#include <vector>

namespace tier::test {

/// Pages of their own, not faulted in.
class Pages {
 public:
  /// \param flags  of mmap, beside those of private anonymous memory: `MAP_HUGETLB`
  explicit Pages(Bytes size, int flags = 0) : size_{size} {
    void* p = ::mmap(nullptr, size.count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    if (p == MAP_FAILED) throw std::system_error{errno, std::generic_category(), "mmap"};
    begin_ = static_cast<std::byte*>(p);
  }
  ~Pages() { ::munmap(begin_, size_.count); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const { return {begin_, size_.count}; }

 private:
  Bytes size_;
  std::byte* begin_;
};

inline std::vector<void*> page_addresses(std::span<std::byte> bytes) {
  std::vector<void*> pages;
  const auto step = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  for (std::size_t at = 0; at < bytes.size(); at += step) pages.push_back(bytes.data() + at);
  return pages;
}

/// {node: pages there}, by move_pages(2) without nodes. A page that is not there counts as node -ENOENT.
inline std::map<int, std::size_t> pages_by_node(std::span<std::byte> bytes) {
  auto pages = page_addresses(bytes);
  std::vector<int> status(pages.size());
  if (::syscall(SYS_move_pages, 0, pages.size(), pages.data(), nullptr, status.data(), 0) != 0)
    throw std::system_error{errno, std::generic_category(), "move_pages"};
  std::map<int, std::size_t> found;
  for (const int node : status) ++found[node];
  return found;
}

/// The node of the page at an address, by get_mempolicy(2).
inline int node_at(void* address) {
  int node = -1;
  if (::syscall(SYS_get_mempolicy, &node, nullptr, 0, address, MPOL_F_NODE | MPOL_F_ADDR) != 0)
    throw std::system_error{errno, std::generic_category(), "get_mempolicy"};
  return node;
}

/// Pages that come from now on come from this node alone.
inline void bind(std::span<std::byte> bytes, unsigned node) {
  const unsigned long mask = 1UL << node;
  if (::syscall(SYS_mbind, bytes.data(), bytes.size(), MPOL_BIND, &mask, sizeof mask * 8 + 1, 0) != 0)
    throw std::system_error{errno, std::generic_category(), "mbind"};
}

/// Asks for each page to go to a node. A page that has already gone with its huge page is busy and is asked for again.
/// \return  how many are elsewhere in the end
inline std::size_t move_to(std::span<std::byte> bytes, int node) {
  for (int attempt = 0; attempt < 20; ++attempt) {
    auto pages = page_addresses(bytes);
    const std::vector<int> nodes(pages.size(), node);
    std::vector<int> status(pages.size());
    if (::syscall(SYS_move_pages, 0, pages.size(), pages.data(), nodes.data(), status.data(), MPOL_MF_MOVE) <
        0)
      throw std::system_error{errno, std::generic_category(), "move_pages"};
    if (pages_by_node(bytes)[node] == pages.size()) return 0;
  }
  return page_addresses(bytes).size() - pages_by_node(bytes)[node];
}

}  // namespace tier::test
