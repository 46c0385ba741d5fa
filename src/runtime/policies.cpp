// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/builtin_policies.hpp"

#include <tier/core/error.hpp>
#include <tier/core/mutex.hpp>
#include <tier/core/policy_spec.hpp>
#include <tier/core/suggestion.hpp>
#include <tier/runtime/policies.hpp>

#include <map>

namespace tier {
namespace {

class Registry {
 public:
  static Registry& instance() {
    static auto* const registry = new Registry;  // never destroyed, because `default_runtime` is not either
    return *registry;
  }

  void add(const std::string& name, PolicyFactory&& factory) {
    MutexLock lock{mutex_};
    if (!entries_.try_emplace(name, std::move(factory)).second)
      throw ConfigError{"policy \"" + name + "\" is registered already"};
  }
  [[nodiscard]] std::vector<std::string> names() {
    MutexLock lock{mutex_};
    std::vector<std::string> names;
    for (const auto& [name, factory] : entries_) names.push_back(name);
    return names;
  }
  /// Returns a copy, because factories are the program's code and run without our lock.
  [[nodiscard]] PolicyFactory find(const PolicySpec& spec, std::string_view text) {
    MutexLock lock{mutex_};
    const auto it = entries_.find(spec.name);
    if (it != entries_.end()) return it->second;
    std::string allowed;
    for (const auto& [name, factory] : entries_) allowed.append(allowed.empty() ? "" : ", ").append(name);
    throw ConfigError{"unknown policy \"" + spec.name + "\"" + detail::did_you_mean(spec.name, allowed), text,
                      0, allowed};
  }

 private:
  Registry() {
    for (const auto& policy : detail::builtin_policies())
      entries_.try_emplace(std::string{policy.name}, policy.make);
  }

  Mutex mutex_;
  std::map<std::string, PolicyFactory> entries_ TIER_GUARDED_BY(mutex_);
};

}  // namespace

void register_policy(const std::string& name, PolicyFactory factory) {
  if (parse_policy(name).name != name)
    throw ConfigError{"a policy is registered by its name alone, without options, not as \"" + name + "\""};
  if (factory == nullptr) throw ConfigError{"policy \"" + name + "\" has no factory"};
  Registry::instance().add(name, std::move(factory));
}

std::vector<std::string> policy_names() { return Registry::instance().names(); }

std::unique_ptr<Policy> make_policy(std::string_view spec) {
  const auto parsed = parse_policy(spec);
  auto policy = Registry::instance().find(parsed, spec)(parsed.options);
  if (policy == nullptr)
    throw ConfigError{"the factory of policy \"" + parsed.name + "\" has returned no policy"};
  return policy;
}

}  // namespace tier
