// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/progress.h"
#include "engine/transformer/transformer.h"

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

namespace tokenloupe {

/// Logits of a text, position after position, in a sequence of its own. Rows are computed a batch at a time,
/// so that two passes can go through the same text side by side without keeping all rows of either. Made by
/// Session::beginScore(), on its thread.
class ScorePass
{
public:
    ScorePass(Transformer &transformer, KvCache &cache, std::vector<TokenId> ids);
    ~ScorePass(); ///< its blocks stay findable
    ScorePass(const ScorePass &) = delete;
    ScorePass &operator=(const ScorePass &) = delete;

    std::uint32_t position() const { return m_position; } ///< of the row that next() gives
    bool atEnd() const { return m_position == m_ids.size(); }

    /// The logits after the token at position(); valid until the next call. Progress counts computed tokens.
    Result<std::span<const float>> next(Progress *progress = nullptr, const std::stop_token &stop = {});
    /// Goes on to `position` without the rows before it. Not back: earlier positions are InvalidArgument.
    Status skipTo(std::uint32_t position, Progress *progress = nullptr, const std::stop_token &stop = {});

private:
    Result<std::span<const float>> forward(std::size_t count, LogitRows rows, Progress *progress,
                                           const std::stop_token &stop);

    Transformer &m_transformer;
    KvCache &m_cache;
    std::vector<TokenId> m_ids;
    SequenceId m_sequence;
    std::uint32_t m_position = 0;
    std::size_t m_computed = 0;    // tokens
    std::span<const float> m_rows; // of the last batch
    std::size_t m_firstRow = 0;    // its position
};

} // namespace tokenloupe
