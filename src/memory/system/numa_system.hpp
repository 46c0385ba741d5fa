// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The system's calls for NUMA nodes, which a test can replace.
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "memory/system/numa_discovery.hpp"
#include "memory/system/page_policy.hpp"

namespace tier {

/// Finds NUMA nodes, and places memory on them.   \threadsafety  Immutable.
class NumaSystem {
 public:
  /// True if this library was built with libnuma. Without it every call fails with `ENOSYS`.
  [[nodiscard]] static bool is_built_in() noexcept;

  /// \param measured  nodes whose `measured` is used where firmware declares nothing
  explicit NumaSystem(SystemPaths paths = {}, std::vector<NumaNode> measured = {})
      : paths_{std::move(paths)}, measured_{std::move(measured)} {}
  virtual ~NumaSystem() = default;
  NumaSystem(const NumaSystem&) = delete;
  NumaSystem& operator=(const NumaSystem&) = delete;

  [[nodiscard]] const SystemPaths& paths() const noexcept { return paths_; }
  [[nodiscard]] std::string node_path(unsigned node) const {
    return paths_.sysfs + "/devices/system/node/node" + std::to_string(node);
  }

  /// Returns the nodes of `find_nodes()`, with their measured speeds.
  [[nodiscard]] std::vector<NumaNode> nodes() const;

  /// Returns an error if threads have no memory policies here.
  [[nodiscard]] virtual std::error_code supported() const noexcept;
  /// Returns an error if a thread may not have the policy for a while.
  [[nodiscard]] virtual std::error_code try_in_thread(const PagePolicy& policy) const noexcept;
  /// Lets pages of the range come from the policy's nodes from now on.
  [[nodiscard]] virtual std::error_code bind(std::byte* begin, std::size_t size,
                                             const PagePolicy& policy) const noexcept;
  /// Calls `tier::bound_to()`.
  [[nodiscard]] virtual std::optional<std::vector<unsigned>> bound_to(const void* address) const {
    return tier::bound_to(address);
  }
  /// Finds the nodes of pages.
  /// \param[out] nodes  the node of each page, or a negative error: -ENOENT if the page is not present yet
  [[nodiscard]] virtual std::error_code locate(std::span<void*> pages, std::span<int> nodes) const noexcept;

 private:
  SystemPaths paths_;
  std::vector<NumaNode> measured_;
};

}  // namespace tier
