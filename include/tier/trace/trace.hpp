// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A trace as data: the tensors of a program and what happened to them, in order. `docs/traces.md` has the format.
#include <tier/core/assert.hpp>
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>
#include <tier/trace/detail/place_table.hpp>
#include <tier/trace/names.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace tier::trace {

/// Index of a tensor in its trace: from 0 without gaps, in the order of the declarations.
using TensorIndex = std::uint32_t;

/// The kind of a tensor, by its letter in the text form.
enum class TensorKind : char {
  Parameter = 'p',  ///< exists from the start, and from iteration to iteration
  Gradient = 'g',   ///< survives its iteration unless it is retired in it
  Activation = 'a',
  Temporary = 't',
  Statistics = 's',
  Input = 'i'
};
enum class Phase : char { Forward = 'f', Backward = 'b', Update = 'u' };
enum class Role : char {
  Reads = 'R',
  Creates = 'W',    ///< the first write, of the whole tensor
  Updates = 'U',    ///< reads and writes
  Overwrites = 'O'  ///< writes the whole of a tensor that exists
};

/// A tensor, as it is declared.
struct Tensor {
  std::uint64_t id = 0;  ///< as the program or the file names it: any number
  Bytes size;            ///< below 8 EiB
  NameIndex name = 0;
  TensorKind kind{};
  friend bool operator==(const Tensor&, const Tensor&) = default;
};

/// A tensor as an operand of a kernel.
struct Operand {
  Bytes touched;  ///< bytes of the tensor: all, or fewer if the kernel uses a slice
  TensorIndex tensor = 0;
  Role role{};
  friend bool operator==(const Operand&, const Operand&) = default;
};

/// A stretch of one of the trace's flat arrays.
struct Range {
  std::uint32_t first = 0, count = 0;
  friend bool operator==(const Range&, const Range&) = default;
};

/// A step of computation, with its operands.
struct Kernel {
  double flops = 0;  ///< finite, not negative
  Range operands;    ///< in the order R, W, U, O
  NameIndex op = 0;
  Phase phase{};
  friend bool operator==(const Kernel&, const Kernel&) = default;
};

// Events that only recordings have. Times are since the runtime began; `sequence` orders events of different threads.

/// The times of the preceding kernel, and the tiers of its operands.
struct Measurement {
  std::uint64_t sequence = 0;
  std::chrono::nanoseconds start{}, duration{};
  std::uint64_t thread = 0;
  NameIndex placement = 0;
  friend bool operator==(const Measurement&, const Measurement&) = default;
};

inline constexpr std::uint32_t whole_tensor = std::numeric_limits<std::uint32_t>::max();

enum class Cause : std::uint8_t { Hint, Miss, Forced, Evict, Compact, Plan };

/// Bytes of a tensor, or of one block of its window, that were copied from one tier to another.
struct Migration {
  std::uint64_t sequence = 0;
  TensorIndex tensor = 0;
  std::uint32_t block = whole_tensor;
  NameIndex from = 0, to = 0;  ///< tiers
  Bytes size{};
  Cause cause{};
  std::chrono::nanoseconds start{}, duration{};
  friend bool operator==(const Migration&, const Migration&) = default;
};
/// A wait of a thread for a transfer, for room or for an access to a window.
struct Stall {
  std::uint64_t sequence = 0;
  NameIndex scope = 0;
  std::chrono::nanoseconds start{}, duration{};
  NameIndex cause = 0;
  friend bool operator==(const Stall&, const Stall&) = default;
};
/// The first placement of an object, or of one block of its window.
struct Placement {
  std::uint64_t sequence = 0;
  TensorIndex tensor = 0;
  std::uint32_t block = whole_tensor;
  NameIndex tier = 0;
  Bytes alignment{};  ///< a power of two up to `most_alignment`
  std::chrono::nanoseconds start{};
  friend bool operator==(const Placement&, const Placement&) = default;
};
inline constexpr Bytes most_alignment = 2_MiB;
/// A hint outside a kernel.
struct Hint {
  std::uint64_t sequence = 0;
  NameIndex hint = 0;
  Range tensors{};
  std::chrono::nanoseconds start{};
  friend bool operator==(const Hint&, const Hint&) = default;
};
/// An access to an absent page of a window.
struct Fault {
  std::uint64_t sequence = 0;
  TensorIndex tensor = 0;
  std::uint32_t block = whole_tensor;
  std::chrono::nanoseconds start{};
  friend bool operator==(const Fault&, const Fault&) = default;
};
/// Rows of a table that were gathered, or updated.
struct RowAccess {
  std::uint64_t sequence = 0;
  NameIndex table = 0;
  std::uint64_t count = 0;
  std::chrono::nanoseconds start{};
  Range rows{};  ///< the rows, or none if only their count is known
  bool updates = false;
  friend bool operator==(const RowAccess&, const RowAccess&) = default;
};
/// A key and value of the header, or of the configuration: tiers, models, policy, options.
struct Setting {
  NameIndex key = 0, value = 0;
  friend bool operator==(const Setting&, const Setting&) = default;
};

enum class EventKind : std::uint8_t {
  Declaration,  ///< of a tensor
  Kernel,
  Archive,  ///< the tensors are not used for a while
  Retire,   ///< the tensors' contents are dead
  EndOfIteration,
  Measurement,
  Migration,
  Stall,
  Hint,
  Fault,
  RowAccess,
  Setting,
  Placement
};
/// One line of the text form.
struct Event {
  EventKind kind{};
  std::uint32_t place = 0;  ///< index among the events of its kind
  friend bool operator==(const Event&, const Event&) = default;
};

/// Keeps what happened to the tensors of a program, in order: read from a file or a recording, or made by a program, and
/// then summarised, written or replayed.
/// \code{.cpp}
/// #include <tier/trace/summary.hpp>
/// using namespace tier::trace;
/// Trace step;
/// const auto x = step.declare(1, 4_MiB, TensorKind::Input, "x");
/// const auto y = step.declare(2, 4_MiB, TensorKind::Activation, "y");
/// step.add_kernel("load", Phase::Forward, 0, std::array{Operand{4_MiB, x, Role::Creates}});
/// step.add_kernel("relu", Phase::Forward, 1e6,
///                 std::array{Operand{4_MiB, x, Role::Reads}, Operand{4_MiB, y, Role::Creates}});
/// step.add_end_of_iteration();
/// assert(summarise(step).peak == 8_MiB);
/// \endcode
///
/// An event takes 8 bytes, a kernel 24, an operand 16, each in an array of its kind, so that no single event allocates.
/// Whether the events make sense is checked elsewhere: by `read_text` for a text, by `summarise` for a trace that a
/// program has made.
/// \threadsafety  Const functions may run concurrently on a trace that no thread changes.
class TIER_EXPORT Trace {
 public:
  // Each `add` and `declare` appends. If an array of the trace is full, at 2^32 of a kind, they throw `std::length_error`
  // and may leave texts and numbers that no event refers to. They throw `std::out_of_range` for undeclared tensors and
  // for names that the trace does not have, and `std::invalid_argument` for an id that is already declared and for rows
  // whose number is not `access.count`; nothing has changed then.

  NameIndex add_name(std::string_view text) { return names_.add(text); }
  void add_header(std::string_view key, std::string_view value);
  /// Declares a tensor whose id is not declared yet; see `find`.
  TensorIndex declare(std::uint64_t id, Bytes size, TensorKind kind, std::string_view name);
  /// \pre  `operands` are in the order R, W, U, O.
  void add_kernel(std::string_view op, Phase phase, double flops, std::span<const Operand> operands);
  void add_archive(std::span<const TensorIndex> tensors) { add_list(EventKind::Archive, tensors); }
  void add_retire(std::span<const TensorIndex> tensors) { add_list(EventKind::Retire, tensors); }
  void add_end_of_iteration();
  void add(const Measurement& m);
  void add(const Migration& m);
  void add(const Stall& s);
  void add(const Fault& f);
  void add(const Placement& p);
  /// \param hint  its `tensors` is set here
  void add(Hint hint, std::span<const TensorIndex> tensors);
  /// \param access  its `rows` is set here   \param rows  `access.count` rows, or none
  void add(RowAccess access, std::span<const std::uint64_t> rows);
  void add_setting(std::string_view key, std::string_view value);

  [[nodiscard]] std::string_view name(NameIndex name) const noexcept { return names_[name]; }
  /// Returns the number of names, the empty one included.
  [[nodiscard]] std::size_t name_count() const noexcept { return names_.count(); }
  [[nodiscard]] std::span<const Setting> headers() const noexcept { return headers_; }
  /// Returns the value of a key, if the header has it.
  [[nodiscard]] std::optional<std::string_view> header(std::string_view key) const noexcept;
  [[nodiscard]] std::span<const Tensor> tensors() const noexcept { return tensors_; }
  [[nodiscard]] const Tensor& tensor(TensorIndex tensor) const noexcept {
    TIER_ASSERT(tensor < tensors_.size(), "a tensor must be one of this trace");
    return tensors_[tensor];
  }
  [[nodiscard]] std::optional<TensorIndex> find(std::uint64_t id) const noexcept;
  [[nodiscard]] std::span<const Kernel> kernels() const noexcept { return kernels_; }
  [[nodiscard]] std::span<const Event> events() const noexcept { return events_; }

  // Each returns the data of an event, which must be of that kind.
  [[nodiscard]] const Kernel& kernel(Event event) const noexcept {
    return at(EventKind::Kernel, event, kernels_);
  }
  /// \pre  The event archives or retires.
  [[nodiscard]] std::span<const TensorIndex> tensors_of(Event event) const noexcept {
    TIER_ASSERT(event.kind == EventKind::Archive || event.kind == EventKind::Retire,
                "only an archive or retire event has a list of tensors");
    return stretch(lists_, list_ranges_[event.place]);
  }
  [[nodiscard]] const Measurement& measurement(Event e) const noexcept {
    return at(EventKind::Measurement, e, measurements_);
  }
  [[nodiscard]] const Migration& migration(Event e) const noexcept {
    return at(EventKind::Migration, e, migrations_);
  }
  [[nodiscard]] const Stall& stall(Event e) const noexcept { return at(EventKind::Stall, e, stalls_); }
  [[nodiscard]] const Hint& hint(Event e) const noexcept { return at(EventKind::Hint, e, hints_); }
  [[nodiscard]] const Fault& fault(Event e) const noexcept { return at(EventKind::Fault, e, faults_); }
  [[nodiscard]] const RowAccess& row_access(Event e) const noexcept {
    return at(EventKind::RowAccess, e, row_accesses_);
  }
  [[nodiscard]] const Setting& setting(Event e) const noexcept {
    return at(EventKind::Setting, e, settings_);
  }
  [[nodiscard]] const Placement& placement(Event e) const noexcept {
    return at(EventKind::Placement, e, placements_);
  }

  [[nodiscard]] std::span<const Operand> operands(const Kernel& kernel) const noexcept {
    return stretch(operands_, kernel.operands);
  }
  [[nodiscard]] std::span<const TensorIndex> tensors_of(const Hint& hint) const noexcept {
    return stretch(lists_, hint.tensors);
  }
  [[nodiscard]] std::span<const std::uint64_t> rows_of(const RowAccess& access) const noexcept {
    return stretch(rows_, access.rows);
  }

  /// Returns the memory that the contents take. While arrays grow they may hold three times as much.
  [[nodiscard]] Bytes memory() const noexcept;

  /// True if header, events and texts are the same, added in the same order.
  [[nodiscard]] bool operator==(const Trace& other) const;

 private:
  template <class T>
  static const T& at([[maybe_unused]] EventKind kind, Event event, const std::vector<T>& all) noexcept {
    TIER_ASSERT(event.kind == kind, "the event must be of the kind that is asked for");
    return all[event.place];
  }
  template <class T>
  static std::span<const T> stretch(const std::vector<T>& all, Range range) noexcept {
    return std::span{all}.subspan(range.first, range.count);
  }
  template <class T>
  void append(EventKind kind, std::vector<T>& all, const T& one) {
    events_.push_back({kind, place_in(all)});
    all.push_back(one);
  }
  template <class T>
  static std::uint32_t place_in(const std::vector<T>& all) {
    return checked_place(all.size());
  }
  static std::uint32_t checked_place(std::size_t size);
  template <class T>
  static Range append_range(std::vector<T>& all, std::span<const T> some);
  void add_list(EventKind kind, std::span<const TensorIndex> tensors);
  void check_tensors(std::span<const TensorIndex> tensors) const;
  void check_names(std::initializer_list<NameIndex> names) const;

  NamePool names_;
  std::vector<Setting> headers_;
  std::vector<Event> events_;
  std::vector<Tensor> tensors_;
  detail::PlaceTable by_id_;
  std::vector<Kernel> kernels_;
  std::vector<Operand> operands_;
  std::vector<Range> list_ranges_;  // ranges in lists_, of archives and retires
  std::vector<TensorIndex> lists_;
  std::vector<Measurement> measurements_;
  std::vector<Migration> migrations_;
  std::vector<Stall> stalls_;
  std::vector<Hint> hints_;
  std::vector<Fault> faults_;
  std::vector<RowAccess> row_accesses_;
  std::vector<std::uint64_t> rows_;
  std::vector<Setting> settings_;
  std::vector<Placement> placements_;
  std::uint32_t iterations_ = 0;  // number that have ended
};

}  // namespace tier::trace
