// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What the system says of NUMA nodes, and does with memory on them; a test puts another in its place.
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "memory/numa_discovery.hpp"
#include "memory/page_policy.hpp"

namespace tier {

/// \threadsafety  Immutable.
class NumaSystem {
 public:
  /// Whether this library was built with libnuma. Without it every call fails with `ENOSYS`.
  [[nodiscard]] static bool is_built_in() noexcept;

  /// \param measured  nodes whose `measured` counts where firmware declares nothing
  explicit NumaSystem(SystemPaths paths = {}, std::vector<NumaNode> measured = {})
      : paths_{std::move(paths)}, measured_{std::move(measured)} {}
  virtual ~NumaSystem() = default;
  NumaSystem(const NumaSystem&) = delete;
  NumaSystem& operator=(const NumaSystem&) = delete;

  [[nodiscard]] const SystemPaths& paths() const noexcept { return paths_; }
  [[nodiscard]] std::string node_path(unsigned node) const {
    return paths_.sysfs + "/devices/system/node/node" + std::to_string(node);
  }

  /// As `find_nodes()`, with what was measured.
  [[nodiscard]] std::vector<NumaNode> nodes() const;

  /// Whether threads have memory policies here.
  [[nodiscard]] virtual std::error_code supported() const noexcept;
  /// Whether a thread may have the policy for a while.
  [[nodiscard]] virtual std::error_code try_in_thread(const PagePolicy& policy) const noexcept;
  /// Pages of the range come from the policy's nodes from now on.
  [[nodiscard]] virtual std::error_code bind(std::byte* begin, std::size_t size,
                                             const PagePolicy& policy) const noexcept;
  /// As `tier::bound_to()`.
  [[nodiscard]] virtual std::optional<std::vector<unsigned>> bound_to(const void* address) const {
    return tier::bound_to(address);
  }
  /// \param[out] nodes  that of each page, or a negative error where it has none: -ENOENT of one not there yet
  [[nodiscard]] virtual std::error_code locate(std::span<void*> pages, std::span<int> nodes) const noexcept;

 private:
  SystemPaths paths_;
  std::vector<NumaNode> measured_;
};

}  // namespace tier
