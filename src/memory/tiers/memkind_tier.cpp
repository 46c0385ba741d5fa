// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/tiers/memkind_tier.hpp"

#if defined(TIER_WITH_MEMKIND)
#include <memkind.h>
#include <sys/mman.h>
#include <tier/core/error.hpp>
#include <tier/core/suggestion.hpp>
#include <tier/memory/memory_need.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/descriptor.hpp"
#include "memory/io/scratch_path.hpp"
#include "memory/system/pages.hpp"
#include "memory/system/resident_pages.hpp"
#include "memory/tiers/copy_requests.hpp"
#include "memory/tiers/numa_nodes.hpp"
#include "memory/values/memkind_names.hpp"
#else
#include "memory/tiers/built_without.hpp"
#endif

namespace tier {
#if defined(TIER_WITH_MEMKIND)
namespace {

::memkind_t fixed_kind(std::string_view name) {
  const auto kinds = std::to_array<::memkind_t>(
      {MEMKIND_HBW, MEMKIND_DAX_KMEM, MEMKIND_HIGHEST_CAPACITY, MEMKIND_HIGHEST_CAPACITY_LOCAL,
       MEMKIND_LOWEST_LATENCY_LOCAL, MEMKIND_HIGHEST_BANDWIDTH_LOCAL, MEMKIND_HBW_ALL, MEMKIND_HBW_PREFERRED,
       MEMKIND_HBW_INTERLEAVE, MEMKIND_DAX_KMEM_ALL, MEMKIND_DAX_KMEM_PREFERRED, MEMKIND_DAX_KMEM_INTERLEAVE,
       MEMKIND_HIGHEST_CAPACITY_PREFERRED, MEMKIND_HIGHEST_CAPACITY_LOCAL_PREFERRED,
       MEMKIND_LOWEST_LATENCY_LOCAL_PREFERRED, MEMKIND_HIGHEST_BANDWIDTH_LOCAL_PREFERRED});
  static_assert(std::tuple_size_v<decltype(kinds)> == memkind_kind_names.size());
  return kinds.at(
      static_cast<std::size_t>(std::ranges::find(memkind_kind_names, name) - memkind_kind_names.begin()));
}

/// Throws for memkind's codes, which are negative, and for the system's codes, which its allocations return.
[[noreturn]] void throw_memkind_error(const std::string& call, const std::string& tier, int error) {
  const auto subject = call + " for tier " + tier;
  if (error > 0) throw TierError{{error, std::generic_category()}, subject};
  std::array<char, MEMKIND_ERROR_MESSAGE_SIZE> text{};
  ::memkind_error_message(error, text.data(), text.size());
  const auto code = error == MEMKIND_ERROR_MALLOC || error == MEMKIND_ERROR_MMAP
                        ? std::errc::not_enough_memory
                    : error == MEMKIND_ERROR_INVALID ? std::errc::invalid_argument
                                                     : std::errc::no_such_device;
  throw TierError{std::make_error_code(code), subject + " (" + text.data() + ")"};
}

/// Refuses more memory than there is, because the system would not fail the request but end the program.
[[noreturn]] void refuse(Bytes size, const std::string& tier, const std::string& lacking) {
  throw TierError{std::make_error_code(std::errc::not_enough_memory),
                  "memory of " + to_human(size) + " for tier " + tier + " (" + lacking + ")"};
}

/// Owns one allocation, and its kind if the kind is that of a file.
class MemkindMemory {
 public:
  MemkindMemory(const std::string& kind, std::size_t size, const std::string& tier)
      : own_kind_{is_memkind_path(kind)}, kind_{own_kind_ ? create(kind, tier) : available(kind, tier)} {
    void* memory = nullptr;
    if (const int error = ::memkind_posix_memalign(kind_, &memory, huge_page_bytes, size); error != 0) {
      destroy_kind();
      throw_memkind_error("memkind_posix_memalign of " + to_human(Bytes{size}), tier, error);
    }
    data_ = static_cast<std::byte*>(memory);
  }
  ~MemkindMemory() {
    ::memkind_free(kind_, data_);
    destroy_kind();
  }
  MemkindMemory(const MemkindMemory&) = delete;
  MemkindMemory& operator=(const MemkindMemory&) = delete;

  [[nodiscard]] std::byte* data() const noexcept { return data_; }

 private:
  static ::memkind_t create(const std::string& directory, const std::string& tier) {
    ::memkind_t kind = nullptr;
    const detail::StandardPlaces held;
    const int error = ::memkind_create_pmem(directory.c_str(), 0, &kind);  // 0: as large as there is space
    if (error != 0) throw_memkind_error("memkind_create_pmem in \"" + directory + "\"", tier, error);
    return kind;
  }
  static ::memkind_t available(const std::string& name, const std::string& tier) {
    const auto kind = fixed_kind(name);
    if (const int error = ::memkind_check_available(kind); error != 0)
      throw_memkind_error("memkind_check_available", tier, error);
    return kind;
  }
  void destroy_kind() noexcept {
    if (own_kind_) ::memkind_destroy_kind(kind_);
  }

  bool own_kind_;
  ::memkind_t kind_;
  std::byte* data_ = nullptr;
};

/// Returns `node 1`, or `node 0: 768 pages, node 2: 512 pages`.
std::string words_of(const PageCounts& counts) {
  std::string text;
  for (const auto& [node, count] : counts.on) {
    text.append(text.empty() ? "node " : ", node ").append(std::to_string(node));
    if (counts.on.size() > 1) text.append(": " + std::to_string(count) + " pages");
  }
  return text;
}

/// Uses memory from memkind, and finds out where it is.
class MemkindTier final : public Tier {
 public:
  MemkindTier(const TierSpec& spec, const TierModel& model, const TierModel& mapped,
              std::shared_ptr<const NumaSystem> system)
      : Tier{"memkind:" + spec.model, model, spec.size},
        is_file_{is_memkind_path(spec.model)},
        prefaulted_{spec.prefault},
        size_{round_up(spec.size.count, huge_page_bytes)},
        memory_{spec.model, size_, name_} {
    base_ = memory_.data();
    copied_by_fork_ = !is_file_;
    if (is_file_ && ::madvise(base_, size_, MADV_DONTFORK) != 0)  // a child would write the parent's bytes
      throw TierError{last_system_error(), "madvise (MADV_DONTFORK) for tier " + name_};
    if (is_file_) ::madvise(base_, size_, MADV_DONTDUMP);
    fault_in(spec.prefault, system);
    if (!is_file_)
      find_nodes(std::move(system));
    else if (is_persistent_ = ::memkind_check_dax_path(spec.model.c_str()) == 0; !is_persistent_)
      model_ = mapped;
  }

  std::string description() const override {
    if (!is_file_) return "memory by memkind" + (where_.empty() ? "" : " of " + where_) + page_description();
    return is_persistent_ ? "persistent memory by memkind"
                          : "mapped scratch file by memkind, which is no persistent memory";
  }
  void transfer(Direction direction, std::span<IoRequest> requests) noexcept override {
    copy_requests(direction, memory_.data(), requests);
  }

 private:
  /// Faults in all memory, or one page, which tells where the rest will be.
  void fault_in(bool all, const std::shared_ptr<const NumaSystem>& system) {
    if (all && !is_file_) check_nodes(system);
    const int error =
        all ? populate_in_parallel(memory_.data(), size_) : populate(memory_.data(), page_size());
    if (error != 0)
      throw TierError{{error, std::generic_category()},
                      "madvise(MADV_POPULATE_WRITE) of " + to_human(capacity_) + " for tier " + name_};
  }
  void check_nodes(const std::shared_ptr<const NumaSystem>& system) const {
    std::string list;
    for (const auto node : system->bound_to(memory_.data()).value_or(std::vector<unsigned>{}))
      list.append(list.empty() ? "" : ",").append(std::to_string(node));
    if (list.empty()) return;
    const auto lacking = NumaNodes{list, name_, system}.lacking_together(size_);
    if (!lacking.empty()) refuse(capacity_, name_, lacking);
  }
  void find_nodes(std::shared_ptr<const NumaSystem> system) {
    const auto counts = count_pages(*system, memory_.data(), size_);
    if (counts.error || counts.on.empty()) return;
    const auto most = std::ranges::max_element(counts.on, {}, [](const auto& pages) { return pages.second; });
    model_ = NumaNodes{std::to_string(most->first), name_, std::move(system)}.model();
    where_ = words_of(counts);
  }

  /// Describes the pages if all have been faulted in; a single page tells nothing.
  std::string page_description() const {
    return prefaulted_ ? share_in_huge_pages(memory_.data(), size_) : std::string{};
  }

  bool is_file_, is_persistent_ = false, prefaulted_;
  std::size_t size_;
  MemkindMemory memory_;
  std::string where_;
};

}  // namespace

std::unique_ptr<Tier> make_memkind_tier(const TierSpec& spec, const TierModel& model, const TierModel& mapped,
                                        std::shared_ptr<const NumaSystem> system) {
  if (!is_memkind(spec.model))
    throw ConfigError{"unknown kind" + detail::did_you_mean(spec.model, memkind_names()), spec.model, 0,
                      memkind_names() + ", or a directory"};
  if (is_memkind_path(spec.model)) expect_folder(spec.model, "memkind");
  const auto bound = spec.prefault && !is_memkind_path(spec.model) ? memory_bound() : 0_B;
  if (bound != 0_B && spec.size > bound)
    refuse(spec.size, "memkind:" + spec.model, "there is only " + to_human(bound));
  return std::make_unique<MemkindTier>(spec, model, mapped, std::move(system));
}

#else

std::unique_ptr<Tier> make_memkind_tier(const TierSpec&, const TierModel&, const TierModel&,
                                        std::shared_ptr<const NumaSystem>) {  // NOLINT: as with memkind
  throw_built_without("memkind", "TIER_WITH_MEMKIND", "memkind", "libmemkind-dev");
}

#endif

}  // namespace tier
