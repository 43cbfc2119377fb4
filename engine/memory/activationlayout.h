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

/// Attention works through the positions in pieces of this many, aligned to multiples of it, so its scratch
/// does not grow with the context.
constexpr std::uint32_t attentionPiece = 256;
/// Most (token, head) pairs that one thread works on at a time.
constexpr std::uint32_t attentionLanes = 16;

/// One thread's scratch of the CPU's attention, as offsets in floats.
struct AttentionScratch
{
    std::uint64_t queries = 0; ///< (lanes × headSize), scaled
    std::uint64_t scores = 0;  ///< (lanes × piece)
    std::uint64_t values = 0;  ///< (blockTokens × valueHeadSize): a block's values as float32
    std::uint64_t keys = 0;    ///< (blockTokens × headSize): a block's keys, rotated; none if stored so
    std::uint64_t total = 0;
};
AttentionScratch attentionScratch(std::uint32_t headSize, std::uint32_t valueHeadSize,
                                  std::uint32_t blockTokens, KeyPhase keyPhase);

} // namespace tokenloupe
