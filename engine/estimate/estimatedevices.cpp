// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/estimate/estimatedevices.h"

#include "engine/cache/hostmemory.h"
#include "engine/estimate/cardsplit.h"

#include <algorithm>

namespace tokenloupe {

std::vector<DeviceShare> deviceShares(const CostModel &model, const Costs &costs)
{
    const std::vector<Gpu> &cards = model.request().devices;
    std::vector<DeviceShare> shares;
    if (model.request().target == EstimateTarget::ThisProgram) {
        if (!cards.empty())
            shares.push_back({cards.front(), model.shape().layers, costs.total, model.fits(costs)});
        return shares;
    }
    const bool isTensorSplit = model.request().split == SplitKind::Tensors;
    std::vector<std::uint32_t> counts(cards.size(), isTensorSplit ? model.shape().layers : 0);
    std::vector<std::uint64_t> bytes = costs.fixed;
    if (!isTensorSplit && !cards.empty()) {
        const auto placed = placeLayers(costs.fixed, costs.layers, model.cardMemory());
        counts = placed ? *placed : proportionalLayers(costs.fixed, costs.layers, model.cardMemory());
        bytes = cardBytes(costs.fixed, costs.layers, counts);
    }
    for (std::size_t card = 0; card < cards.size(); ++card)
        shares.push_back({cards[card], counts[card], bytes[card], bytes[card] <= model.cardMemory()[card]});
    return shares;
}

Offload planOffload(const CostModel &model, const Costs &costs)
{
    Offload offload;
    const std::uint32_t layers = model.shape().layers;
    if (model.request().target == EstimateTarget::ThisProgram)
        return offload;
    if (model.fits(costs)) {
        offload.layers = layers;
        offload.fits = true;
        return offload;
    }
    if (model.request().split == SplitKind::Tensors)
        return offload;
    // What a card needs whatever it holds, without what then stays on the host.
    std::vector<std::uint64_t> fixed = costs.fixed;
    fixed.front() -= model.places().embedding;
    fixed.back() -= model.places().output + costs.replicated + costs.buffers.logits();
    std::uint32_t first = layers; // of the layers on the cards
    for (std::size_t card = fixed.size(); card-- > 0;) {
        if (fixed[card] > model.cardMemory()[card])
            continue;
        std::uint64_t left = model.cardMemory()[card] - fixed[card];
        while (first > 0 && costs.layers[first - 1] <= left)
            left -= costs.layers[--first];
    }
    offload.layers = layers - first;
    offload.hostBytes = model.places().embedding + model.places().output + costs.buffers.logits();
    for (std::uint32_t layer = 0; layer < first; ++layer)
        offload.hostBytes += costs.layers[layer];
    const bool isShared = std::any_of(model.request().devices.begin(), model.request().devices.end(),
                                      [](const Gpu &gpu) { return gpu.isShared; });
    const std::uint64_t host = model.request().hostBytes > 0 ? model.request().hostBytes : hostMemoryBytes();
    offload.fits = !isShared && offload.layers > 0 && offload.hostBytes <= host;
    return offload;
}

} // namespace tokenloupe
