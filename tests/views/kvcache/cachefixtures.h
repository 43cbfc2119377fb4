// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/cache/cachesnapshot.h"
#include "tests/models/records.h"
#include "widgets/models/runstore.h"

#include <memory>
#include <vector>

namespace tokenloupe::test {

/// 30 layers of 3 heads of 64 in f32, as a small model has them: 90 KiB a token. With `window` > 0 every
/// layer but each sixth sees no further.
inline KvShape smallShape(std::uint32_t window = 0)
{
    KvShape shape;
    for (std::uint32_t layer = 0; layer < 30; ++layer)
        shape.layers.push_back({3, 64, 64, window > 0 && layer % 6 != 5 ? window : 0});
    return shape;
}

/// A free pool of `blocks` blocks for every group of the shape.
inline std::shared_ptr<CacheSnapshot> emptyCache(const KvShape &shape, std::uint32_t blocks)
{
    auto cache = std::make_shared<CacheSnapshot>();
    cache->shape = shape;
    cache->contextTokens = blocks * shape.blockTokens;
    cache->clock = 40;
    for (const KvLayerGroup &group : shape.groups()) {
        std::uint64_t bytes = 0;
        for (const std::uint32_t layer : group.layers)
            bytes += shape.bytesPerToken(layer) * shape.blockTokens;
        cache->pools.push_back({group.window, group.layers, bytes, std::vector<CacheBlock>(blocks)});
    }
    return cache;
}

/// Gives the sequence of `run` the blocks `first` … of every pool for its tokens, in order.
inline void addSequence(CacheSnapshot &cache, RunId run, std::uint32_t first,
                        const std::vector<TokenId> &tokens)
{
    CacheSequence sequence;
    sequence.id = SequenceId(static_cast<std::uint32_t>(cache.sequences.size()));
    sequence.run = run;
    sequence.tokens = static_cast<std::uint32_t>(tokens.size());
    const std::uint32_t blockTokens = cache.shape.blockTokens;
    for (CachePool &pool : cache.pools) {
        std::vector<BlockId> &table = sequence.tables.emplace_back();
        for (std::uint32_t at = 0; at < tokens.size(); at += blockTokens) {
            const std::uint32_t id = first + at / blockTokens;
            CacheBlock &block = pool.blocks[id];
            table.push_back(BlockId(id));
            block.ownership = BlockOwnership::Active;
            ++block.sequences;
            block.firstPosition = at;
            block.tokens.assign(
                tokens.begin() + at,
                tokens.begin() + std::min<std::ptrdiff_t>(at + blockTokens, std::ptrdiff_t(tokens.size())));
            block.fill = static_cast<std::uint32_t>(block.tokens.size());
            block.writtenAt = 1;
        }
    }
    cache.sequences.push_back(std::move(sequence));
}

/// A run whose records follow from the shape: `prompt` tokens from 1 on, then steps with tokens from 100 on.
inline Run cacheRun(std::uint32_t run, std::uint32_t prompt, std::uint32_t steps, const KvShape &shape)
{
    Run result;
    std::vector<TokenId> ids;
    for (std::uint32_t i = 0; i < prompt; ++i)
        ids.push_back(TokenId(i % 90 + 1));
    result.start = runRecord(run, ids);
    for (std::uint32_t i = 0; i < steps; ++i) {
        StepRecord step = stepRecord(run, i, 100 + i);
        step.position = step.kvTokens = prompt + i;
        step.kvBlocks = (step.kvTokens + shape.blockTokens - 1) / shape.blockTokens;
        step.kvBytes = step.kvBlocks * shape.blockTokens * shape.bytesPerToken();
        result.steps.push_back(step);
    }
    return result;
}

/// What the cache holds when the newest step of the run was drawn.
inline std::vector<TokenId> cachedTokens(const Run &run)
{
    std::vector<TokenId> tokens = run.start.prompt;
    for (std::size_t i = 0; i + 1 < run.steps.size(); ++i)
        tokens.push_back(run.steps[i].token);
    return tokens;
}

/// 26 prompt tokens and 40 steps; blocks of three sequences, shared and found ready, kept, evicted, written.
inline std::shared_ptr<CacheSnapshot> livelyCache(const Run &run, const KvShape &shape, std::uint32_t blocks)
{
    auto cache = emptyCache(shape, blocks);
    addSequence(*cache, run.start.run, 0, cachedTokens(run));
    const auto held = static_cast<std::uint32_t>(cache->sequences[0].tables[0].size());
    addSequence(*cache, RunId(900), held, std::vector<TokenId>(40, TokenId(7)));
    for (CachePool &pool : cache->pools) {
        pool.blocks[0].prefixHit = true;
        pool.blocks[0].sequences = 3;
        pool.blocks[1].prefixHit = true;
        pool.blocks[held - 1].writtenAt = cache->clock;
        for (std::uint32_t kept = held + 3; kept < held + 6; ++kept) {
            pool.blocks[kept] = pool.blocks[2];
            pool.blocks[kept].ownership = BlockOwnership::Cached;
            pool.blocks[kept].sequences = 0;
        }
        pool.blocks[held + 6].evictedAt = cache->clock - 1;
    }
    cache->counters = {200, 64, 260, 1, 2, 0, 0};
    return cache;
}

} // namespace tokenloupe::test
