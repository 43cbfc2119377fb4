// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/session/scorepass.h"

#include <algorithm>

namespace tokenloupe {

namespace {

constexpr std::size_t mostRowBytes = std::size_t(64) << 20; // of a batch, held at once

} // namespace

ScorePass::ScorePass(Transformer &transformer, KvCache &cache, std::vector<TokenId> ids)
    : m_transformer(transformer)
    , m_cache(cache)
    , m_ids(std::move(ids))
    , m_sequence(cache.open())
{}

ScorePass::~ScorePass()
{
    m_cache.close(m_sequence);
}

Result<std::span<const float>> ScorePass::forward(std::size_t count, LogitRows rows, Progress *progress,
                                                  const std::stop_token &stop)
{
    ForwardRequest request;
    request.tokens = std::span<const TokenId>(m_ids).subspan(
        m_computed, std::min<std::size_t>(count, std::max(1U, m_cache.largestAppend(m_sequence))));
    request.rows = rows;
    request.stop = stop;
    m_rows = {}; // they are overwritten
    const auto result = m_transformer.forward(request, m_cache, m_sequence);
    if (!result)
        return tl::unexpected(result.error());
    m_firstRow = m_computed;
    m_computed += request.tokens.size();
    if (progress)
        progress->advance(request.tokens.size());
    return *result;
}

Result<std::span<const float>> ScorePass::next(Progress *progress, const std::stop_token &stop)
{
    if (atEnd())
        return makeError(ErrorCode::InvalidArgument, "score", "the text is at its end");
    const std::size_t vocabulary = m_transformer.model().config().vocabulary;
    if (m_position >= m_computed) {
        const std::size_t most =
            std::clamp<std::size_t>(mostRowBytes / sizeof(float) / vocabulary, 1, m_transformer.maxBatch());
        const auto rows = forward(std::min(most, m_ids.size() - m_computed), LogitRows::All, progress, stop);
        if (!rows)
            return tl::unexpected(rows.error());
        m_rows = *rows;
    }
    const std::size_t row = m_position - m_firstRow;
    ++m_position;
    return m_rows.subspan(row * vocabulary, vocabulary);
}

Status ScorePass::skipTo(std::uint32_t position, Progress *progress, const std::stop_token &stop)
{
    if (position < m_position || position > m_ids.size())
        return makeError(ErrorCode::InvalidArgument, "score",
                         "no way from position " + std::to_string(m_position) + " to " +
                             std::to_string(position));
    while (m_computed < position) {
        const auto row = forward(std::min<std::size_t>(m_transformer.maxBatch(), position - m_computed),
                                 LogitRows::Last, progress, stop);
        if (!row)
            return tl::unexpected(row.error());
    }
    m_position = position;
    return {};
}

} // namespace tokenloupe
