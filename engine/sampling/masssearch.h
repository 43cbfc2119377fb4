// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/sampling/softmaxsums.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

namespace tokenloupe {

/// When a running sum of weights has come far enough.
enum class Reach { AtLeast, MoreThan };

struct MassGoal
{
    double sum = 0.0; ///< in units of the largest weight
    Reach reach = Reach::AtLeast;

    bool isMet(double running) const { return reach == Reach::AtLeast ? running >= sum : running > sum; }
};

/// The entry of a row with which the running sum meets the goal.
struct MassPoint
{
    std::uint32_t index = 0; ///< in the row
    float logit = 0.0F;
    std::size_t count = 0; ///< entries up to it, itself included
    double sum = 0.0;      ///< of their weights
    bool isLastOfItsLogit = false;
};

/// Logits by rising index, of which those below the floor do not count.
struct FlooredRow
{
    std::span<const float> logits;
    float floor = -std::numeric_limits<float>::infinity();
    std::size_t below = 0; ///< how many those are
};

/// Walks a row of logits in descending order (equal ones by rising index), summing e^(l - maximum), up to
/// where the goal is met; without sorting: narrows down the stretch of the order in which that happens, by
/// the exact sums of what lies in front of it. Nothing when the whole row is not enough. Logits as in
/// CandidateSet; `weights` are those of the row without what is below the floor.
std::optional<MassPoint> findMass(const FlooredRow &row, const SoftmaxWeights &weights, MassGoal goal);

} // namespace tokenloupe
