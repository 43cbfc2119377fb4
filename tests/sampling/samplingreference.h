// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/sampling/samplersettings.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tokenloupe::test {

/// The sampler stages as one would write them from the formulas: every stage sorts the whole list and works
/// in double precision. Slow, short, and with nothing in common with the code under test.
struct ReferenceToken
{
    std::uint32_t id = 0;
    float logit = 0.0F;
};
using ReferenceList = std::vector<ReferenceToken>;

/// What a stage of the reference was close to deciding otherwise: a rounding error in the eighth digit of a
/// probability may tip it.
struct ReferenceResult
{
    ReferenceList list; ///< descending, equal logits by id
    bool closeCall = false;
};

ReferenceResult referenceFilter(std::span<const float> logits, std::span<const TokenId> history,
                                const SamplerSettings &settings);
std::vector<double> referenceSoftmax(const ReferenceList &list);

enum class LogitShape {
    Gaussian, ///< normal, deviation 3: what an uncertain model gives
    Peaked,   ///< a few large values over a broad floor: a certain one
    Ties,     ///< only 8 different values
    Holes,    ///< every third -inf, every seventh NaN
    Huge,     ///< ±3e38
    Tiny,     ///< subnormal differences
};
std::string shapeName(LogitShape shape);
constexpr LogitShape allShapes[] = {LogitShape::Gaussian, LogitShape::Peaked, LogitShape::Ties,
                                    LogitShape::Holes,    LogitShape::Huge,   LogitShape::Tiny};
/// At least the first value is finite.
std::vector<float> randomLogits(std::uint64_t seed, std::size_t n, LogitShape shape);
std::vector<TokenId> randomHistory(std::uint64_t seed, std::size_t length, std::size_t vocabulary);
/// One of a few dozen chains: any order, any stage on or off.
SamplerSettings randomSettings(std::uint64_t seed, std::size_t vocabulary);

} // namespace tokenloupe::test
