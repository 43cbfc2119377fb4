// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/views/kvcache/cachegrowth.h"

#include "widgets/models/runstore.h"
#include "widgets/theme/numbers.h"

#include <QCoreApplication>
#include <algorithm>

namespace tokenloupe {

namespace {

constexpr double mebibyte = 1024.0 * 1024.0;
constexpr std::size_t mostDips = 256;    // marks that could be told apart
constexpr std::size_t mostDipLabels = 3; // that find room beside the limits

std::uint64_t groupBytes(const KvShape &shape, const KvLayerGroup &group)
{
    std::uint64_t bytes = 0;
    for (const std::uint32_t layer : group.layers)
        bytes += shape.bytesPerToken(layer);
    return bytes;
}

} // namespace

double growthX(const Run &run, std::size_t step)
{
    return static_cast<double>(run.steps.front().kvTokens) + static_cast<double>(step);
}

QPointF growthPoint(const Run &run, std::size_t step)
{
    return QPointF(growthX(run, step), static_cast<double>(run.steps[step].kvBytes) / mebibyte);
}

std::vector<QPointF> promptStairs(const Run &run, const KvShape &shape)
{
    std::vector<QPointF> points;
    if (run.steps.empty() || run.steps.front().kvBytes == 0)
        return points;
    const StepRecord &first = run.steps.front();
    const double end = static_cast<double>(first.kvBytes) / mebibyte;
    const std::uint32_t blockTokens = std::max(1U, shape.blockTokens);
    const std::uint32_t stairs = (first.kvTokens + blockTokens - 1) / blockTokens;
    const std::vector<KvLayerGroup> groups = shape.groups();
    for (std::uint32_t stair = 0; stair < stairs; ++stair) {
        double bytes = 0.0;
        for (const KvLayerGroup &group : groups) {
            const std::uint32_t most =
                group.window == 0 ? stairs : (group.window + blockTokens - 1) / blockTokens + 1;
            bytes += static_cast<double>(groupBytes(shape, group)) * blockTokens * std::min(stair + 1, most);
        }
        // without a shape (a run that was opened from a file) equal stairs; never above what was measured
        const double height = groups.empty() ? end * (stair + 1) / stairs : bytes / mebibyte;
        points.push_back(QPointF(static_cast<double>(stair) * blockTokens, std::min(height, end)));
    }
    return points;
}

std::vector<LabelledPoint> growthDips(const Run &run)
{
    std::vector<LabelledPoint> dips;
    std::uint64_t all = 0;
    for (std::size_t step = 0; step < run.steps.size() && dips.size() < mostDips; ++step) {
        if (run.steps[step].droppedTokens == 0)
            continue;
        const std::size_t first = step;
        std::uint64_t tokens = 0;
        for (; step < run.steps.size() && run.steps[step].droppedTokens > 0; ++step)
            tokens += run.steps[step].droppedTokens;
        all += tokens;
        dips.push_back({growthPoint(run, first),
                        QCoreApplication::translate("CacheGrowth", "−%1 tokens").arg(formatCount(tokens))});
    }
    // Many of them side by side: the marks say where, one label how much.
    if (dips.size() > mostDipLabels) {
        for (LabelledPoint &dip : dips)
            dip.label.clear();
        dips.back().label = QCoreApplication::translate("CacheGrowth", "−%1 tokens at %2 places")
                                .arg(formatCount(all), formatCount(dips.size()));
    }
    return dips;
}

std::vector<LinearTerm> growthFormula(const KvShape &shape, std::uint32_t contextTokens)
{
    std::vector<LinearTerm> terms;
    for (const KvLayerGroup &group : shape.groups()) {
        LinearTerm term;
        term.perX = static_cast<double>(groupBytes(shape, group)) / mebibyte;
        if (contextTokens > 0)
            term.upTo = contextTokens;
        if (group.window > 0)
            term.upTo = std::min(term.upTo, static_cast<double>(group.window));
        terms.push_back(term);
    }
    return terms;
}

std::uint64_t budgetTokens(const CacheSnapshot &snapshot)
{
    std::uint64_t least = 0;
    for (const CachePool &pool : snapshot.pools) {
        if (pool.window > 0)
            continue;
        const std::uint64_t tokens =
            static_cast<std::uint64_t>(pool.blocks.size()) * snapshot.shape.blockTokens;
        least = least == 0 ? tokens : std::min(least, tokens);
    }
    return least;
}

} // namespace tokenloupe
