// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The standard's containers twice: on plain memory and on a resource, in step.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory_resource>
#include <numeric>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace tier::test {

/// What a program keeps, in containers of `std` or of `std::pmr`.
template <class Vector, class Deque, class List, class Map, class Unordered, class String, class Nested>
struct Containers {
  explicit Containers(auto... resource)
      : vector{resource...},
        deque{resource...},
        list{resource...},
        map{resource...},
        unordered{resource...},
        string{resource...},
        nested{resource...} {}

  /// One random change.   \return  what it has read, in a number
  std::uint64_t step(std::uint64_t random) {
    const auto key = (random >> 8) % 4000;
    const auto kind = random % 16;
    const bool grows = (random >> 40) % 2 == 0;
    switch (kind) {
      case 0:
        return change_sequence(vector, key, grows);
      case 1:
      case 2:
        return change_sequence(deque, key, grows);
      case 3:
      case 4:
        if (grows || list.empty()) return list.push_front(key), key;
        return take_front(list);
      case 5:
      case 6:
      case 7:
        return change_map(map, key, grows);
      case 8:
      case 9:
      case 10:
        return change_map(unordered, key, grows);
      case 11:
        if (grows || string.size() < key)
          string.append(key % 300, static_cast<char>('a' + key % 26));
        else
          string.erase(key, key % 500);
        if (string.size() > 3'000'000) string.resize(1000);
        return string.empty() ? 0 : static_cast<std::uint64_t>(string[key % string.size()]);
      default:
        auto& words = nested[key % 300];
        if (grows || words.empty())
          words.emplace_back(key % 900, static_cast<char>('a' + key % 26));
        else
          words.erase(words.begin() + static_cast<std::ptrdiff_t>(key % words.size()));
        return std::accumulate(words.begin(), words.end(), words.size(),
                               [](std::uint64_t sum, const auto& word) { return sum * 31 + word.size(); });
    }
  }
  template <class Other>
  [[nodiscard]] bool equals(const Other& other) const {
    return std::ranges::equal(vector, other.vector) && std::ranges::equal(deque, other.deque) &&
           std::ranges::equal(list, other.list) && std::ranges::equal(map, other.map) &&
           string.compare(0, string.size(), other.string.data(), other.string.size()) == 0 &&
           same_lookups(unordered, other.unordered) && same_nested(other);
  }

  Vector vector;
  Deque deque;
  List list;
  Map map;
  Unordered unordered;
  String string;
  Nested nested;

 private:
  static std::uint64_t change_sequence(auto& sequence, std::uint64_t key, bool grows) {
    if (grows || sequence.empty())
      sequence.insert(sequence.end(), 1 + key % 200, key);
    else
      sequence.resize(sequence.size() - std::min<std::size_t>(sequence.size(), key % 200));
    if (sequence.size() > 400'000) sequence.clear();
    return sequence.empty() ? 0 : sequence[key % sequence.size()];
  }
  static std::uint64_t take_front(auto& list) {
    const auto value = list.front();
    list.pop_front();
    return value;
  }
  static std::uint64_t change_map(auto& map, std::uint64_t key, bool grows) {
    if (grows) return map[key] += key;
    const auto found = map.find(key);
    if (found == map.end()) return 0;
    const auto value = found->second;
    if (key % 3 == 0) map.erase(found);
    return value;
  }
  static bool same_lookups(const auto& a, const auto& b) {
    return a.size() == b.size() && std::ranges::all_of(a, [&](const auto& entry) {
             const auto found = b.find(entry.first);
             return found != b.end() && found->second == entry.second;
           });
  }
  bool same_nested(const auto& other) const {
    return std::ranges::equal(nested, other.nested, [](const auto& a, const auto& b) {
      return a.first == b.first && std::ranges::equal(a.second, b.second, [](const auto& x, const auto& y) {
               return std::ranges::equal(x, y);
             });
    });
  }
};

using Number = std::uint64_t;
using PlainContainers =
    Containers<std::vector<Number>, std::deque<Number>, std::list<Number>, std::map<Number, Number>,
               std::unordered_map<Number, Number>, std::string, std::map<Number, std::vector<std::string>>>;
using PmrContainers = Containers<std::pmr::vector<Number>, std::pmr::deque<Number>, std::pmr::list<Number>,
                                 std::pmr::map<Number, Number>, std::pmr::unordered_map<Number, Number>,
                                 std::pmr::string, std::pmr::map<Number, std::pmr::vector<std::pmr::string>>>;

/// Both, changed in step.   \throws  `std::logic_error` where they differ
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
  [[nodiscard]] const PmrContainers& ours() const noexcept { return ours_; }

 private:
  PlainContainers plain_;
  PmrContainers ours_;
};

/// Random steps on all of them in turns, compared eight times on the way or more often, and at the end.
/// \throws  `std::logic_error` where they differ
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

}  // namespace tier::test
