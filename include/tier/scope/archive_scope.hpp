// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A scope in which objects are not expected to be touched.
#include <tier/core/export.hpp>
#include <tier/scope/hints.hpp>

#include <boost/container/small_vector.hpp>
#include <span>
#include <vector>

namespace tier {

class ArchiveScope;

namespace detail {
/// True for arguments that are neither another scope to be moved nor a set of objects.
template <class... Ts>
concept RefusedByArchive = (!std::same_as<std::remove_cvref_t<Ts>, ArchiveScope> && ...) &&
                           (!std::convertible_to<Ts, std::span<const ObjectRef>> && ...);
}  // namespace detail

/// Says for the time of a block of code that objects are not used in it, so that they may leave fast memory meanwhile.
/// Archives on entry, as `archive` does, and hints `will_use` on exit.
/// \code{.cpp}
/// tier::Tensor<float> gradients{runtime, {1024, 1024}};
/// {
///   const tier::ArchiveScope aside{gradients};
///   // a part of the program that has no use for them
/// }  // a policy may begin to bring them back
/// \endcode
///
/// For objects, for containers and groups in windows, and for `x.rows(a, b)`. Neither pins nor gives views. Touching
/// inside works, and ends the archiving of what is touched.
/// \pre          The arguments outlive the scope; of containers, only their resources need to.
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
  std::vector<detail::OwnedRun> runs_;  // of blocks in windows: the end reads nothing that may have changed
};

}  // namespace tier
