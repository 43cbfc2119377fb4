// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/sampling/logitscan.h"
#include "engine/sampling/samplerchain.h"
#include "engine/sampling/softmaxsums.h"

#include <cmath>
#include <limits>

namespace tokenloupe {

Result<LogitStatistics> logitStatistics(std::span<const float> logits)
{
    const LogitFlaw flaw = findFlaw(logits);
    if (flaw == LogitFlaw::PositiveInfinity)
        return makeError(ErrorCode::InvalidLogits, "logit statistics", "a logit is +inf");
    std::vector<float> cleaned;
    if (flaw == LogitFlaw::NotANumber) {
        cleaned.assign(logits.begin(), logits.end());
        for (float &logit : cleaned) {
            if (std::isnan(logit))
                logit = -std::numeric_limits<float>::infinity();
        }
        logits = cleaned;
    }
    if (logits.empty() || countGreater(logits, -std::numeric_limits<float>::infinity()) == 0)
        return makeError(ErrorCode::InvalidLogits, "logit statistics", "no finite logit");

    const SoftmaxSums sums = softmaxSums(logits);
    LogitStatistics result;
    result.logSumExp = sums.logSumExp();
    result.entropyBits = sums.entropyBits();
    result.maximum = sums.maximum;
    result.argmax = TokenId(static_cast<std::uint32_t>(indexOfEqual(logits, sums.maximum)));
    return result;
}

std::uint32_t rankOf(std::span<const float> logits, TokenId id)
{
    if (id.value() >= logits.size())
        return static_cast<std::uint32_t>(logits.size());
    constexpr float minusInfinity = -std::numeric_limits<float>::infinity();
    const float logit = logits[id.value()];
    const std::span<const float> before = logits.first(id.value());
    if (std::isnan(logit) || logit == minusInfinity) {
        // NaN counts as -inf: everything above that, and all lower ids that are not.
        return static_cast<std::uint32_t>(countGreater(logits, minusInfinity) + before.size() -
                                          countGreater(before, minusInfinity));
    }
    return static_cast<std::uint32_t>(countGreater(logits, logit) + countEqual(before, logit));
}

} // namespace tokenloupe
