// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Values that describe tiers, and functions that make these values.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>
#include <tier/memory/io_engine.hpp>
#include <tier/memory/page_kind.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace tier {

class IoFaults;

enum class TierKind : std::uint8_t { Dram, File, Mapped, Emulated, Simulated, Numa, Pmem, Memkind, Role };

/// Describes a tier for `RuntimeOptions::tiers` and `make_tier`; nothing exists before. The functions in `tier::tiers`
/// return one for each kind. `parse_tiers` and `to_string` read and write it as text.
/// \code{.cpp}
/// #include <tier/memory/tier_text.hpp>
/// std::vector<tier::TierSpec> specs{tier::tiers::dram(1_GiB), tier::tiers::file("/mnt/nvme", 64_GiB)};
/// assert(specs == tier::parse_tiers("dram:1GiB;file:/mnt/nvme:64GiB"));
/// specs[0].pages = tier::PageKind::Small;
/// specs[1].engine = tier::IoEngine::Threads;
/// \endcode
struct TierSpec {
  TierKind kind = TierKind::Dram;
  /// An emulated or simulated device, one of `model_names()`; for `memkind` its kind; or a role.
  std::string model;
  /// The place of a file: an existing folder, in which an unnamed file is made, or with `new_file` a file that does not
  /// exist, in an existing folder. For `pmem` also a DAX device.
  std::string path;
  Bytes size;
  bool new_file = false;            ///< `path` is not a folder but a file to be made
  std::string nodes{};              ///< NUMA nodes of the memory: `1`, `0-1`, `0,2`
  PageKind pages = PageKind::Huge;  ///< for tiers of memory
  bool prefault = true;  ///< memory is faulted in at once; otherwise in extents as regions are reserved
  IoEngine engine = IoEngine::Automatic;
  std::shared_ptr<IoFaults> faults;  ///< set by a test; null otherwise

  friend bool operator==(const TierSpec&, const TierSpec&) = default;
};

namespace tiers {
/// Names a file that a tier makes and unlinks at once: `tiers::file(tiers::NewFile{"/mnt/nvme/scratch"}, 8_GiB)`. The
/// folder must exist, the file must not. A path alone is a folder, so that a disk that is not mounted is an error.
struct NewFile {
  std::string path;
};

/// Anonymous memory on huge pages.
[[nodiscard]] TIER_EXPORT TierSpec dram(Bytes size);
/// Anonymous memory on NUMA nodes, such as CXL expanders and HBM: on one node, or interleaved over several. Needs a library
/// built with `TIER_WITH_NUMA`.
/// \param nodes  numbers and ranges: `1`, `0-1`, `0,2`
[[nodiscard]] TIER_EXPORT TierSpec numa(std::string nodes, Bytes size);
/// Persistent memory as scratch space: a file on a DAX file system, in a folder or by name, or a DAX device. On another
/// file system the tier is a mapped file, as its description says. Installs a handler of SIGBUS in the process, once, for
/// bad blocks that copies meet (docs/errors.md). Needs a library built with `TIER_WITH_PMEM`.
[[nodiscard]] TIER_EXPORT TierSpec pmem(std::string path, Bytes size);
[[nodiscard]] TIER_EXPORT TierSpec pmem(NewFile path, Bytes size);
/// Memory that the library memkind finds. Needs a library built with `TIER_WITH_MEMKIND`.
/// \param kind  memkind's name: `HBW`, `HBW_PREFERRED`, `DAX_KMEM`, `HIGHEST_CAPACITY` (docs/specs.md lists all); or an
///              existing folder, in which memkind makes a file
[[nodiscard]] TIER_EXPORT TierSpec memkind(std::string kind, Bytes size);
/// Memory of this machine by its role, looked up when the tier is made.
/// \param role  `fastest`, `largest`, `hbm` or `cxl`
[[nodiscard]] TIER_EXPORT TierSpec role(std::string role, Bytes size);
/// A scratch file, read and written past the page cache; the CPU cannot address it.
/// \param folder  must exist; `make_tier` reports an error if it does not, as for all functions here
[[nodiscard]] TIER_EXPORT TierSpec file(std::string folder, Bytes size);
[[nodiscard]] TIER_EXPORT TierSpec file(NewFile path, Bytes size);
/// A scratch file mapped into memory; its space is reserved with its regions, so that no store finds the disk full.
[[nodiscard]] TIER_EXPORT TierSpec mapped(std::string folder, Bytes size);
[[nodiscard]] TIER_EXPORT TierSpec mapped(NewFile path, Bytes size);
/// DRAM that is as slow as the named device: `optane`, `cxl`, `nvme`, `redl`.
[[nodiscard]] TIER_EXPORT TierSpec emulated(std::string model, Bytes size);
/// Addresses without memory behind them, of any size.
[[nodiscard]] TIER_EXPORT TierSpec simulated(std::string model, Bytes size);
}  // namespace tiers

}  // namespace tier
