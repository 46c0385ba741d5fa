// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The standard's containers twice: on plain memory and on a resource, changed in step.
#include <tier/pmr/copy_in.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <list>
#include <map>
#include <memory_resource>
#include <numeric>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tier::test {

/// Two containers of a kind, which exchange elements or all their contents.
template <class Container>
struct Two {
  explicit Two(auto... resource) : one{resource...}, other{resource...} {}

  Container one, other;
};

/// A program's data, in containers of `std` or of `std::pmr`.
template <class Vector, class Deque, class List, class Map, class Unordered, class String, class Nested>
class Containers {
 public:
  explicit Containers(auto... resource)
      : vector_{resource...},
        deque_{resource...},
        list_{resource...},
        map_{resource...},
        unordered_{resource...},
        string_{resource...},
        nested_{resource...} {}

  /// Makes one random change.   \return  a number that depends on the contents read
  std::uint64_t step(std::uint64_t random) {
    const auto key = (random >> 8) % 4000;
    const bool grows = (random >> 40) % 2 == 0;
    switch (random % 16) {
      case 0:
        return change_end(vector_.one, key, grows);
      case 1:
        return change_end(deque_.one, key, grows);
      case 2:
        return grows ? change_middle(vector_.one, key) : change_middle(deque_.one, key);
      case 3:
        return change_list(key, grows);
      case 4:
        return change_links(key, grows);
      case 5:
      case 6:
        return change_map(map_.one, key, grows);
      case 7:
        return move_node(map_, key, grows);
      case 8:
      case 9:
        return change_map(unordered_.one, key, grows);
      case 10:
        return move_node(unordered_, key, grows);
      case 11:
        return change_string(key, grows);
      case 12:
        return random >> 61 == 0 ? rearrange_one(random >> 48, key) : change_string(key, grows);
      default:
        return change_nested(nested_.one[key % 300], key, grows);
    }
  }
  template <class Other>
  [[nodiscard]] bool equals(const Other& other) const {
    const auto same = [](const auto& a, const auto& b) { return std::ranges::equal(a, b); };
    const auto same_lookups = [](const auto& a, const auto& b) { return finds_all(a, b); };
    const auto same_nested = [](const auto& a, const auto& b) { return has_same_words(a, b); };
    return both(vector_, other.vector_, same) && both(deque_, other.deque_, same) &&
           both(list_, other.list_, same) && both(map_, other.map_, same) &&
           both(string_, other.string_, same) && both(unordered_, other.unordered_, same_lookups) &&
           both(nested_, other.nested_, same_nested);
  }

 private:
  template <class, class, class, class, class, class, class>
  friend class Containers;

  static std::uint64_t change_end(auto& sequence, std::uint64_t key, bool grows) {
    if (grows || sequence.empty())
      sequence.insert(sequence.end(), 1 + key % 200, key);
    else
      sequence.resize(sequence.size() - std::min<std::size_t>(sequence.size(), key % 200));
    if (sequence.size() > 400'000) sequence.clear();
    return sequence.empty() ? 0 : sequence[key % sequence.size()];
  }
  /// Inserts about as many elements as it erases.
  static std::uint64_t change_middle(auto& sequence, std::uint64_t key) {
    const auto at = [&](std::size_t i) {
      return std::next(sequence.begin(), static_cast<std::ptrdiff_t>(i));
    };
    sequence.insert(at(key % (sequence.size() + 1)), 1 + key % 50, key);
    const auto first = key * 7 % sequence.size();
    sequence.erase(at(first), at(std::min(first + 1 + key % 50, sequence.size())));
    sequence.emplace(at(sequence.size() / 2), key);
    return *at(key % sequence.size());
  }
  std::uint64_t change_list(std::uint64_t key, bool grows) {
    auto& list = list_.one;
    if (grows || list.empty()) return list.push_front(key), key;
    const auto value = list.front();
    list.pop_front();
    return value;
  }
  /// Moves elements between lists by their links alone.
  std::uint64_t change_links(std::uint64_t key, bool grows) {
    auto& [one, other] = list_;
    const auto place = std::next(one.begin(), static_cast<std::ptrdiff_t>(std::min(key % 8, one.size())));
    if (grows)
      one.insert(place, 2, key);
    else if (key % 64 == 0)
      one.splice(place, other);
    else
      other.splice(other.begin(), one, one.begin(), place);
    if (other.size() > 1000) other.erase(std::next(other.begin(), 10), other.end());
    return other.empty() ? 0 : other.front() + other.back();
  }
  static std::uint64_t change_map(auto& map, std::uint64_t key, bool grows) {
    if (grows) return map[key] += key;
    const auto found = map.find(key);
    if (found == map.end()) return 0;
    const auto value = found->second;
    if (key % 3 == 0) map.erase(found);
    return value;
  }
  /// Moves a node between maps, and changes its key.
  static std::uint64_t move_node(auto& maps, std::uint64_t key, bool there) {
    auto& [one, other] = maps;
    auto node = there ? one.extract(key) : other.extract(key);
    if (!node) return 0;
    node.key() = (key * 31 + 1) % 4000;
    const auto placed = (there ? other : one).insert(std::move(node));
    return placed.position->first + placed.position->second + (placed.inserted ? 1 : 0);
  }
  std::uint64_t change_string(std::uint64_t key, bool grows) {
    auto& string = string_.one;
    if (string.size() < key)
      string.append(key % 300, letter(key));
    else if (grows)
      string.insert(key, key % 300, letter(key));
    else if (key % 4 == 0)
      string.replace(key, key % 500, key % 700, letter(key));
    else
      string.erase(key, key % 500);
    if (string.size() > 3'000'000) string.resize(1000);
    return string.empty() ? 0 : static_cast<std::uint64_t>(string[key % string.size()]);
  }
  static std::uint64_t change_nested(auto& words, std::uint64_t key, bool grows) {
    if (grows || words.empty())
      words.emplace_back(key % 900, letter(key));
    else
      words.erase(words.begin() + static_cast<std::ptrdiff_t>(key % words.size()));
    return std::accumulate(words.begin(), words.end(), words.size(),
                           [](std::uint64_t sum, const auto& word) { return sum * 31 + word.size(); });
  }
  static char letter(std::uint64_t key) { return static_cast<char>('a' + key % 26); }

  std::uint64_t rearrange_one(std::uint64_t how, std::uint64_t key) {
    switch (key % 16) {
      case 0:
        return rearrange(vector_, how);
      case 1:
        return rearrange(deque_, how);
      case 2:
        return rearrange(list_, how);
      case 3:
        return rearrange(map_, how);
      case 4:
        return rearrange(unordered_, how);
      case 5:
        return rearrange(string_, how);
      case 6:
        return rearrange(nested_, how);
      default:
        return join(key);
    }
  }
  /// Moves all contents of a container elsewhere in the same resource.
  static std::uint64_t rearrange(auto& containers, std::uint64_t how) {
    auto& [one, other] = containers;
    switch (how % 4) {
      case 0:
        other = copied(one);
        break;
      case 1: {
        auto moved = std::move(other);
        one = std::move(moved);
        other.clear();
        break;
      }
      case 2:
        other = one;
        break;
      default:
        one.swap(other);
    }
    if constexpr (requires { one.shrink_to_fit(); }) one.shrink_to_fit();
    return one.size() + other.size();
  }
  template <class Container>
  static Container copied(const Container& container) {
    if constexpr (requires { container.get_allocator().resource(); })
      return copy_in(*container.get_allocator().resource(), container);
    else
      return container;
  }
  /// Merges two lists or maps.
  std::uint64_t join(std::uint64_t key) {
    if (key % 16 < 10) return join_maps(map_);
    if (key % 16 < 13) return join_maps(unordered_);
    list_.one.sort();
    list_.other.sort();
    list_.one.merge(list_.other);
    if (list_.one.size() > 2000) list_.one.resize(1000);  // merging doubles what copies made equal
    return list_.one.empty() ? 0 : list_.one.back();
  }
  static std::uint64_t join_maps(auto& maps) {
    maps.one.merge(maps.other);  // elements with keys in both stay
    return maps.one.size() + maps.other.size();
  }

  static bool both(const auto& a, const auto& b, auto same) {
    return same(a.one, b.one) && same(a.other, b.other);
  }
  static bool finds_all(const auto& a, const auto& b) {
    return a.size() == b.size() && std::ranges::all_of(a, [&](const auto& entry) {
             const auto found = b.find(entry.first);
             return found != b.end() && found->second == entry.second;
           });
  }
  static bool has_same_words(const auto& a, const auto& b) {
    return std::ranges::equal(a, b, [](const auto& x, const auto& y) {
      return x.first == y.first && std::ranges::equal(x.second, y.second, [](const auto& v, const auto& w) {
               return std::ranges::equal(v, w);
             });
    });
  }

  Two<Vector> vector_;
  Two<Deque> deque_;
  Two<List> list_;
  Two<Map> map_;
  Two<Unordered> unordered_;
  Two<String> string_;
  Two<Nested> nested_;
};

using Number = std::uint64_t;
using PlainContainers =
    Containers<std::vector<Number>, std::deque<Number>, std::list<Number>, std::map<Number, Number>,
               std::unordered_map<Number, Number>, std::string, std::map<Number, std::vector<std::string>>>;
using PmrContainers = Containers<std::pmr::vector<Number>, std::pmr::deque<Number>, std::pmr::list<Number>,
                                 std::pmr::map<Number, Number>, std::pmr::unordered_map<Number, Number>,
                                 std::pmr::string, std::pmr::map<Number, std::pmr::vector<std::pmr::string>>>;

/// Changes both in step.   \throws  `std::logic_error` if they differ
class BothContainers {
 public:
  explicit BothContainers(std::pmr::memory_resource& resource) : ours_{&resource} {}

  void step(std::uint64_t random) {
    if (plain_.step(random) != ours_.step(random))
      throw std::logic_error{"a container has read another value"};
  }
  void compare() const {
    if (!ours_.equals(plain_)) throw std::logic_error{"a container differs"};
  }

 private:
  PlainContainers plain_;
  PmrContainers ours_;
};

/// Makes random steps on all of them in turn; compares them at least eight times on the way, and at the end.
/// \throws  `std::logic_error` if they differ
inline void step_and_compare(std::span<BothContainers* const> all, std::uint64_t steps, std::uint64_t seed) {
  std::mt19937_64 random{seed};
  const auto between = std::clamp<std::uint64_t>(steps / 8, 1, 50'000);
  const auto compare_all = [&] {
    for (const auto* both : all) both->compare();
  };
  for (std::uint64_t i = 0; i < steps; ++i) {
    all[i % all.size()]->step(random());
    if (i % between == between - 1) compare_all();
  }
  compare_all();
}

/// Makes further steps until `holds` is true.   \return  false if that takes more than a minute
[[nodiscard]] inline bool step_until(std::span<BothContainers* const> all, std::uint64_t seed, auto&& holds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes{1};
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    step_and_compare(all, 1000, ++seed);
  }
  return true;
}

}  // namespace tier::test
