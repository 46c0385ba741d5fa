// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/request_size.hpp>
#include <tier/tensor/storage.hpp>

#include <atomic>

namespace tier::detail {
namespace {

/// Returns ids for memory that no manager knows; managers count up from 1, so these never meet.
ObjectId next_unmanaged_id() noexcept {
  static std::atomic<ObjectId> last{ObjectId{1} << 63};
  return last.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

TensorStorage::TensorStorage(const RuntimeRef& runtime, Bytes size, std::size_t alignment,
                             std::string_view name, bool in_window)
    : handle_{in_window ? runtime.manager()->create_window(size, alignment, name)
                        : runtime.manager()->create(size, alignment, name)},
      size_{size},
      alignment_{alignment} {}

namespace {

/// Checks the size, because a resource of others may overflow when it rounds a huge size up.
std::byte* allocate(std::pmr::memory_resource& resource, Bytes size, std::size_t alignment) {
  check_request(size.count, alignment);
  return static_cast<std::byte*>(resource.allocate(size.count, alignment));
}

}  // namespace

TensorStorage::TensorStorage(std::pmr::memory_resource& resource, Bytes size, std::size_t alignment)
    : resource_{&resource},
      address_{allocate(resource, size, alignment)},
      size_{size},
      alignment_{alignment},
      id_{next_unmanaged_id()} {}

TensorStorage::TensorStorage(void* address, Bytes size, std::size_t alignment) noexcept
    : address_{static_cast<std::byte*>(address)},
      size_{size},
      alignment_{alignment},
      id_{next_unmanaged_id()} {}

TensorStorage::TensorStorage(TensorStorage&& other) noexcept
    : handle_{std::move(other.handle_)},
      resource_{std::exchange(other.resource_, nullptr)},
      address_{std::exchange(other.address_, nullptr)},
      size_{other.size_},
      alignment_{other.alignment_},
      id_{std::exchange(other.id_, 0)} {}

TensorStorage& TensorStorage::operator=(TensorStorage&& other) noexcept {
  if (this == &other) return *this;
  release();
  handle_ = std::move(other.handle_);
  resource_ = std::exchange(other.resource_, nullptr);
  address_ = std::exchange(other.address_, nullptr);
  size_ = other.size_;
  alignment_ = other.alignment_;
  id_ = std::exchange(other.id_, 0);
  return *this;
}

TensorStorage TensorStorage::another(std::string_view name) const {
  if (handle_) return {RuntimeRef{handle_.manager()}, size_, alignment_, name, window() != nullptr};
  return {resource_ != nullptr ? *resource_ : *std::pmr::new_delete_resource(), size_, alignment_};
}

void TensorStorage::release() noexcept {
  if (resource_ != nullptr) resource_->deallocate(address_, size_.count, alignment_);
}

}  // namespace tier::detail
