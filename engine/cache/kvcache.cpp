// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/cache/kvcache.h"

#include "engine/cache/hostmemory.h"
#include "engine/cache/kvplan.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace tokenloupe {

namespace {

std::uint32_t commonPrefix(std::span<const TokenId> a, std::span<const TokenId> b)
{
    return static_cast<std::uint32_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                                      a.begin());
}

} // namespace

KvCache::KvCache(KvCacheSettings settings, std::vector<BlockPool> pools)
    : m_settings(std::move(settings))
    , m_pools(std::move(pools))
    , m_groupOf(m_settings.shape.layers.size(), static_cast<std::uint32_t>(m_pools.size()))
    , m_index(m_settings.shape.blockTokens, m_pools.size())
{
    for (std::uint32_t group = 0; group < m_pools.size(); ++group) {
        m_notes.emplace_back(m_pools[group].capacity(), m_settings.shape.blockTokens);
        for (const std::uint32_t layer : m_pools[group].group().layers)
            m_groupOf[layer] = group;
    }
}

Result<KvCache> KvCache::create(KvCacheSettings settings, const KvAllocator &allocate)
{
    const std::vector<KvAllocator> same(settings.shape.memories(), allocate);
    return create(std::move(settings), same);
}

Result<KvCache> KvCache::create(KvCacheSettings settings, const std::vector<KvAllocator> &allocators)
{
    assert(allocators.size() >= settings.shape.memories());
    KvPlanSettings room;
    room.contextTokens = settings.contextTokens;
    room.sequences = settings.sequences;
    room.batchTokens = settings.batchTokens;
    const Result<KvPlan> plan = planKv(settings.shape, room);
    if (!plan)
        return tl::unexpected(plan.error());
    std::vector<BlockPool> pools;
    std::uint64_t onHost = 0;
    for (KvLayerGroup &group : settings.shape.groups()) {
        const std::uint64_t cells = plan->layers[group.layers.front()].cells;
        const std::uint64_t blocks = (cells + settings.shape.blockTokens - 1) / settings.shape.blockTokens;
        if (blocks >= BlockId::invalidValue)
            return makeError(ErrorCode::InvalidArgument, "KV cache",
                             std::to_string(blocks) + " blocks are more than can be numbered");
        const KvAllocator &allocate = allocators[group.memory];
        Result<BlockPool> pool =
            BlockPool::create(settings.shape, std::move(group), static_cast<std::uint32_t>(blocks), allocate);
        if (!pool)
            return tl::unexpected(pool.error());
        onHost += pool->isOnHost() ? pool->bytes() : 0;
        pools.push_back(std::move(*pool));
    }
    if (pools.empty())
        return makeError(ErrorCode::InvalidArgument, "KV cache",
                         "a model without layers has no keys and values");
    if (exceedsHostMemory(onHost)) // all of them together
        return outOfHostMemory("KV cache", onHost);
    return KvCache(std::move(settings), std::move(pools));
}

KvSequence &KvCache::find(SequenceId id)
{
    assert(isOpen(id));
    return m_sequences.find(id)->second;
}

const KvSequence &KvCache::sequence(SequenceId id) const
{
    assert(isOpen(id));
    return m_sequences.find(id)->second;
}

std::uint32_t KvCache::tokens(SequenceId id) const
{
    return static_cast<std::uint32_t>(sequence(id).tokens.size());
}

std::span<const TokenId> KvCache::tokenIds(SequenceId id) const
{
    return sequence(id).tokens;
}

void KvCache::setRun(SequenceId id, RunId run)
{
    find(id).run = run;
}

std::uint32_t KvCache::blocksFor(std::uint64_t tokens) const
{
    const std::uint32_t blockTokens = shape().blockTokens;
    return static_cast<std::uint32_t>((tokens + blockTokens - 1) / blockTokens);
}

/// The block of the first position that the token after `tokens` others sees.
std::uint32_t KvCache::firstNeededBlock(std::size_t group, std::uint32_t tokens) const
{
    const std::uint32_t window = m_pools[group].group().window;
    if (window == 0 || window > tokens)
        return 0;
    return (tokens + 1 - window) / shape().blockTokens;
}

bool KvCache::holdsAllFor(const BlockTables &tables, std::uint32_t tokens) const
{
    for (std::size_t group = 0; group < m_pools.size(); ++group) {
        const std::uint32_t end = blocksFor(tokens);
        for (std::uint32_t block = firstNeededBlock(group, tokens); block < end; ++block) {
            if (!tables[group][block].isValid())
                return false;
        }
    }
    return true;
}

/// How many of the found tokens can be gone on from: what their windows see must be there.
std::uint32_t KvCache::usable(const PrefixIndex::Match &match) const
{
    std::uint32_t tokens = match.tokens;
    for (bool isShorter = true; isShorter;) {
        isShorter = false;
        for (std::size_t group = 0; group < m_pools.size(); ++group) {
            for (std::uint32_t block = blocksFor(tokens); block > firstNeededBlock(group, tokens); --block) {
                if (match.tables[group][block - 1].isValid())
                    continue;
                tokens = (block - 1) * shape().blockTokens;
                isShorter = true;
                break;
            }
        }
    }
    return tokens;
}

SequenceId KvCache::open()
{
    const SequenceId id(m_nextSequence++);
    KvSequence &sequence = m_sequences[id];
    sequence.id = id;
    sequence.tables.resize(m_pools.size());
    return id;
}

void KvCache::close(SequenceId id)
{
    KvSequence &sequence = find(id);
    indexWritten(sequence);
    releaseAll(sequence.tables);
    m_sequences.erase(id);
}

void KvCache::discard(SequenceId id)
{
    KvSequence &sequence = find(id);
    for (std::size_t block = sequence.tables.front().size(); block-- > sequence.firstIndexed;) {
        for (std::size_t group = 0; group < m_pools.size(); ++group) {
            const BlockId held = sequence.tables[group][block];
            if (held.isValid() && isOnlyOurs(group, held))
                m_index.forgetLeaf(group, held, m_pools);
        }
    }
    releaseAll(sequence.tables);
    m_sequences.erase(id);
}

SequenceId KvCache::fork(SequenceId id, std::uint32_t tokens)
{
    const SequenceId branchId = open();
    const KvSequence &source = find(id);
    KvSequence &branch = find(branchId);
    tokens = std::min(tokens, source.written);
    branch.tokens.assign(source.tokens.begin(), source.tokens.begin() + tokens);
    branch.written = branch.hitTokens = tokens;
    if (tokens > source.pureTokens)
        branch.pureTokens = source.pureTokens;
    for (std::size_t group = 0; group < m_pools.size(); ++group) {
        const std::vector<BlockId> &table = source.tables[group];
        branch.tables[group].assign(table.begin(), table.begin() + blocksFor(tokens));
        for (const BlockId block : branch.tables[group]) {
            if (block.isValid())
                m_pools[group].share(block);
        }
    }
    truncate(branchId, tokens);
    return branchId;
}

std::uint32_t KvCache::adopt(SequenceId id, std::span<const TokenId> wanted)
{
    const std::vector<TokenId> kept(wanted.begin(), wanted.end()); // it may be a view of this sequence's
    KvSequence &sequence = find(id);
    const std::uint32_t pure = std::min(sequence.written, sequence.pureTokens);
    const std::uint32_t own = commonPrefix(std::span(sequence.tokens).first(pure), kept);
    if (own < sequence.tokens.size())
        indexWritten(sequence);
    const PrefixIndex::Match match = m_index.find(kept);
    std::uint32_t found = own;
    if (usable(match) > own || !holdsAllFor(sequence.tables, own))
        found = takeFrom(sequence, match, kept);
    else
        cut(sequence, own);
    sequence.hitTokens = found;
    m_counters.promptTokens += kept.size();
    m_counters.hitTokens += found;
    return found;
}

std::uint32_t KvCache::truncate(SequenceId id, std::uint32_t tokens)
{
    KvSequence &sequence = find(id);
    tokens = std::min(tokens, static_cast<std::uint32_t>(sequence.tokens.size()));
    if (tokens < sequence.written)
        indexWritten(sequence);
    if (holdsAllFor(sequence.tables, tokens)) {
        cut(sequence, tokens);
        return tokens;
    }
    const std::vector<TokenId> wanted(sequence.tokens.begin(),
                                      sequence.tokens.begin() +
                                          std::min({tokens, sequence.written, sequence.pureTokens}));
    return takeFrom(sequence, m_index.find(wanted), wanted);
}

Status KvCache::dropBlocks(SequenceId id, std::uint32_t firstBlock, std::uint32_t count)
{
    KvSequence &sequence = find(id);
    if (m_settings.keyPhase != KeyPhase::Unrotated)
        return makeError(ErrorCode::Unsupported, "drop blocks", "the keys are bound to their positions");
    const std::uint32_t full = sequence.written / shape().blockTokens;
    if (count == 0 || firstBlock >= full || count > full - firstBlock)
        return makeError(ErrorCode::InvalidArgument, "drop blocks",
                         std::to_string(count) + " from block " + std::to_string(firstBlock) +
                             " on are not among the " + std::to_string(full) + " full ones");
    const auto without = [&](auto all, std::uint32_t unit) {
        const auto begin = all.begin() + std::ptrdiff_t(firstBlock) * unit;
        all.erase(begin, begin + std::ptrdiff_t(count) * unit);
        return all;
    };
    BlockTables tables;
    for (const std::vector<BlockId> &table : sequence.tables)
        tables.push_back(without(table, 1));
    std::vector<TokenId> tokens = without(sequence.tokens, shape().blockTokens);
    if (!holdsAllFor(tables, static_cast<std::uint32_t>(tokens.size())))
        return makeError(ErrorCode::InvalidArgument, "drop blocks",
                         "a window would reach over blocks that it left behind");

    for (std::size_t group = 0; group < m_pools.size(); ++group) {
        for (std::uint32_t block = firstBlock; block < firstBlock + count; ++block) {
            if (sequence.tables[group][block].isValid())
                m_pools[group].release(sequence.tables[group][block]);
        }
    }
    const std::uint32_t first = firstBlock * shape().blockTokens;
    const std::uint32_t dropped = count * shape().blockTokens;
    sequence.tables = std::move(tables);
    sequence.tokens = std::move(tokens);
    sequence.written -= dropped;
    sequence.pureTokens = std::min(sequence.pureTokens, first);
    if (sequence.tokens.size() <= sequence.pureTokens)
        sequence.pureTokens = KvSequence::allPure;
    if (sequence.hitTokens > first)
        sequence.hitTokens = std::max(first, sequence.hitTokens - std::min(sequence.hitTokens, dropped));
    return {};
}

/// What the sequence's tokens stand for becomes findable, the partly filled block included.
void KvCache::indexWritten(KvSequence &sequence)
{
    const std::uint32_t pure = std::min(sequence.written, sequence.pureTokens);
    index(sequence, pure);
}

void KvCache::index(KvSequence &sequence, std::uint32_t tokens)
{
    const std::size_t added =
        m_index.insert(std::span(sequence.tokens).first(tokens), sequence.tables, m_pools);
    if (added < blocksFor(tokens))
        sequence.firstIndexed = std::min(sequence.firstIndexed, static_cast<std::uint32_t>(added));
}

void KvCache::cut(KvSequence &sequence, std::uint32_t tokens)
{
    for (std::size_t group = 0; group < m_pools.size(); ++group) {
        std::vector<BlockId> &table = sequence.tables[group];
        for (; table.size() > blocksFor(tokens); table.pop_back()) {
            if (table.back().isValid())
                m_pools[group].release(table.back());
        }
        if (const std::uint32_t slots = tokens % shape().blockTokens; slots > 0 && table.back().isValid()) {
            BlockNotes::Note &note = m_notes[group].of(table.back());
            if (m_pools[group].references(table.back()) == 1)
                note.fill = std::min(note.fill, slots);
        }
    }
    sequence.tokens.resize(tokens);
    sequence.written = std::min(sequence.written, tokens);
    sequence.hitTokens = std::min(sequence.hitTokens, tokens);
    if (blocksFor(tokens) <= sequence.firstIndexed)
        sequence.firstIndexed = KvSequence::allPure;
    if (tokens <= sequence.pureTokens)
        sequence.pureTokens = KvSequence::allPure;
}

/// The sequence becomes what was found of `wanted`, as far as that can be gone on from.
std::uint32_t KvCache::takeFrom(KvSequence &sequence, const PrefixIndex::Match &match,
                                std::span<const TokenId> wanted)
{
    const std::uint32_t tokens = usable(match);
    BlockTables tables(m_pools.size());
    for (std::size_t group = 0; group < m_pools.size(); ++group) {
        tables[group].resize(blocksFor(tokens));
        for (std::uint32_t block = firstNeededBlock(group, tokens); block < tables[group].size(); ++block) {
            tables[group][block] = match.tables[group][block];
            m_pools[group].share(tables[group][block]);
        }
    }
    releaseAll(sequence.tables);
    sequence.tables = std::move(tables);
    sequence.tokens.assign(wanted.begin(), wanted.begin() + tokens);
    sequence.written = tokens;
    sequence.hitTokens = std::min(sequence.hitTokens, tokens);
    sequence.pureTokens = sequence.firstIndexed = KvSequence::allPure;
    return tokens;
}

void KvCache::releaseAll(const BlockTables &tables)
{
    for (std::size_t group = 0; group < m_pools.size(); ++group) {
        for (const BlockId block : tables[group]) {
            if (block.isValid())
                m_pools[group].release(block);
        }
    }
}

} // namespace tokenloupe
