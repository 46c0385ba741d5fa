// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/memory/numa_node.hpp>

namespace tier {

std::string_view to_string(SpeedSource source) noexcept {
  return source == SpeedSource::Declared   ? "declared"
         : source == SpeedSource::Measured ? "measured"
                                           : "assumed";
}

std::string_view to_string(NodeKind kind) noexcept {
  switch (kind) {
    case NodeKind::Dram:
      return "dram";
    case NodeKind::Hbm:
      return "hbm";
    case NodeKind::Cxl:
      return "cxl";
    case NodeKind::Persistent:
      break;
  }
  return "pmem";
}

}  // namespace tier
