// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/sampling/softmaxsums.h"

#include "kernels/cpu/logitkernels.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <vector>

namespace tokenloupe {

namespace {

constexpr float minusInfinity = -std::numeric_limits<float>::infinity();

/// `logitAt(i)` for i in [0, n).
template <class LogitAt>
SoftmaxSums exactSums(std::size_t n, float maximum, LogitAt logitAt)
{
    SoftmaxSums sums;
    sums.maximum = maximum;
    for (std::size_t i = 0; i < n; ++i) {
        const float logit = logitAt(i);
        if (logit == minusInfinity)
            continue; // 0 · -inf would be NaN
        const double x = static_cast<double>(logit) - static_cast<double>(maximum);
        const double weight = std::exp(x);
        sums.sumExp += weight;
        sums.sumXExp += x * weight;
    }
    return sums;
}

} // namespace

double SoftmaxWeights::logSumExp() const
{
    return static_cast<double>(maximum) + std::log(sumExp);
}

double SoftmaxSums::entropyBits() const
{
    // H = -Σ p ln p with ln p = x - ln Σ; rounding must not give a tiny negative number.
    return std::max(0.0, (std::log(sumExp) - sumXExp / sumExp) / std::numbers::ln2);
}

double SoftmaxWeights::weightOf(float logit) const
{
    return std::exp(static_cast<double>(logit) - static_cast<double>(maximum));
}

double SoftmaxWeights::probabilityOf(float logit) const
{
    return weightOf(logit) / sumExp;
}

SoftmaxWeights softmaxWeights(std::span<const float> logits, float maximum)
{
    if (logits.size() <= exactSoftmaxLimit)
        return softmaxSums(logits, maximum);
    const auto n = static_cast<std::int64_t>(logits.size());
    return {maximum, logitKernels().weightSum(logits.data(), n, maximum)};
}

SoftmaxSums softmaxSums(std::span<const float> logits, float maximum)
{
    if (logits.size() > exactSoftmaxLimit) {
        SoftmaxSums sums;
        sums.maximum = maximum;
        cpuKernels().softmaxMoments(logits.data(), static_cast<std::int64_t>(logits.size()), maximum,
                                    &sums.sumExp, &sums.sumXExp);
        // Logits so far apart that their float difference overflows.
        if (std::isfinite(sums.sumExp) && std::isfinite(sums.sumXExp))
            return sums;
    }
    return exactSums(logits.size(), maximum, [&](std::size_t i) { return logits[i]; });
}

SoftmaxSums softmaxSums(std::span<const float> logits)
{
    const auto n = static_cast<std::int64_t>(logits.size());
    return softmaxSums(logits, logitKernels().scan(logits.data(), n).maximum);
}

SoftmaxSums softmaxSums(std::span<const Candidate> items)
{
    if (items.size() > exactSoftmaxLimit) {
        std::vector<float> logits(items.size());
        std::transform(items.begin(), items.end(), logits.begin(),
                       [](const Candidate &c) { return c.logit; });
        return softmaxSums(logits);
    }
    float maximum = minusInfinity;
    for (const Candidate &item : items)
        maximum = std::max(maximum, item.logit);
    return exactSums(items.size(), maximum, [&](std::size_t i) { return items[i].logit; });
}

} // namespace tokenloupe
