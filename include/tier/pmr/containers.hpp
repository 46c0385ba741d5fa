// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Boost containers over memory resources, for cases in which they are better than the standard's.
#include <tier/pmr/allocator.hpp>

#include <boost/container/container_fwd.hpp>
#include <boost/container/flat_map.hpp>
#include <boost/container/flat_set.hpp>
#include <boost/container/small_vector.hpp>
#include <boost/container/stable_vector.hpp>
#include <boost/container/vector.hpp>
#include <cstddef>
#include <functional>
#include <utility>
#if __has_include(<boost/container/devector.hpp>)
#include <boost/container/devector.hpp>
#endif

/// All are made with a resource: `containers::vector<float> v{&resource};`. A container made without one throws
/// `ConfigError` when it allocates.
namespace tier::containers {

/// A vector for elements that are about to be overwritten: it default-initialises new ones, so that those of trivial
/// types are not zeroed. Elements move in one piece when it grows.
/// \code{.cpp}
/// tier::MigratingResource memory{runtime};
/// tier::containers::vector<float> samples{&memory};
/// samples.resize(1 << 20);  // no element has a value yet
/// std::fill(samples.begin(), samples.end(), 1.0F);
/// \endcode
template <class T>
class vector : public boost::container::vector<T, Allocator<T>> {
  using Base = boost::container::vector<T, Allocator<T>>;

 public:
  using Base::Base;
  /// Makes `count` elements, default-initialised: those of trivial types have no value yet.
  vector(std::size_t count, const Allocator<T>& allocator)
      : Base(count, boost::container::default_init, allocator) {}

  using Base::resize;
  /// Default-initialises new elements: those of trivial types have no value yet.
  void resize(std::size_t count) { Base::resize(count, boost::container::default_init); }
};

/// A vector for few elements: it has room for `Inline` of them in itself.
/// \code{.cpp}
/// tier::StatisticsResource counted{*std::pmr::new_delete_resource()};
/// tier::containers::small_vector<int, 4> few{&counted};
/// for (int i = 0; i < 4; ++i) few.push_back(i);
/// assert(counted.statistics().allocations == 0);
/// \endcode
template <class T, std::size_t Inline>
class small_vector : public boost::container::small_vector<T, Inline, Allocator<T>> {
  using Base = boost::container::small_vector<T, Inline, Allocator<T>>;

 public:
  using Base::Base;
  explicit small_vector(const Allocator<T>& allocator) : Base(typename Base::allocator_type{allocator}) {}
};

/// A map in one sorted array, for data that is read more than it is changed.
template <class Key, class T, class Compare = std::less<Key>>
using flat_map = boost::container::flat_map<Key, T, Compare, Allocator<std::pair<Key, T>>>;
template <class Key, class Compare = std::less<Key>>
using flat_set = boost::container::flat_set<Key, Compare, Allocator<Key>>;

/// A vector whose elements never move.
template <class T>
using stable_vector = boost::container::stable_vector<T, Allocator<T>>;

#if __has_include(<boost/container/devector.hpp>)
/// A vector that grows at both ends; from Boost 1.76 on.
template <class T>
using devector = boost::container::devector<T, Allocator<T>>;
#endif

}  // namespace tier::containers
