// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The kinds of tiers: described by a value, made by a factory.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>
#include <tier/memory/io_faults.hpp>
#include <tier/memory/tier.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tier {

struct Machine;

enum class TierKind : std::uint8_t { Dram, File, Mapped, Emulated, Simulated, Numa, Pmem, Memkind, Role };

/// How a file tier does its I/O.
enum class IoEngine : std::uint8_t {
  Automatic,  ///< io_uring where the system allows it, else threads
  Uring,
  Threads
};

/// The pages of memory. Full windows take pages of the first and the last kind from their tier; reserved ones stay there.
enum class PageKind : std::uint8_t {
  Huge,     ///< transparent huge pages, where the system gives them
  Hugetlb,  ///< huge pages that the administrator has reserved (`vm.nr_hugepages`), of the system's default size
  Small
};

/// What a tier is to be; nothing exists until `make_tier`. `tier/memory/spec.hpp` reads and writes it as text.
struct TierSpec {
  TierKind kind = TierKind::Dram;
  std::string
      model;  ///< of an emulated or simulated device: one of `model_names()`; of `memkind` its kind; or a role
  /// The place of a file: an existing folder, in which an unnamed file is made, or with `new_file` a file that does not exist, in an
  /// existing folder. Of `pmem` also a DAX device.
  std::string path;
  Bytes size;
  bool new_file = false;            ///< `path` is no folder but a file to be made
  std::string nodes{};              ///< of memory on NUMA nodes: `1`, `0-1`, `0,2`
  PageKind pages = PageKind::Huge;  ///< of memory
  bool prefault = true;  ///< memory is faulted in at once, or else in extents as regions are reserved
  IoEngine engine = IoEngine::Automatic;
  std::shared_ptr<IoFaults> faults;  ///< of a test; null otherwise

  friend bool operator==(const TierSpec&, const TierSpec&) = default;
};

namespace tiers {
/// A file that a tier makes, and whose name it removes at once: `tiers::file(tiers::NewFile{"/mnt/nvme/scratch"}, 8_GiB)`.
/// The folder exists, the file does not. A path alone is a folder, so that a disk that is not mounted is an error.
struct NewFile {
  std::string path;
};

/// Anonymous memory on huge pages.
[[nodiscard]] TIER_EXPORT TierSpec dram(Bytes size);
/// The same on NUMA nodes, as CXL expanders and HBM are: from one node, or interleaved over several. Needs a library
/// that was built with `TIER_WITH_NUMA`.
/// \param nodes  numbers and ranges: `1`, `0-1`, `0,2`
[[nodiscard]] TIER_EXPORT TierSpec numa(std::string nodes, Bytes size);
/// Persistent memory as scratch space: a file on a DAX file system, in a folder or by name, or a DAX device. Elsewhere it is a mapped file, as its
/// description says. Installs a handler of SIGBUS in the process, once, for bad blocks that copies meet (docs/errors.md). Needs
/// a library that was built with `TIER_WITH_PMEM`.
[[nodiscard]] TIER_EXPORT TierSpec pmem(std::string path, Bytes size);
[[nodiscard]] TIER_EXPORT TierSpec pmem(NewFile path, Bytes size);
/// Memory that the library memkind finds. Needs a library that was built with `TIER_WITH_MEMKIND`.
/// \param kind  as memkind names it: `HBW`, `HBW_PREFERRED`, `DAX_KMEM`, `HIGHEST_CAPACITY`; docs/specs.md has all of them.
///              Or an existing folder, in which it makes a file
[[nodiscard]] TIER_EXPORT TierSpec memkind(std::string kind, Bytes size);
/// Memory of this machine by what it is, looked for when the tier is made.
/// \param role  `fastest`, `largest`, `hbm` or `cxl`
[[nodiscard]] TIER_EXPORT TierSpec role(std::string role, Bytes size);
/// A scratch file, read and written past the page cache; the CPU cannot address it.
/// \param folder  that exists: one that is not there is an error of `make_tier`, as all of this page
[[nodiscard]] TIER_EXPORT TierSpec file(std::string folder, Bytes size);
[[nodiscard]] TIER_EXPORT TierSpec file(NewFile path, Bytes size);
/// A scratch file mapped into memory; its space is reserved with its regions, so that no store finds the disk full.
[[nodiscard]] TIER_EXPORT TierSpec mapped(std::string folder, Bytes size);
[[nodiscard]] TIER_EXPORT TierSpec mapped(NewFile path, Bytes size);
/// DRAM that takes as long as the named device: `optane`, `cxl`, `nvme`, `redl`.
[[nodiscard]] TIER_EXPORT TierSpec emulated(std::string model, Bytes size);
/// Addresses without memory behind them, of any size.
[[nodiscard]] TIER_EXPORT TierSpec simulated(std::string model, Bytes size);
}  // namespace tiers

/// What a runtime on this machine could be made of: each kind of memory that the process is allowed, but for the share of
/// the system and of other programs, within what its control groups have left of their limits; and half of what is free on
/// the disk of `/var/tmp`, if that is one. Sizes are multiples of 1 MiB.
[[nodiscard]] TIER_EXPORT std::vector<TierSpec> suggest_tiers(const Machine& machine);

/// \throws  `ConfigError` for an unknown model, a size of zero, nodes that are no list, or a kind that this library was
///          built without; `TierError` naming the system call that failed, the tier and its path or node.
/// \threadsafety  May be called by any thread, as all of this page.
[[nodiscard]] TIER_EXPORT std::unique_ptr<Tier> make_tier(const TierSpec& spec);
/// The same on a machine that is known already, and perhaps measured: `NumaNode::measured` counts where firmware declares
/// nothing of a node.
[[nodiscard]] TIER_EXPORT std::unique_ptr<Tier> make_tier(const TierSpec& spec, const Machine& machine);

/// Like that of `tiers::simulated`, of any model.
/// \throws  `ConfigError` for a size of zero
[[nodiscard]] TIER_EXPORT std::unique_ptr<Tier> make_simulated_tier(std::string name, const TierModel& model,
                                                                    Bytes size);

/// The devices that can be emulated and simulated.
[[nodiscard]] TIER_EXPORT std::vector<std::string_view> model_names();
[[nodiscard]] TIER_EXPORT std::optional<TierModel> find_model(std::string_view name);
/// Where a model's numbers are from; empty if there is none of that name.
[[nodiscard]] TIER_EXPORT std::string_view model_source(std::string_view name);

}  // namespace tier
