// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/memory/stepwork.h"

#include <algorithm>

namespace tokenloupe {

namespace {

/// Σ of min(p + 1, window) for p from `first` to `first` + `count` - 1; window 0: no limit.
double seenPositions(double first, double count, double window)
{
    const auto triangle = [](double from, double n) { return n * (2.0 * from + n + 1.0) / 2.0; };
    if (window == 0.0)
        return triangle(first, count);
    const double growing = std::clamp(window - first, 0.0, count); // tokens that still see everything
    return triangle(first, growing) + (count - growing) * window;
}

/// Of one token in one layer.
double feedForwardWork(const ModelConfig &config)
{
    const double width = config.embedding;
    const double matrices = config.spec.isGated() ? 3.0 : 2.0;
    if (config.experts > 0)
        return width * (config.experts + matrices * config.expertsUsed * config.expertFeedForward);
    return width * matrices * config.feedForward;
}

} // namespace

StepWork stepWork(const ModelConfig &config, std::uint64_t firstPosition, std::uint64_t tokens)
{
    const auto first = static_cast<double>(firstPosition);
    const auto count = static_cast<double>(tokens);
    const double width = config.embedding;
    const double heads = config.heads;
    const double perPosition = heads * (double(config.headSize) + config.valueHeadSize);
    StepWork work;
    for (std::uint32_t layer = 0; layer < config.layers; ++layer) {
        // Keys and values are needed of every token; what follows attention only of those that lead on.
        const bool isLast = layer + 1 == config.layers;
        const double followed = isLast ? 1.0 : count;
        const double kvHeads = config.kvHeadsOf(layer);
        work.matrices +=
            count * width *
            (heads * config.headSize + kvHeads * config.headSize + kvHeads * config.valueHeadSize);
        work.matrices += followed * (width * heads * config.valueHeadSize + feedForwardWork(config));
        const double window = config.windowOf(layer);
        const double seen =
            isLast ? seenPositions(first + count - 1.0, 1.0, window) : seenPositions(first, count, window);
        work.attention += seen * perPosition;
    }
    work.matrices += width * config.vocabulary;
    return work;
}

} // namespace tokenloupe
