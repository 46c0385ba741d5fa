// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Says that objects are not expected to be touched inside.
#include <tier/core/export.hpp>
#include <tier/scope/operands.hpp>

#include <boost/container/small_vector.hpp>
#include <span>

namespace tier {

/// Archives its objects on entry and says `will_use` on exit. Neither pins nor gives views; touching an object inside
/// works, and ends its archiving.
/// \pre          The objects outlive the scope.
/// \threadsafety  Made, moved and ended on one thread at a time.
class [[nodiscard]] TIER_EXPORT ArchiveScope {
 public:
  template <ReadOperand... Ts>
  explicit ArchiveScope(Ts&&... objects)
      : ArchiveScope{{ScopeTraits<std::remove_cvref_t<Ts>>::object(objects)...}} {}
  explicit ArchiveScope(std::span<const ObjectRef> objects);
  ArchiveScope(ArchiveScope&& other) noexcept : objects_{std::move(other.objects_)} {
    other.objects_.clear();
  }
  ArchiveScope& operator=(ArchiveScope&& other) = delete;
  ~ArchiveScope();

 private:
  ArchiveScope(std::initializer_list<ObjectRef> objects)
      : ArchiveScope{std::span{objects.begin(), objects.size()}} {}

  boost::container::small_vector<ObjectRef, 8> objects_;
};

}  // namespace tier
