// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Where the kernel says that pages are; without libnuma, which is itself under test.
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <tier/core/bytes.hpp>

#include <cerrno>
#include <cstddef>
#include <map>
#include <ostream>
#include <span>
#include <system_error>
#include <vector>

namespace tier::test {

/// Owns anonymous pages that are not yet faulted in.
class Pages {
 public:
  /// \param flags  further flags of mmap, such as `MAP_HUGETLB`
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

inline std::vector<void*> page_addresses(std::span<const std::byte> bytes) {
  std::vector<void*> pages;
  const auto step = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  for (std::size_t at = 0; at < bytes.size(); at += step)
    pages.push_back(const_cast<std::byte*>(bytes.data() + at));
  return pages;
}

/// Counts pages by the node that they are on.
struct PagePlacement {
  /// By node, or by the negated error if the kernel does not tell the node.
  std::map<int, std::size_t> pages;

  friend bool operator==(const PagePlacement&, const PagePlacement&) = default;
  friend std::ostream& operator<<(std::ostream& out, const PagePlacement& placement) {
    for (const auto& [node, count] : placement.pages) out << count << " pages on node " << node << "; ";
    return out;
  }
};

inline PagePlacement all_on(unsigned node, std::span<const std::byte> bytes) {
  return {{{static_cast<int>(node), page_addresses(bytes).size()}}};
}

/// Asks the kernel where pages are, by move_pages(2) without target nodes.
inline PagePlacement placement_of(std::span<const std::byte> bytes) {
  auto pages = page_addresses(bytes);
  std::vector<int> status(pages.size());
  if (::syscall(SYS_move_pages, 0, pages.size(), pages.data(), nullptr, status.data(), 0) != 0)
    throw std::system_error{errno, std::generic_category(), "move_pages"};
  PagePlacement found;
  for (const int node : status) ++found.pages[node];
  return found;
}

/// Returns the node of the page at an address, by get_mempolicy(2).
inline int node_at(void* address) {
  int node = -1;
  if (::syscall(SYS_get_mempolicy, &node, nullptr, 0, address, MPOL_F_NODE | MPOL_F_ADDR) != 0)
    throw std::system_error{errno, std::generic_category(), "get_mempolicy"};
  return node;
}

/// Makes pages that are faulted in from now on come from this node alone.
inline void bind(std::span<std::byte> bytes, unsigned node) {
  const unsigned long mask = 1UL << node;
  if (::syscall(SYS_mbind, bytes.data(), bytes.size(), MPOL_BIND, &mask, sizeof mask * 8 + 1, 0) != 0)
    throw std::system_error{errno, std::generic_category(), "mbind"};
}

/// Moves each page to a node. A page that has already moved with its huge page is reported busy, so it is asked for again.
/// \return  the pages that are elsewhere in the end, by the result of move_pages(2); none if all have moved
inline PagePlacement move_to(std::span<std::byte> bytes, unsigned node) {
  auto pages = page_addresses(bytes);
  const std::vector<int> nodes(pages.size(), static_cast<int>(node));
  PagePlacement refused;
  for (int attempt = 0; attempt < 20; ++attempt) {
    std::vector<int> status(pages.size());
    if (::syscall(SYS_move_pages, 0, pages.size(), pages.data(), nodes.data(), status.data(), MPOL_MF_MOVE) <
        0)
      throw std::system_error{errno, std::generic_category(), "move_pages"};
    if (placement_of(bytes) == all_on(node, bytes)) return {};
    refused.pages.clear();
    for (const int error : status) ++refused.pages[error];
  }
  return refused;
}

}  // namespace tier::test
