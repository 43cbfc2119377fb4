// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compare/divergence.h"

#include "engine/sampling/logitscan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace tokenloupe {

namespace {

constexpr float minusInfinity = -std::numeric_limits<float>::infinity();

/// A row without NaN: the given one, or `cleaned`.
Result<std::span<const float>> usable(std::span<const float> logits, std::vector<float> &cleaned)
{
    const LogitFlaw flaw = findFlaw(logits);
    if (flaw == LogitFlaw::PositiveInfinity)
        return makeError(ErrorCode::InvalidLogits, "divergence", "a logit is +inf");
    if (flaw == LogitFlaw::NotANumber) {
        cleaned.assign(logits.begin(), logits.end());
        std::replace_if(
            cleaned.begin(), cleaned.end(), [](float logit) { return std::isnan(logit); }, minusInfinity);
        logits = cleaned;
    }
    if (countGreater(logits, minusInfinity) == 0)
        return makeError(ErrorCode::InvalidLogits, "divergence", "no finite logit");
    return logits;
}

/// Σ w and Σ w · (own - that) over one row's weights w = e^(own - maximum).
struct WeightedSums
{
    double weights = 0.0;
    double differences = 0.0;

    void add(double own, double that, double maximum)
    {
        if (std::isinf(own))
            return; // nothing of the mass
        const double weight = std::exp(own - maximum);
        weights += weight;
        if (weight > 0.0)
            differences += weight * (own - that);
    }
    double logSumExp(double maximum) const { return maximum + std::log(weights); }
};

/// Σ p (ln p - ln q), ln p = own - lse(own). Rounding can take a divergence of nothing below zero.
double divergence(const WeightedSums &own, double ownLogSumExp, double thatLogSumExp)
{
    return std::max(0.0, own.differences / own.weights - (ownLogSumExp - thatLogSumExp));
}

} // namespace

Result<Divergence> divergenceOf(std::span<const float> reference, std::span<const float> other)
{
    if (reference.size() != other.size())
        return makeError(ErrorCode::InvalidArgument, "divergence",
                         "rows of " + std::to_string(reference.size()) + " and " +
                             std::to_string(other.size()) + " logits");
    std::vector<float> cleanedReference, cleanedOther;
    const auto a = usable(reference, cleanedReference);
    if (!a)
        return tl::unexpected(a.error());
    const auto b = usable(other, cleanedOther);
    if (!b)
        return tl::unexpected(b.error());

    Divergence result;
    result.referenceArgmax =
        TokenId(static_cast<std::uint32_t>(std::max_element(a->begin(), a->end()) - a->begin()));
    result.otherArgmax =
        TokenId(static_cast<std::uint32_t>(std::max_element(b->begin(), b->end()) - b->begin()));
    const double maximumA = (*a)[result.referenceArgmax.value()];
    const double maximumB = (*b)[result.otherArgmax.value()];
    WeightedSums sumsA, sumsB;
    for (std::size_t i = 0; i < a->size(); ++i) {
        const float x = (*a)[i];
        const float y = (*b)[i];
        sumsA.add(x, y, maximumA);
        sumsB.add(y, x, maximumB);
        if (x != y && std::abs(x - y) > result.largestDifference) {
            result.largestDifference = std::abs(x - y);
            result.largestAt = TokenId(static_cast<std::uint32_t>(i));
        }
    }
    result.referenceLogSumExp = sumsA.logSumExp(maximumA);
    result.otherLogSumExp = sumsB.logSumExp(maximumB);
    result.kl = divergence(sumsA, result.referenceLogSumExp, result.otherLogSumExp);
    result.klBack = divergence(sumsB, result.otherLogSumExp, result.referenceLogSumExp);
    return result;
}

void DivergenceTotals::add(const Divergence &divergence)
{
    if (divergence.kl > m_largestKl) {
        m_largestKl = divergence.kl;
        m_largestAt = m_positions;
    }
    m_sum += divergence.kl;
    m_equal += divergence.argmaxEqual() ? 1 : 0;
    m_largestDifference = std::max(m_largestDifference, divergence.largestDifference);
    ++m_positions;
}

double DivergenceTotals::meanKl() const
{
    return m_positions > 0 ? m_sum / static_cast<double>(m_positions) : 0.0;
}

double DivergenceTotals::argmaxEqualShare() const
{
    return m_positions > 0 ? static_cast<double>(m_equal) / static_cast<double>(m_positions) : 0.0;
}

} // namespace tokenloupe
