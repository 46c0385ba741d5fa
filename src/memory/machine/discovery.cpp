// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <tier/core/error.hpp>
#include <tier/memory/discovery.hpp>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <new>
#include <string>
#include <tuple>
#include <utility>

#include "core/cpus.hpp"
#include "memory/io/scratch_file.hpp"
#include "memory/io/uring_backend.hpp"
#include "memory/system/memory_limit.hpp"
#include "memory/system/numa_discovery.hpp"
#include "memory/system/system_files.hpp"
#include "memory/tiers/numa_tier.hpp"
#include "memory/windows/window_space.hpp"

namespace tier {
namespace {

/// Returns the choice in brackets in a line such as `always [madvise] never`.
std::string chosen(const std::string& line) {
  const auto begin = line.find('['), end = line.find(']');
  return begin == std::string::npos || end == std::string::npos ? line
                                                                : line.substr(begin + 1, end - begin - 1);
}

std::optional<std::size_t> resource_limit(int which) {
  ::rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource_t>(which), &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return std::nullopt;
  return limit.rlim_cur;
}

std::optional<Bytes> size_limit(int which) {
  const auto limit = resource_limit(which);
  return limit ? std::optional{Bytes{*limit}} : std::nullopt;
}

/// Returns capabilities to lock memory, to raise limits, to place pages on nodes, and for full windows.
std::vector<std::string> find_capabilities() {
  static constexpr std::pair<unsigned, const char*> known[] = {{CAP_IPC_LOCK, "CAP_IPC_LOCK"},
                                                               {CAP_SYS_PTRACE, "CAP_SYS_PTRACE"},
                                                               {CAP_SYS_ADMIN, "CAP_SYS_ADMIN"},
                                                               {CAP_SYS_NICE, "CAP_SYS_NICE"},
                                                               {CAP_SYS_RESOURCE, "CAP_SYS_RESOURCE"}};
  ::__user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  ::__user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3]{};
  std::vector<std::string> found;
  if (::syscall(SYS_capget, &header, data) != 0) return found;
  for (const auto& [number, name] : known)
    if ((data[CAP_TO_INDEX(number)].effective & CAP_TO_MASK(number)) != 0) found.emplace_back(name);
  return found;
}

void find_huge_pages(Machine& machine) {
  const std::string meminfo = "/proc/meminfo";
  machine.transparent_huge_pages = chosen(read_line("/sys/kernel/mm/transparent_hugepage/enabled"));
  machine.huge_page_size = read_kib(meminfo, "Hugepagesize:");
  machine.huge_pages_reserved = read_value(meminfo, "HugePages_Total:");
  machine.huge_pages_free = read_value(meminfo, "HugePages_Free:");
}

Facility find_io_uring() {
  std::string reason;
  const bool usable = make_uring_backend(-1, 1, reason) != nullptr;
  return {usable, reason};
}

/// Tests placement by making the smallest tier on an allowed node, or on the next one if a node is full.
Facility find_placement(const Machine& machine) {
  Facility found{false, "this process may use no node that has memory"};
  for (const auto& node : machine.nodes) {
    if (!node.allowed) continue;
    try {
      std::ignore =
          make_numa_tier(tiers::numa(std::to_string(node.id), machine.page_size), std::vector<NumaNode>{});
      return {true, {}};
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      found.reason = error.what();
    }
  }
  return found;
}

}  // namespace

Machine discover() {
  Machine machine;
  ::utsname names{};
  if (::uname(&names) == 0) {
    machine.kernel = names.release;
    machine.architecture = names.machine;
  }
  machine.cpus = detail::usable_cpus();
  machine.page_size = Bytes{static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))};
  machine.memory_total = read_kib("/proc/meminfo", "MemTotal:");
  machine.memory_available = read_kib("/proc/meminfo", "MemAvailable:");
  const SystemPaths paths;
  machine.memory_limit = find_memory_limit(paths);
  machine.memory_left = find_memory_left(paths);
  for (auto* limit : {&machine.memory_limit, &machine.memory_left})
    if (*limit && **limit >= machine.memory_total) limit->reset();
  machine.nodes = find_nodes(paths);
  if (machine.nodes.empty())
    machine.nodes.push_back(
        {0, read_line("/sys/devices/system/cpu/online"), machine.memory_total, machine.memory_available});
  machine.kernel_tiering = find_kernel_tiering(paths);
  machine.dax_devices = find_dax_devices(paths);
  machine.dax_mounts = find_dax_mounts(paths);
  find_huge_pages(machine);
  machine.io_uring = find_io_uring();
  machine.userfaultfd.reason = WindowSpace::why_not();
  machine.userfaultfd.usable = machine.userfaultfd.reason.empty();
  machine.placement = find_placement(machine);
  machine.locked_memory_limit = size_limit(RLIMIT_MEMLOCK);
  machine.file_size_limit = size_limit(RLIMIT_FSIZE);
  machine.open_files_limit = resource_limit(RLIMIT_NOFILE);
  machine.mappings_limit = to_number(read_line("/proc/sys/vm/max_map_count"));
  machine.capabilities = find_capabilities();
  machine.root = ::geteuid() == 0;
  return machine;
}

Bytes available_memory(const Machine& machine) {
  auto available = machine.memory_available;
  auto allowed = machine.memory_total;
  for (const auto& node : machine.nodes) {
    if (node.allowed) continue;
    available -= std::min(available, node.free);
    allowed -= std::min(allowed, node.total);
  }
  return std::min({available, allowed, machine.memory_limit.value_or(available),
                   machine.memory_left.value_or(available)});
}

Facility discover_direct_io(const std::string& directory) {
  if (std::error_code error; !std::filesystem::is_directory(directory, error))
    return {false, "\"" + directory + "\" is not a directory"};
  try {
    const ScratchFile file{directory, 1_MiB, ScratchFile::Mode::Direct, "file"};
    if (file.direct()) return {true, {}};
    return {false, "the file system (" + file.file_system() + ") has no direct I/O"};
  } catch (const TierError& e) {
    return {false, e.what()};
  }
}

}  // namespace tier
