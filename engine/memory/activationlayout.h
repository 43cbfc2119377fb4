// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/result.h"
#include "engine/cache/keyphase.h"
#include "engine/model/modelconfig.h"

#include <cstdint>

namespace tokenloupe {

/// Where the float32 matrices of a forward pass lie in the transformer's scratch, as offsets in floats; each
/// has `batch` rows. Matrices that are never alive together share their place: the feed-forward pair lies
/// over queries, keys, values and the attention's output, and what a layer adds lies over what it normalised.
struct ActivationLayout
{
    std::uint64_t residual = 0;  ///< (embedding)
    std::uint64_t work = 0;      ///< (embedding): normalised input, later the projected output
    std::uint64_t query = 0;     ///< (heads · headSize)
    std::uint64_t key = 0;       ///< (most KV heads of a layer · headSize)
    std::uint64_t value = 0;     ///< (most KV heads of a layer · valueHeadSize)
    std::uint64_t attention = 0; ///< (heads · valueHeadSize)
    std::uint64_t parallel = 0;  ///< (embedding): what the feed-forward beside attention reads
    std::uint64_t gate = 0;      ///< (feedForward), where there is a gate
    std::uint64_t up = 0;        ///< (feedForward)
    // With experts, in place of the feed-forward pair; gate and up then have a row for each expert that a
    // token takes, (expertFeedForward).
    std::uint64_t router = 0;     ///< (experts)
    std::uint64_t expertRows = 0; ///< a row for each expert that a token takes, (embedding)
    std::uint64_t total = 0;
};

/// Every matrix starts on a 64-byte line. Sizes of 0 or beyond what can be addressed are InvalidArgument.
Result<ActivationLayout> activationLayout(const ModelConfig &config, std::uint32_t batchTokens);

/// Attention works through the positions in pieces of this many, aligned to multiples of it. Each is summed
/// up for itself and the pieces are added in rising order, so that any thread may take any of them.
constexpr std::uint32_t attentionPiece = 128;
/// Most (token, head) pairs that one thread works on at a time.
constexpr std::uint32_t attentionLanes = 64;
/// Positions whose keys and values are converted together.
constexpr std::uint32_t attentionChunk = 32;
/// Room for the sums of pieces that different threads work on, in floats; longer contexts go in several
/// turns.
constexpr std::uint64_t attentionSharedFloats = std::uint64_t(1) << 18;

/// One thread's scratch of the CPU's attention, as offsets in floats. Strides are whole lines.
struct AttentionScratch
{
    std::uint64_t keyStride = 0; ///< of queries
    std::uint64_t sumStride = 0; ///< of sums: a line for maximum and sum of the exponentials, then the values
    std::uint64_t queries = 0;   ///< (lanes × keyStride), scaled
    std::uint64_t scores = 0;    ///< (lanes × piece)
    std::uint64_t sums = 0;      ///< (lanes × sumStride): of one piece of the positions
    std::uint64_t totals = 0;    ///< (lanes × sumStride): of all pieces so far
    std::uint64_t keys = 0;      ///< (keyStride × chunk): keys, one a column
    std::uint64_t rows = 0;      ///< (chunk × the larger head size): keys or values as float32
    std::uint64_t total = 0;
};
AttentionScratch attentionScratch(std::uint32_t headSize, std::uint32_t valueHeadSize);

} // namespace tokenloupe
