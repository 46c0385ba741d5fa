// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runs.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>
#include <harness/paged_file.hpp>
#include <tier/pmr/container_scopes.hpp>
#include <tier/pmr/group_resource.hpp>
#include <tier/pmr/migrating_resource.hpp>
#include <tier/pmr/statistics_resource.hpp>
#include <tier/runtime/runtime.hpp>
#include <tier/scope/scope.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>

#include "common/checksum.hpp"
#include "common/tier_options.hpp"
#include "mapped_resource.hpp"
#include "terminal/terminal_line.hpp"
#include "text_index/search.hpp"
#include "text_index/text.hpp"

namespace pmr_index {

/// The lists of several queries, one query after the other.
struct Batch {
  [[nodiscard]] std::span<const PostingList* const> query(std::size_t i) const {
    const auto first = i == 0 ? 0 : ends[i - 1];
    return std::span{lists}.subspan(first, ends[i] - first);
  }

  std::vector<const PostingList*> lists{};
  std::vector<std::size_t> ends{};  // of each query's lists
};

}  // namespace pmr_index

/// Makes scopes and prefetches of queries cover all of their lists.
template <>
struct tier::ScopeTraits<pmr_index::Batch> {
  using Postings = ScopeTraits<decltype(pmr_index::PostingList::postings)>;
  using Positions = ScopeTraits<decltype(pmr_index::PostingList::positions)>;

  static std::size_t block_count(const pmr_index::Batch& batch) noexcept {
    std::size_t count = 0;
    for (const auto* list : batch.lists)
      count += Postings::block_count(list->postings) + Positions::block_count(list->positions);
    return count;
  }
  static void for_each_address(const pmr_index::Batch& batch, std::size_t at_most, auto&& visit) {
    const auto visit_one = [&](const void* address) {
      if (at_most > 0) --at_most, visit(address);
    };
    for (const auto* list : batch.lists) {
      Postings::for_each_address(list->postings, at_most, visit_one);
      Positions::for_each_address(list->positions, at_most, visit_one);
    }
  }
};

namespace pmr_index {
namespace {

using namespace tier::literals;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::uint64_t count_mappings() {
  std::ifstream maps{"/proc/self/maps"};
  return static_cast<std::uint64_t>(std::count(std::istreambuf_iterator<char>{maps}, {}, '\n'));
}

/// Counts the faults of the process so far; those of windows come from the runtime.
Faults count_faults(const tier::Runtime* runtime) {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return {.minor = static_cast<std::uint64_t>(usage.ru_minflt),
          .major = static_cast<std::uint64_t>(usage.ru_majflt),
          .window = runtime == nullptr ? 0 : runtime->statistics().window_faults};
}

Faults operator-(const Faults& a, const Faults& b) {
  return {a.minor - b.minor, a.major - b.major, a.window - b.window};
}

/// The help for queries: none, scopes, or advice to the system.
struct Unaided {
  struct Nothing {};
  [[nodiscard]] Nothing open_all() const { return {}; }
  void announce(const Batch& /*batch*/) const {}
  [[nodiscard]] Nothing open(const Batch& /*batch*/) const { return {}; }
};
struct WithScopes {
  const tier::GroupResource& dictionary;
  bool prefetch;

  [[nodiscard]] auto open_all() const { return tier::ReadScope{dictionary}; }
  void announce(const Batch& batch) const {
    if (prefetch) tier::prefetch(batch);
  }
  [[nodiscard]] auto open(const Batch& batch) const { return tier::ReadScope{batch}; }
};
struct WithAdvice {
  const tier::bench::PagedFile& file;

  [[nodiscard]] Unaided::Nothing open_all() const { return {}; }
  void announce(const Batch& batch) const {
    if (!file.wants_announcements()) return;
    for (const auto* list : batch.lists) {
      announce(std::as_bytes(std::span{list->postings}));
      announce(std::as_bytes(std::span{list->positions}));
    }
  }
  void announce(std::span<const std::byte> bytes) const {
    file.will_need(static_cast<std::size_t>(bytes.data() - file.data()), bytes.size());
  }
  [[nodiscard]] Unaided::Nothing open(const Batch& /*batch*/) const { return {}; }
};

class Run {
 public:
  Run(const Options& options, const tier::Runtime* runtime)
      : options_{options},
        text_{options.text.empty() ? Text::generate(options.seed) : Text::read(options.text, options.seed)},
        runtime_{runtime} {
    result_.name = options.run;
    look_at_mappings();
  }

  /// \param lists, dictionary  as in `Index`
  template <class Aid>
  RunResult on(std::pmr::memory_resource* lists, std::pmr::memory_resource* dictionary, const Aid& aid) {
    Index index{lists, dictionary};
    build(index);
    if (!options_.empty)
      answer(index, make_queries(index, options_.queries, options_.skew, options_.seed), aid);
    look_at_mappings();
    return std::move(result_);
  }

 private:
  void build(Index& index);
  void read_documents(std::size_t first, std::size_t last);
  template <class Aid>
  void answer(const Index& index, const std::vector<Query>& queries, const Aid& aid);
  void look_at_mappings() { result_.mappings = std::max(result_.mappings, count_mappings()); }
  void draw(const char* what, std::size_t done, std::size_t all);

  const Options& options_;
  const Text text_;
  const tier::Runtime* runtime_;
  RunResult result_;
  tier::tool::TerminalLine line_{stderr};
  std::vector<Occurrence> occurrences_;  // of the documents that are read together
  std::vector<std::uint32_t> lengths_;
};

void Run::draw(const char* what, std::size_t done, std::size_t all) {
  if (!line_.due()) return;
  line_.draw(fmt::format(
      "{}  {}", tier::tool::progress_bar(options_.run, static_cast<double>(done) / static_cast<double>(all)),
      what));
}

// Words are sorted, as indexers do, so that each list is appended to once for all of these documents.
void Run::read_documents(std::size_t first, std::size_t last) {
  std::vector<WordId> words;
  occurrences_.clear();
  lengths_.clear();
  for (auto document = first; document < last; ++document) {
    text_.read_document(document, words);
    lengths_.push_back(static_cast<std::uint32_t>(words.size()));
    for (std::uint32_t position = 0; position < words.size(); ++position)
      occurrences_.push_back({words[position], static_cast<std::uint32_t>(document), position});
  }
  std::sort(occurrences_.begin(), occurrences_.end());
}

void Run::build(Index& index) {
  constexpr std::size_t together = 4000;
  if (options_.empty) return read_documents(0, together);
  const auto before = count_faults(runtime_);
  const auto start = Clock::now();
  for (std::size_t first = 0; first < options_.documents; first += together) {
    read_documents(first, std::min(first + together, options_.documents));
    index.add(occurrences_, lengths_, [this](std::uint32_t word) { return text_.word(word); });
    result_.words += occurrences_.size();
    look_at_mappings();
    draw("of the documents", first, options_.documents);
  }
  result_.build_s = seconds_since(start);
  line_.clear();
  result_.documents = options_.documents;
  result_.building = count_faults(runtime_) - before;
}

template <class Aid>
void Run::answer(const Index& index, const std::vector<Query>& queries, const Aid& aid) {
  const auto look_up = [&](std::size_t first) {
    Batch batch;
    for (auto i = first; i < std::min(first + options_.batch, queries.size()); ++i) {
      for (const auto& word : queries[i]) batch.lists.push_back(index.find(word));
      batch.ends.push_back(batch.lists.size());
    }
    return batch;
  };
  sample::Checksum checksum;
  const auto before = count_faults(runtime_);
  const auto start = Clock::now();
  [[maybe_unused]] const auto scope_of_all = aid.open_all();
  Batch batch = look_up(0), next;
  for (std::size_t first = 0; first < queries.size(); first += options_.batch, batch = std::move(next)) {
    next = look_up(first + options_.batch);
    [[maybe_unused]] const auto scope = aid.open(batch);
    aid.announce(next);
    for (std::size_t i = 0; i < batch.ends.size(); ++i) {
      for (const auto& [score, document] : search(index, batch.query(i))) {
        checksum.add(score);
        checksum.add(document);
      }
    }
    draw("of the queries", first, queries.size());
  }
  result_.queries_per_s = static_cast<double>(queries.size()) / seconds_since(start);
  line_.clear();
  result_.queries = queries.size();
  result_.checksum = checksum.value();
  result_.asking = count_faults(runtime_) - before;
}

std::uint64_t resident_peak() { return tier::bench::paging_counts().resident.count; }

RunResult run_std(const Options& options) {
  tier::StatisticsResource counted{*std::pmr::new_delete_resource()};
  auto result = Run{options, nullptr}.on(&counted, &counted, Unaided{});
  result.container_bytes = counted.statistics().peak.count;
  result.memory = {{"memory", result.container_bytes}};
  return result;
}

RunResult run_tiered(const Options& options, tier::Bytes peak) {
  tier::Runtime runtime{{.tiers = {tier::tiers::dram(sample::parse_fast(options.fast, peak)),
                                   sample::parse_slow(options.slow, peak * 2)},
                         .policy = options.policy,
                         .windows = tier::window_mode_of(options.windows)}};  // none: the best possible
  tier::MigratingResource resource{runtime};

  Run run{options, &runtime};
  tier::GroupResource dictionary{resource};  // so that a scope can cover exactly the dictionary
  auto result = options.run == "scopes"
                    ? run.on(&resource, &dictionary, WithScopes{dictionary, options.prefetch})
                    : run.on(&resource, &resource, Unaided{});
  const auto statistics = runtime.statistics();
  for (const auto& tier : statistics.tiers) result.memory[tier.name] = tier.high_water.count;
  for (const auto& [from, to, cause, bytes, transfers] : statistics.moved)
    result.bytes_moved[statistics.tiers[from].name + ">" + statistics.tiers[to].name] += bytes;
  result.metadata_bytes = statistics.metadata.count;
  return result;
}

RunResult run_paged(const Options& options, tier::Bytes peak) {
  const std::map<std::string, tier::bench::Paging> variants{
      {"os_paging_default", tier::bench::Paging::Default},
      {"os_paging_random", tier::bench::Paging::Random},
      {"os_paging_willneed", tier::bench::Paging::WillNeed}};
  const auto folder =
      options.paging_folder.empty() ? sample::paging_folder(options.slow) : options.paging_folder;
  const auto size = peak * 2 + 64_MiB;  // a heap cannot be filled completely
  tier::bench::PagedFile file{folder, size, variants.at(options.run)};
  ::alarm(options.paging_seconds);  // then SIGALRM ends the process
  file.start_cold();                // so that the advice also holds while building
  MappedResource resource{file, size};
  auto result = Run{options, nullptr}.on(&resource, &resource, WithAdvice{file});
  result.memory = {{"memory", resident_peak()}};
  const auto counts = tier::bench::paging_counts();
  result.bytes_moved = {{"disk>memory", counts.read.count}, {"memory>disk", counts.written.count}};
  return result;
}

}  // namespace

RunResult make_run(const Options& options) {
  const auto peak = tier::parse_bytes(options.peak);
  auto result = options.run == "std"                   ? run_std(options)
                : options.run.starts_with("os_paging") ? run_paged(options, peak)
                                                       : run_tiered(options, peak);
  result.peak_bytes = resident_peak();
  return result;
}

}  // namespace pmr_index
