// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/tiers/pmem_tier.hpp"

#if defined(TIER_WITH_PMEM)
#include <libpmem.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <tier/core/error.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "core/descriptor.hpp"
#include "core/thread_sanitizer.hpp"
#include "memory/system/pages.hpp"
#include "memory/system/resident_pages.hpp"
#include "memory/tiers/bus_errors.hpp"
#include "memory/tiers/scratch_tier.hpp"
#else
#include "memory/tiers/built_without.hpp"
#endif

namespace tier {

#if defined(TIER_WITH_PMEM)
namespace {

constexpr std::size_t reads_stream_from = std::size_t{64} << 10;  // as in the copy engine

[[noreturn]] void fail(const std::string& path, const std::string& problem, int error = errno) {
  throw TierError{{error, std::generic_category()},
                  "pmem_map_file of \"" + path + "\" for tier pmem (" + problem + ")"};
}

/// Returns the type of a file by `stat(2)`, such as `S_IFCHR`; 0 if there is no file.
::mode_t file_type(const std::string& path) noexcept {
  struct ::stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_mode & S_IFMT : 0;
}

bool is_device(const std::string& path) noexcept { return file_type(path) == S_IFCHR; }

/// Owns libpmem's mapping of a whole file or device.
class PmemMapping {
 public:
  /// \param name  for errors   \param least  required size in bytes
  PmemMapping(const std::string& path, const std::string& name, std::size_t least) : PmemMapping{} {
    int is_pmem = 0;
    const detail::StandardPlaces held;
    data_ = static_cast<std::byte*>(::pmem_map_file(path.c_str(), 0, 0, 0, &size_, &is_pmem));
    if (data_ == nullptr) {
      const std::string reason = ::pmem_errormsg();  // empty for a device of another kind
      fail(name, reason.empty() && is_device(path) ? "it is no DAX device" : reason);
    }
    is_pmem_ = is_pmem != 0;
    if (size_ < least)
      fail(name, "it has " + to_human(Bytes{size_}) + ", but " + to_human(Bytes{least}) + " are needed",
           ENOSPC);
    if (reinterpret_cast<std::uintptr_t>(data_) % huge_page_bytes != 0)
      fail(name,
           "it is mapped at an address that is no multiple of 2 MiB; PMEM_MMAP_HINT, if set, chooses the "
           "address",
           EINVAL);
    ::madvise(data_, size_, MADV_DONTFORK);  // a child would write the parent's bytes
    ::madvise(data_, size_, MADV_DONTDUMP);
    prepared_ = std::vector<std::atomic<bool>>(size_ / huge_page_bytes + 1);
  }
  ~PmemMapping() {
    if (data_ != nullptr) ::pmem_unmap(data_, size_);
  }
  PmemMapping(const PmemMapping&) = delete;
  PmemMapping& operator=(const PmemMapping&) = delete;

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] bool is_pmem() const noexcept { return is_pmem_; }

  /// Copies by non-temporal stores, except small reads, which are about to be used from the cache; waits once for all
  /// stores. Unseen by ThreadSanitizer.
  void transfer(Direction direction, std::span<IoRequest> requests) noexcept {
    BusErrorGuard guard;
    for (auto& request : requests) {
      const std::span here{data_ + request.offset, request.size};
      request.error =
          direction == Direction::Write ? prepare(request.offset, request.size) : std::error_code{};
      if (request.error || request.size == 0) continue;  // its memory may be null
      request.error = guard.during(here, [&] { copy(direction, here.data(), request); });
    }
    ::pmem_drain();
  }

 private:
  PmemMapping() noexcept = default;

  static void copy(Direction direction, std::byte* here, const IoRequest& request) noexcept {
    constexpr unsigned streams = PMEM_F_MEM_NODRAIN | PMEM_F_MEM_NONTEMPORAL;
    if (direction == Direction::Write)
      ::pmem_memcpy(here, request.memory, request.size, streams);
    else
      ::pmem_memcpy(request.memory, here, request.size,
                    request.size < reads_stream_from ? PMEM_F_MEM_NOFLUSH : streams);
  }
  /// Faults in a range before its first write, because a store to a block known to be bad would raise SIGBUS.
  std::error_code prepare(std::uint64_t offset, std::size_t size) noexcept {
    for (auto unit = offset / huge_page_bytes; unit * huge_page_bytes < offset + size; ++unit) {
      if (prepared_[unit].load(std::memory_order_relaxed))
        continue;  // orders nothing: the system serves faults
      const auto begin = unit * huge_page_bytes,
                 end = std::min<std::uint64_t>(begin + huge_page_bytes, size_);
      if (can_be_written(begin, end)) {
        prepared_[unit].store(true, std::memory_order_relaxed);
      } else if (!can_be_written(std::max(begin, offset / page_size() * page_size()),
                                 std::min(end, offset + size))) {
        return std::make_error_code(std::errc::io_error);
      }
    }
    return {};
  }
  [[nodiscard]] bool can_be_written(std::uint64_t begin, std::uint64_t end) noexcept {
    const int error = try_to_populate(data_ + begin, end - begin);
    return error == 0 || error == EINVAL;
  }

  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  bool is_pmem_ = false;
  std::vector<std::atomic<bool>> prepared_;  // for each 2 MiB
};

/// Reads or writes unseen by ThreadSanitizer, like a device: the caller announces the memory, except memory in windows,
/// which the program may use meanwhile.
::ssize_t move(int file, Direction direction, const IoRequest& request) noexcept {
  const auto at = static_cast<::off_t>(request.offset);
#if defined(TIER_HAS_TSAN)
  return ::syscall(direction == Direction::Read ? SYS_pread64 : SYS_pwrite64, file, request.memory,
                   request.size, at);
#else
  return direction == Direction::Read ? ::pread(file, request.memory, request.size, at)
                                      : ::pwrite(file, request.memory, request.size, at);
#endif
}

/// Carries out a whole request by system calls, which report a bad block where a load or a store would raise SIGBUS.
std::error_code read_or_write(int file, Direction direction, IoRequest request) noexcept {
  while (request.size > 0) {
    const auto n = move(file, direction, request);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n < 0 ? last_system_error() : std::make_error_code(std::errc::io_error);
    request.offset += static_cast<std::uint64_t>(n);
    request.memory += n;
    request.size -= static_cast<std::size_t>(n);
  }
  return {};
}

TierSpec in_huge_pages(TierSpec spec) {
  spec.size = Bytes{round_up(spec.size.count, huge_page_bytes)};
  return spec;
}

/// Uses a scratch file, on a DAX file system or another.
class PmemFileTier final : public ScratchTier {
 public:
  PmemFileTier(const TierSpec& spec, const TierModel& persistent, const TierModel& mapped)
      : ScratchTier{in_huge_pages(spec), "pmem", mapped, ScratchFile::Mode::Buffered},
        memory_{"/proc/self/fd/" + std::to_string(file_.descriptor()), spec.path, spec.size.count} {
    capacity_ = spec.size;
    base_ = memory_.data();
    copied_by_fork_ = false;
    if (!memory_.is_pmem()) return;  // own copies would be as fast as a mapped file's, and no safer
    model_ = persistent;
    copies_itself_ = true;
    install_bus_error_handler();
  }

  std::string description() const override {
    const auto place = " in " + path_ + " (" + file_.file_system() + ")";
    return memory_.is_pmem() ? "persistent memory, scratch file" + place
                             : "mapped scratch file" + place + ", which is no persistent memory";
  }
  void transfer(Direction direction, std::span<IoRequest> requests) noexcept override {
    if (direction == Direction::Write && memory_.is_pmem()) return memory_.transfer(direction, requests);
    for (auto& request : requests) request.error = read_or_write(file_.descriptor(), direction, request);
  }

 private:
  PmemMapping memory_;
};

/// Uses a whole device, whose previous contents are lost.
class PmemDeviceTier final : public Tier {
 public:
  PmemDeviceTier(const TierSpec& spec, const TierModel& model)
      : Tier{"pmem", model, spec.size}, path_{spec.path}, memory_{path_, path_, spec.size.count} {
    base_ = memory_.data();
    copied_by_fork_ = false;
    copies_itself_ = true;
    install_bus_error_handler();
  }

  std::string description() const override {
    return "persistent memory, device " + path_ + " in pages of " +
           to_human(residence(memory_.data(), capacity_.count).page);
  }
  std::string_view path() const noexcept override { return path_; }
  void transfer(Direction direction, std::span<IoRequest> requests) noexcept override {
    memory_.transfer(direction, requests);
  }

 private:
  std::string path_;
  PmemMapping memory_;
};

}  // namespace

bool has_pmem() noexcept { return true; }

std::unique_ptr<Tier> make_pmem_device_tier(const TierSpec& spec, const TierModel& model) {
  return std::make_unique<PmemDeviceTier>(spec, model);
}

std::unique_ptr<Tier> make_pmem_tier(const TierSpec& spec, const TierModel& persistent,
                                     const TierModel& mapped) {
  if (!spec.new_file && is_device(spec.path)) return make_pmem_device_tier(spec, persistent);
  if (!spec.new_file && file_type(spec.path) == S_IFBLK)
    fail(spec.path, "it is a block device: name a directory on its file system, mounted with -o dax", EINVAL);
  return std::make_unique<PmemFileTier>(spec, persistent, mapped);
}

#else

bool has_pmem() noexcept { return false; }

std::unique_ptr<Tier> make_pmem_tier(const TierSpec&, const TierModel&, const TierModel&) {
  throw_built_without("pmem", "TIER_WITH_PMEM", "libpmem", "libpmem-dev");
}
std::unique_ptr<Tier> make_pmem_device_tier(const TierSpec& spec, const TierModel& model) {
  return make_pmem_tier(spec, model, model);
}

#endif

}  // namespace tier
