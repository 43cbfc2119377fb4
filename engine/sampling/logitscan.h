// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/sampling/candidates.h"
#include "engine/sampling/scratch.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tokenloupe {

/// Passes over the logits of the whole vocabulary. All but findFlaw() and scanLogits() expect logits without
/// NaN and +inf; the counts leave them out.

/// The order in which lists are sorted and the draw walks: larger logits first, equal ones by rising id.
inline bool comesBefore(const Candidate &a, const Candidate &b)
{
    return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

/// The same for algorithms, which can inline it as a type.
struct InDescendingOrder
{
    bool operator()(const Candidate &a, const Candidate &b) const { return comesBefore(a, b); }
};

enum class LogitFlaw { None, NotANumber, PositiveInfinity };
/// The worst that the logits hold: +inf, else NaN, else nothing. -inf is no flaw: it bans a token.
LogitFlaw findFlaw(std::span<const float> logits);
struct LogitScan
{
    float maximum = 0.0F; ///< NaN does not count; -inf when there is nothing else
    LogitFlaw flaw = LogitFlaw::None;
};
LogitScan scanLogits(std::span<const float> logits);

/// The `count` first in the order of comesBefore(), sorted. Keeps a short list and a rising threshold, so
/// that most of the vocabulary costs one comparison.
std::vector<Candidate> selectTop(std::span<const float> logits, std::size_t count);
/// The same over a list.
std::vector<Candidate> selectTop(std::vector<Candidate> items, std::size_t count);

/// Largest first. No NaN.
void sortDescending(std::span<float> logits);

/// A part of a row: which ones, by rising index, and their logits.
struct LogitPart
{
    Scratch<std::uint32_t> indices;
    Scratch<float> logits;
};
LogitPart selectAtLeast(std::span<const float> logits, double threshold);
/// The logits alone, by rising index: low ≤ logit < high.
Scratch<float> valuesBetween(std::span<const float> logits, float low, float high);

/// The index of the first with exactly this logit, or of the one `skipped` such further on; logits.size()
/// when there is none.
std::size_t indexOfEqual(std::span<const float> logits, float value, std::size_t skipped = 0);
std::size_t countGreater(std::span<const float> logits, float value);
std::size_t countEqual(std::span<const float> logits, float value);

/// out[i] = logits[i] / divisor, -inf where logits[i] < floor. `out` may be the same memory.
void divideAll(std::span<const float> logits, float floor, float divisor, std::span<float> out);

} // namespace tokenloupe
