// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/loadquantizer.h"

#include "engine/compute/usablecores.h"

namespace tokenloupe {

Result<std::shared_ptr<QuantizedWeights>>
LoadQuantizer::quantize(ModelWeights &weights, std::vector<std::string> &warnings,
                        QuantizedWeights::ReleaseStored releaseStored, Progress *progress,
                        const std::stop_token &stop) const
{
    QuantizationPlan plan = planQuantization(m_config, weights, m_options.quantization);
    warnings.insert(warnings.end(), plan.warnings.begin(), plan.warnings.end());
    if (plan.matrices.empty())
        return nullptr;
    auto quantized = QuantizedWeights::create(std::move(plan), std::move(releaseStored));
    if (!quantized)
        return tl::unexpected(quantized.error());
    const auto pool = WorkerPool::create(m_options.threads > 0 ? m_options.threads : usableCores());
    if (!pool)
        return tl::unexpected(pool.error());
    if (Status converted = (*quantized)->convert(**pool, progress, stop); !converted)
        return tl::unexpected(converted.error());
    forEachMatrix(weights, [&](Weight &weight, std::string_view, std::uint32_t) {
        if (const Weight *form = (*quantized)->find(weight))
            weight = *form;
    });
    if (weights.outputKind == OutputHead::Tied)
        weights.outputHead = weights.tokenEmbedding;
    return quantized;
}

} // namespace tokenloupe
