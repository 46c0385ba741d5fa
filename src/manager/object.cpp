// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/manager/manager.hpp>
#include <tier/manager/object.hpp>

#include <utility>

namespace tier {

ObjectHandle& ObjectHandle::operator=(ObjectHandle&& other) noexcept {
  if (this == &other) return *this;
  reset();
  manager_ = std::move(other.manager_);
  object_ = std::exchange(other.object_, nullptr);
  return *this;
}

void ObjectHandle::reset() noexcept {
  if (object_ == nullptr) return;
  // The core may end with this handle: it must not end inside its own lock.
  const auto manager = std::move(manager_);
  manager->destroy(*release());
}

}  // namespace tier
