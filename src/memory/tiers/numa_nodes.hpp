// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The nodes that a tier's memory lies on.
#include <tier/core/bytes.hpp>
#include <tier/memory/numa_node.hpp>
#include <tier/memory/page_kind.hpp>
#include <tier/memory/tier_model.hpp>

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memory/system/numa_system.hpp"

namespace tier {

/// Counts of resident pages by node.
struct PageCounts {
  std::map<unsigned, std::size_t> on;
  std::error_code error{};  ///< set if the system does not say
};
/// Asks the system where pages are: all pages, or at most 65,536 of them at even distances.
[[nodiscard]] PageCounts count_pages(const NumaSystem& system, std::byte* begin, std::size_t size);

/// Places memory on nodes, and finds out where it is.
/// \threadsafety  Immutable after `place`.
class NumaNodes {
 public:
  /// \param tier  name for errors
  /// \throws      `ConfigError` if `list` is malformed; `TierError` naming the tier and the node if the system has no
  ///              NUMA, or a node does not exist, has no memory, or is not allowed to this process
  NumaNodes(std::string_view list, std::string tier, std::shared_ptr<const NumaSystem> system);

  /// Returns the model of the nodes together, with combined bandwidth and average latency: as firmware declares them
  /// (HMAT), else as measured, else typical of their kind.
  [[nodiscard]] TierModel model() const;
  /// Returns the policy for pages of a tier in use: if a node is full, they come from elsewhere rather than not at all.
  [[nodiscard]] const PagePolicy& policy() const noexcept { return policy_; }

  /// Applies this policy to memory of the range from now on: in turns if there are several nodes.
  /// \throws  `TierError` naming the call that was refused
  void place(std::byte* begin, std::size_t size);
  /// Faults in a part of it. A single node is bound meanwhile, so that its page cache gives way. The whole range has that
  /// policy meanwhile, because parts with own policies would become separate mappings, before Linux 6.15 for good.
  /// \pre     nothing is `lacking`: the system would end a program; no other thread calls it for this range
  /// \return  0, or errno
  int fault_in(std::byte* begin, std::size_t size) const noexcept;

  /// Says what the nodes lack for `size` more bytes; empty if nothing. The system would end a program that asks a node for
  /// more than it has.
  [[nodiscard]] std::string lacking(std::size_t size, PageKind pages) const;
  /// Like `lacking`, for memory that comes from any of the nodes rather than in turns.
  [[nodiscard]] std::string lacking_together(std::size_t size) const;
  /// Says how much is free on the nodes.
  [[nodiscard]] std::string room() const;

  /// Places of the sampled pages of a range.
  struct Places {
    std::size_t asked = 0;    ///< resident pages in the sample
    std::size_t astray = 0;   ///< of these, pages on other nodes
    std::string where{};      ///< the other nodes: `node 0: 3`
    std::error_code error{};  ///< set if the system does not say
  };
  /// Finds where the pages of a range are, by `count_pages()`.
  [[nodiscard]] Places find(std::byte* begin, std::size_t size) const;

  /// Returns `node 1`, `nodes 0,2 in turns`, or `nodes 0,2 in turns of 3:1`.
  [[nodiscard]] std::string description() const;

 private:
  struct Node {
    unsigned id;
    unsigned weight;  // pages in a turn
    TierModel model;
  };
  [[nodiscard]] std::size_t share(const Node& node, std::size_t size) const;
  [[nodiscard]] Bytes available(unsigned node) const;
  const NumaNode& check(unsigned node, const std::vector<NumaNode>& known) const;
  void read_weights();

  std::string tier_;
  std::shared_ptr<const NumaSystem> system_;
  std::vector<Node> nodes_;
  std::size_t weights_ = 0;  // sum of all weights
  PagePolicy policy_;
  std::span<std::byte> placed_;
};

}  // namespace tier
