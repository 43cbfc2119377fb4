// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/sampling/softmaxsums.h"

#include "kernels/cpu/cpukernels.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <vector>

namespace tokenloupe {

namespace {

constexpr std::size_t exactLimit = 4096;
constexpr float minusInfinity = -std::numeric_limits<float>::infinity();

/// `logitAt(i)` for i in [0, n).
template <class LogitAt>
SoftmaxSums exactSums(std::size_t n, float maximum, LogitAt logitAt)
{
    SoftmaxSums sums{maximum, 0.0, 0.0};
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

double SoftmaxSums::logSumExp() const
{
    return static_cast<double>(maximum) + std::log(sumExp);
}

double SoftmaxSums::entropyBits() const
{
    // H = -Σ p ln p with ln p = x - ln Σ; rounding must not give a tiny negative number.
    return std::max(0.0, (std::log(sumExp) - sumXExp / sumExp) / std::numbers::ln2);
}

double SoftmaxSums::weightOf(float logit) const
{
    return std::exp(static_cast<double>(logit) - static_cast<double>(maximum));
}

double SoftmaxSums::probabilityOf(float logit) const
{
    return weightOf(logit) / sumExp;
}

SoftmaxSums softmaxSums(std::span<const float> logits)
{
    const CpuKernels &kernels = cpuKernels();
    const auto n = static_cast<std::int64_t>(logits.size());
    SoftmaxSums sums;
    sums.maximum = kernels.maximum(logits.data(), n);
    if (logits.size() > exactLimit) {
        kernels.softmaxMoments(logits.data(), n, sums.maximum, &sums.sumExp, &sums.sumXExp);
        // Logits so far apart that their float difference overflows.
        if (std::isfinite(sums.sumExp) && std::isfinite(sums.sumXExp))
            return sums;
    }
    return exactSums(logits.size(), sums.maximum, [&](std::size_t i) { return logits[i]; });
}

SoftmaxSums softmaxSums(std::span<const Candidate> items)
{
    if (items.size() > exactLimit) {
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
