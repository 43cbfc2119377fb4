// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/attentioncall.h"
#include "engine/compute/attentioncheck.h"
#include "engine/compute/cpubackend.h"

#include <algorithm>

namespace tokenloupe {

Status CpuBackend::attend(Activations queries, const KvView &view, const AttentionParams &params,
                          Activations output)
{
    const OperationWatch::Scope counted(m_watch, Operation::Attention);
    if (Status good = checkAttention(queries, view, params, output); !good)
        return good;
    const RopeParams &rope = params.keyRotation;
    RotaryTable &keyRotary = m_keyRotary.of(rope.inverseFrequencies, rope.magnitude);
    if (view.keyPhase() == KeyPhase::Unrotated)
        keyRotary.cover(std::int64_t(params.firstPosition) + queries.rows, view.contextTokens(),
                        rope.inverseFrequencies, rope.magnitude);
    AttentionCall call(queries, view, params, keyRotary, output, m_kernels);
    call.balance(m_pool->threads(), m_attentionShared);
    const std::size_t scratchFloats = call.scratchFloats();
    m_attentionScratch.resize(
        std::max(m_attentionScratch.size(), scratchFloats * static_cast<std::size_t>(m_pool->threads())));
    for (std::uint32_t turn = 0; turn < call.turns(); ++turn) {
        share(call.pieces(), call.pieceCost(), [&](int worker, std::int64_t begin, std::int64_t end) {
            float *scratch = m_attentionScratch.data() + static_cast<std::size_t>(worker) * scratchFloats;
            for (std::int64_t piece = begin; piece < end; ++piece)
                call.run(turn, piece, scratch);
        });
        share(call.merges(), call.mergeCost(), [&](int, std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i)
                call.merge(turn, i);
        });
    }
    return {};
}

Status CpuBackend::storeKv(Activations keys, Activations values, LayerIndex layer,
                           std::uint32_t firstPosition, const KvView &view)
{
    const OperationWatch::Scope counted(m_watch, Operation::RotaryStore);
    if (Status good = checkStore(keys, values, layer, firstPosition, view); !good)
        return good;
    const KvShape &shape = view.shape();
    const std::uint32_t heads = shape.layers[layer.value()].heads;
    const std::uint32_t keySize = shape.layers[layer.value()].keySize;
    const std::uint32_t valueSize = shape.layers[layer.value()].valueSize;
    const TensorType keyType = tensorTypeOf(shape.keyType);
    const TensorType valueType = tensorTypeOf(shape.valueType);
    share(keys.rows, keys.columns + values.columns, [&](int, std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
            const std::uint32_t position = firstPosition + static_cast<std::uint32_t>(row);
            for (std::uint32_t head = 0; head < heads; ++head) {
                m_kernels.quantizeRow(keyType, keys.data + row * keys.columns + std::int64_t(head) * keySize,
                                      keySize, view.keys(layer, head, position).data);
                m_kernels.quantizeRow(valueType,
                                      values.data + row * values.columns + std::int64_t(head) * valueSize,
                                      valueSize, view.values(layer, head, position).data);
            }
        }
    });
    return {};
}

} // namespace tokenloupe
