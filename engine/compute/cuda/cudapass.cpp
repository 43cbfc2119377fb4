// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/cuda/cudabackend.h"
#include "kernels/cuda/products.h"
#include "kernels/cuda/statistics.h"

#include <algorithm>
#include <cstring>
#include <utility>

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
    m_summarized = m_model && pass.logitRows == 1 ? pass.logits : nullptr;
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

/// What the record of a step needs of the logits, so that the host does not go through them.
Status CudaBackend::summarizeLogits()
{
    if (!m_summarized)
        return {};
    const auto columns = static_cast<std::int32_t>(m_model->config().vocabulary);
    const Result<std::byte *> scratch = reserve(m_statistics, cuda::logitSummaryBytes(1, columns, 0));
    if (!scratch)
        return tl::unexpected(scratch.error());
    if (!m_summary.data()) {
        Result<PinnedMemory> memory =
            PinnedMemory::allocate(*m_queue, sizeof(cuda::LogitSummary), "statistics of logits");
        if (!memory)
            return tl::unexpected(memory.error());
        m_summary = std::move(*memory);
    }
    m_queue->count(Operation::Head);
    const cuda::DeviceRows row{const_cast<float *>(m_summarized), 1, columns, columns};
    return start(cuda::summarizeLogits(row, nullptr, 0, *scratch,
                                       reinterpret_cast<cuda::LogitSummary *>(m_summary.data()),
                                       m_queue->stream()),
                 "statistics of logits");
}

std::optional<LogitStatistics> CudaBackend::takeStatistics()
{
    if (!std::exchange(m_summarized, nullptr))
        return std::nullopt;
    cuda::LogitSummary summary;
    std::memcpy(&summary, m_summary.data(), sizeof summary);
    if (summary.flaw == cuda::LogitRowFlaw::NothingFinite ||
        summary.flaw == cuda::LogitRowFlaw::PositiveInfinity)
        return std::nullopt;
    LogitStatistics statistics;
    statistics.logSumExp = summary.logSumExp;
    statistics.entropyBits = summary.entropyBits;
    statistics.maximum = summary.maximum;
    statistics.argmax = TokenId(static_cast<std::uint32_t>(summary.argmax));
    return statistics;
}

Result<PassEnd> CudaBackend::endPass()
{
    Status started = m_deferred.flush();
    if (started)
        started = summarizeLogits();
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
    m_summarized = nullptr;
    m_queue->clock().forget();
    m_graphs.abandon();
}

} // namespace tokenloupe
