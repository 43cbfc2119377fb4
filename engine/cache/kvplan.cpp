// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/cache/kvplan.h"

#include "engine/base/checkedmath.h"

#include <algorithm>

namespace tokenloupe {

namespace {

constexpr std::uint64_t windowStep = 256; ///< rooms of windows are multiples of it

CheckedSize cellsOf(const KvLayerShape &layer, std::uint32_t blockTokens, const KvPlanSettings &settings)
{
    const std::uint64_t step = settings.layout == KvLayout::Paged ? blockTokens : 1;
    const CheckedSize all = CheckedSize(settings.contextTokens).roundedUp(step) * settings.sequences;
    if (layer.window == 0)
        return all;
    const CheckedSize window =
        (CheckedSize(layer.window) * settings.sequences + settings.batchTokens).roundedUp(windowStep);
    if (!window.isValid())
        return all;
    // A block that does not divide the step still needs whole blocks.
    const CheckedSize blocks = window.roundedUp(step);
    return all.isValid() && all.value() <= blocks.value() ? all : blocks;
}

} // namespace

Result<KvPlan> planKv(const KvShape &shape, const KvPlanSettings &settings)
{
    const auto wrong = [](const char *message) {
        return makeError(ErrorCode::InvalidArgument, "KV cache", message);
    };
    if (settings.contextTokens == 0)
        return wrong("a context of 0 tokens holds nothing");
    if (settings.sequences == 0)
        return wrong("0 sequences");
    if (settings.batchTokens == 0)
        return wrong("a batch of 0 tokens");
    if (shape.blockTokens == 0)
        return wrong("a block must hold at least one token");
    KvPlan plan;
    CheckedSize sum;
    for (std::uint32_t layer = 0; layer < shape.layers.size(); ++layer) {
        if (shape.layers[layer].heads == 0) {
            plan.layers.push_back({});
            continue;
        }
        const KvLayerShape &kept = shape.layers[layer];
        for (const Status &good : {checkKvType(shape.keyType, kept.keySize, "key"),
                                   checkKvType(shape.valueType, kept.valueSize, "value")}) {
            if (!good)
                return tl::unexpected(good.error());
        }
        const CheckedSize cells = cellsOf(shape.layers[layer], shape.blockTokens, settings);
        const CheckedSize bytes = cells * CheckedSize(shape.bytesPerToken(layer));
        sum += bytes;
        if (!sum.isValid() || !cells.isValid())
            return wrong("the keys and values are more than any machine can address");
        plan.layers.push_back({cells.value(), bytes.value()});
    }
    plan.bytes = sum.value();
    return plan;
}

} // namespace tokenloupe
