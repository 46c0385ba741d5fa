// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Says that objects are not expected to be touched inside.
#include <tier/core/export.hpp>
#include <tier/scope/hints.hpp>

#include <boost/container/small_vector.hpp>
#include <span>
#include <vector>

namespace tier {

class ArchiveScope;

namespace detail {
/// No other scope to be moved, and no set of objects.
template <class... Ts>
concept RefusedByArchive = (!std::same_as<std::remove_cvref_t<Ts>, ArchiveScope> && ...) &&
                           (!std::convertible_to<Ts, std::span<const ObjectRef>> && ...);
}  // namespace detail

/// Archives on entry, as `archive` does, and says `will_use` on exit: of objects, of containers and groups in windows, of
/// `x.rows(a, b)`. Neither pins nor gives views; touching inside works, and ends the archiving of what is touched.
/// \pre          What it is given outlives the scope; of containers their resources are enough.
/// \threadsafety  Made, moved and ended on one thread at a time.
class [[nodiscard]] TIER_EXPORT ArchiveScope {
 public:
  template <HintOperand<Use::Read>... Ts>
  explicit ArchiveScope(Ts&&... objects) {
    (add(objects), ...);
    archive_all();
  }
  template <class... Ts>
  requires(detail::RefusedByArchive<Ts...> &&
           !(HintOperand<Ts, Use::Read> && ...)) explicit ArchiveScope(Ts&&...) {
    (detail::refuse_unless<HintOperand<Ts, Use::Read>, Use::Read, Ts>(), ...);
  }
  explicit ArchiveScope(std::span<const ObjectRef> objects);
  ArchiveScope(ArchiveScope&& other) noexcept;
  ArchiveScope& operator=(ArchiveScope&& other) = delete;
  ~ArchiveScope();

 private:
  template <class T>
  void add(const T& object) {
    if constexpr (ScopedInWindows<T>)
      add_runs(detail::blocks_of(object));
    else
      objects_.push_back(ScopeTraits<T>::object(object));
  }
  void add_runs(std::vector<BlockRef> blocks);
  void archive_all() const;

  boost::container::small_vector<ObjectRef, 8> objects_;
  std::vector<detail::OwnedRun> runs_;  // of blocks in windows: an end looks at nothing that may have changed
};

}  // namespace tier
