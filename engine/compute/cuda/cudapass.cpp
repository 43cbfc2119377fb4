// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/cuda/cudabackend.h"
#include "kernels/cuda/products.h"

#include <algorithm>

// Whole forward passes: their inputs, and the launches that are remembered of them.

namespace tokenloupe {

namespace {

constexpr std::int64_t shortestContext = 256; ///< that launches for one token cover

} // namespace

/// Doubled as the context grows, so that few launches differ and none covers much more than is there.
std::int32_t CudaBackend::longestContext(const KvView &view, std::int64_t end) const
{
    std::int64_t covered = shortestContext;
    while (covered < end)
        covered *= 2;
    return static_cast<std::int32_t>(
        std::max(end, std::min<std::int64_t>(covered, std::int64_t(view.contextTokens()))));
}

PassKey CudaBackend::keyOf(const PassRequest &pass) const
{
    const KvView &view = *pass.view;
    PassKey key;
    key.rows = static_cast<std::int64_t>(pass.tokens.size());
    key.logitRows = pass.logitRows;
    key.longestContext = longestContext(view, pass.firstPosition + key.rows);
    key.contextTokens = view.contextTokens();
    key.scratch = pass.scratch;
    key.logits = pass.logits;
    key.inputs = m_inputs.place();
    key.blockTokens = view.shape().blockTokens;
    for (std::uint32_t layer = 0; layer < view.shape().layers.size(); ++layer) {
        if (view.shape().layers[layer].heads > 0 && !view.isOnHost(LayerIndex(layer)))
            key.places.push_back(view.places(LayerIndex(layer)));
    }
    return key;
}

Result<PassStart> CudaBackend::beginPass(const PassRequest &pass)
{
    if (Status started = m_deferred.flush(); !started)
        return tl::unexpected(started.error());
    if (Status alive = m_queue->alive(); !alive)
        return tl::unexpected(alive.error());
    const auto tokens = static_cast<std::int64_t>(pass.tokens.size());
    if (Status sent = m_inputs.upload(pass.tokens, pass.firstPosition, tokens, pass.view); !sent)
        return tl::unexpected(sent.error());
    // Timed operations are started one by one; what is remembered stays as it is.
    if (pass.isTapped || m_queue->clock().isOn() || tokens > cuda::largestDecodeRows)
        return PassStart::Operations;
    const Result<PassGraphs::Step> step = m_graphs.begin(keyOf(pass));
    if (!step)
        return tl::unexpected(step.error());
    return *step == PassGraphs::Step::Replayed ? PassStart::Replayed : PassStart::Operations;
}

Result<PassEnd> CudaBackend::endPass()
{
    const Status started = m_deferred.flush();
    if (!started) {
        abandonPass();
        return tl::unexpected(started.error());
    }
    if (!m_graphs.isCapturing())
        return PassEnd::Done;
    const Result<bool> isStarted = m_graphs.end();
    if (!isStarted)
        return tl::unexpected(isStarted.error());
    return *isStarted ? PassEnd::Done : PassEnd::Again;
}

void CudaBackend::abandonPass()
{
    m_deferred.forget();
    m_queue->clock().forget();
    m_graphs.abandon();
}

} // namespace tokenloupe
