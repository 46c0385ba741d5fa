// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "step/recomputation.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "step/liveness.hpp"

namespace training {
namespace {

/// A use of a tensor, by the place of the kernel.
struct Touch {
  std::size_t kernel;
  Role role;
};
using Touches = std::vector<std::vector<Touch>>;

/// Of each tensor, in order.
Touches touches_of(const Step& step) {
  Touches touches(step.tensors.size());
  for (std::size_t k = 0; k < step.kernels.size(); ++k)
    for (const auto& use : step.kernels[k].uses) touches[use.tensor].push_back({k, use.role});
  return touches;
}

/// How a tensor is made again. None reads what another one makes: that may be made later.
struct Recipe {
  TensorId tensor;
  std::size_t before;  ///< the kernel of the backward pass that needs it first
  const Kernel* kernel;
};

class Recomputation {
 public:
  explicit Recomputation(const Step& step) : step_{step}, touches_{touches_of(step)} {}

  /// In the order of their first uses in the backward pass.
  [[nodiscard]] std::vector<Recipe> recipes_of(const std::set<TensorId>& leaving) const {
    std::vector<Recipe> possible, chosen;
    for (const auto tensor : leaving)
      if (const auto recipe = recipe_of(tensor)) possible.push_back(*recipe);
    std::ranges::stable_sort(possible, {}, &Recipe::before);
    std::set<TensorId> remade, read;
    for (const auto& recipe : possible) {
      const auto inputs = inputs_of(recipe);
      const auto is_remade = [&](TensorId input) { return remade.contains(input); };
      if (std::ranges::any_of(inputs, is_remade) || read.contains(recipe.tensor)) continue;
      remade.insert(recipe.tensor);
      read.insert(inputs.begin(), inputs.end());
      chosen.push_back(recipe);
    }
    return chosen;
  }

 private:
  /// None if the last kernel that writes the tensor cannot be repeated, or what that takes would be there no more.
  [[nodiscard]] std::optional<Recipe> recipe_of(TensorId tensor) const {
    const auto& touches = touches_[tensor];
    const auto later = std::ranges::find_if(
        touches, [this](const Touch& touch) { return step_.kernels[touch.kernel].phase != Phase::Forward; });
    const auto written = std::find_if(touches.rbegin(), touches.rend(), writes);
    if (later == touches.end() || written == touches.rend() || written->kernel >= later->kernel) return {};
    const Recipe recipe{tensor, later->kernel, step_.kernels[written->kernel].again.get()};
    if (recipe.kernel == nullptr || !keeps_inputs(recipe, written->kernel)) return {};
    return recipe;
  }

  static bool writes(const Touch& touch) { return touch.role != Role::Reads; }

  /// Whether what a recipe reads is the same as when the tensor was written, and would be there.
  [[nodiscard]] bool keeps_inputs(const Recipe& recipe, std::size_t written) const {
    return std::ranges::all_of(inputs_of(recipe), [&](TensorId input) {
      const auto& touches = touches_[input];
      const auto is_rewritten = [&](const Touch& touch) {
        return writes(touch) && touch.kernel > written && touch.kernel < recipe.before;
      };
      return touches.back().kernel >= recipe.before && std::ranges::none_of(touches, is_rewritten);
    });
  }

  static std::set<TensorId> inputs_of(const Recipe& recipe) {
    std::set<TensorId> inputs;
    for (const auto& use : recipe.kernel->uses)
      if (use.tensor != recipe.tensor) inputs.insert(use.tensor);
    return inputs;
  }

  const Step& step_;
  Touches touches_;
};

/// What leaves during the forward pass.
std::set<TensorId> leaving(const Step& step, Budget budget) {
  std::set<TensorId> tensors;
  const auto hints = hints_of(step, budget);
  for (std::size_t k = 0; k < step.kernels.size(); ++k)
    if (step.kernels[k].phase == Phase::Forward)
      tensors.insert(hints[k].archive.begin(), hints[k].archive.end());
  return tensors;
}

void rename(Kernel& kernel, const std::map<TensorId, TensorId>& names) {
  for (auto& use : kernel.uses)
    if (const auto found = names.find(use.tensor); found != names.end()) use.tensor = found->second;
}

Step rewritten(const Step& step, const std::vector<Recipe>& recipes) {
  Step result{step.network, step.tensors, step.parameters, {}};
  std::map<TensorId, TensorId> remade;
  auto next = recipes.begin();
  for (std::size_t k = 0; k < step.kernels.size(); ++k) {
    for (; next != recipes.end() && next->before == k; ++next) {
      auto tensor = step.tensors[next->tensor];
      tensor.name += ".again";
      remade[next->tensor] = result.tensors.size();
      result.tensors.push_back(std::move(tensor));
      rename(result.kernels.emplace_back(*next->kernel), remade);
    }
    rename(result.kernels.emplace_back(step.kernels[k]), remade);
  }
  return result;
}

/// Kernels between which what the backward pass has made for itself is out of fast memory.
struct Absence {
  TensorId tensor;
  std::size_t from, to;
};

std::vector<Absence> absences_of(const Step& step, Budget budget) {
  const auto touches = touches_of(step);
  const auto hints = hints_of(step, budget);
  std::vector<Absence> absences;
  for (std::size_t k = 0; k < step.kernels.size(); ++k)
    for (const auto tensor : hints[k].archive) {
      const auto& of = touches[tensor];
      if (tensor < step.parameters.size() || step.kernels[of.front().kernel].phase == Phase::Forward)
        continue;
      const auto next = std::ranges::find_if(of, [k](const Touch& touch) { return touch.kernel > k; });
      absences.push_back({tensor, k, next->kernel});
    }
  return absences;
}

/// Without those that drive a gradient out, which then passes as often as the tensor would have. Gradients that were absent
/// before are not their doing.
std::vector<Recipe> without_harm(const std::vector<Recipe>& recipes, const std::vector<Absence>& before,
                                 const std::vector<Absence>& after) {
  std::vector<Recipe> kept;
  for (std::size_t i = 0; i < recipes.size(); ++i) {
    const auto place = recipes[i].before + i;  // each recipe before it has added a kernel
    const auto is_cause = [&](const Absence& absence) {
      return absence.from < place && place < absence.to &&
             std::ranges::find(before, absence.tensor, &Absence::tensor) == before.end();
    };
    if (std::ranges::none_of(after, is_cause)) kept.push_back(recipes[i]);
  }
  return kept;
}

}  // namespace

Step with_recomputation(const Step& step, Budget budget) {
  const auto before = absences_of(step, budget);
  auto recipes = Recomputation{step}.recipes_of(leaving(step, budget));
  for (;;) {
    auto result = rewritten(step, recipes);
    auto kept = without_harm(recipes, before, absences_of(result, budget));
    if (kept.size() == recipes.size()) return result;
    recipes = std::move(kept);
  }
}

}  // namespace training
