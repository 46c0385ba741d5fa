// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "steps/recomputation.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "steps/liveness.hpp"

namespace training {
namespace {

/// A use of a tensor, by the index of the kernel.
struct Touch {
  std::size_t kernel;
  Role role;
};
using Touches = std::vector<std::vector<Touch>>;

/// Returns the uses of each tensor, in order.
Touches touches_of(const Step& step) {
  Touches touches(step.tensors.size());
  for (std::size_t k = 0; k < step.kernels.size(); ++k)
    for (const auto& use : step.kernels[k].uses) touches[use.tensor].push_back({k, use.role});
  return touches;
}

/// How to make a tensor again. No recipe reads what another one makes, which may be made later.
struct Recipe {
  TensorId tensor;
  std::size_t before;  ///< the first kernel of the backward pass that needs it
  const Kernel* kernel;
};

class Recomputation {
 public:
  explicit Recomputation(const Step& step) : step_{step}, touches_{touches_of(step)} {}

  /// Returns the recipes in the order of first use in the backward pass.
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
  /// Returns none if the last kernel that writes the tensor cannot be repeated, or its inputs would be gone.
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

  /// True if a recipe's inputs still exist, unchanged since the tensor was written.
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

/// Returns the tensors that leave during the forward pass.
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

/// The kernels between which a tensor made in the backward pass is out of fast memory.
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

/// Removes recipes that evict a gradient, which would then move as often as the tensor would have. Gradients that were
/// absent before do not count.
std::vector<Recipe> without_harm(const std::vector<Recipe>& recipes, const std::vector<Absence>& before,
                                 const std::vector<Absence>& after) {
  std::vector<Recipe> kept;
  for (std::size_t i = 0; i < recipes.size(); ++i) {
    const auto place = recipes[i].before + i;  // each earlier recipe has added a kernel
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
