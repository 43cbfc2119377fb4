// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cache/plaincache.h"

#include <algorithm>
#include <cstring>

namespace tokenloupe::test {

namespace {

std::uint32_t mix(std::uint32_t a, std::uint32_t b)
{
    std::uint32_t value = a * 0x9E3779B1U ^ (b + 0x7F4A7C15U + (a << 6));
    value ^= value >> 15;
    value *= 0x85EBCA77U;
    return value ^ value >> 13;
}

std::vector<std::uint32_t> numbersOf(std::span<const TokenId> tokens)
{
    std::vector<std::uint32_t> numbers;
    std::uint32_t number = 0;
    for (const TokenId token : tokens)
        numbers.push_back(number = mix(number, token.value()));
    return numbers;
}

std::uint32_t commonPrefix(const PlainCache::Tokens &a, const PlainCache::Tokens &b)
{
    return static_cast<std::uint32_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                                      a.begin());
}

/// Every key and value row of a position has another number.
template <class Visit>
void forRows(const KvCache &cache, SequenceId id, std::uint32_t position, std::uint32_t number,
             const Visit &visit)
{
    const KvView view = cache.view(id);
    for (std::uint32_t layer = 0; layer < cache.shape().layers.size(); ++layer) {
        if (cache.shape().layers[layer].heads == 0 || position < view.firstHeld(LayerIndex(layer)))
            continue;
        for (std::uint32_t head = 0; head < cache.shape().layers[layer].heads; ++head) {
            visit(view.keys(LayerIndex(layer), head, position).data, mix(number, 2 * (head + 8 * layer)));
            visit(view.values(LayerIndex(layer), head, position).data,
                  mix(number, 2 * (head + 8 * layer) + 1));
        }
    }
}

} // namespace

PlainCache::PlainCache(KvCache cache)
    : m_cache(std::move(cache))
{}

SequenceId PlainCache::any(std::mt19937 &random) const
{
    auto at = m_sequences.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(random() % m_sequences.size()));
    return at->first;
}

SequenceId PlainCache::open()
{
    const SequenceId id = m_cache.open();
    if (m_sequences.count(id) > 0)
        m_wrong = "an id was given twice";
    m_sequences[id] = {};
    return id;
}

void PlainCache::close(SequenceId id)
{
    keepKnown(m_sequences[id]);
    m_cache.close(id);
    m_sequences.erase(id);
}

void PlainCache::discard(SequenceId id)
{
    keepKnown(fullBlocksOf(m_sequences[id])); // somebody may use them by now
    m_cache.discard(id);
    m_sequences.erase(id);
}

PlainCache::Sequence PlainCache::fullBlocksOf(const Sequence &sequence) const
{
    Sequence full = sequence;
    full.pure = full.pure / m_cache.shape().blockTokens * m_cache.shape().blockTokens;
    return full;
}

void PlainCache::keepKnown(const Sequence &sequence)
{
    m_known.emplace_back(sequence.tokens.begin(),
                         sequence.tokens.begin() + static_cast<std::ptrdiff_t>(sequence.pure));
}

SequenceId PlainCache::fork(SequenceId id, std::uint32_t tokens)
{
    const SequenceId branch = m_cache.fork(id, tokens);
    Sequence copy = m_sequences[id];
    const std::size_t kept = m_cache.tokens(branch);
    if (kept > std::min<std::size_t>(tokens, copy.tokens.size()))
        m_wrong = "a branch is longer than it may be";
    copy.tokens.resize(std::min(kept, copy.tokens.size()));
    copy.numbers.resize(copy.tokens.size());
    if (copy.tokens.size() <= copy.pure) {
        copy.pure = copy.tokens.size();
        copy.salt = 0;
    }
    m_sequences[branch] = copy;
    return branch;
}

/// What is findable without evictions: all that was left behind, full blocks of the others, and its own.
std::uint32_t PlainCache::longestKnown(SequenceId id, const Tokens &wanted) const
{
    std::uint32_t longest = 0;
    for (const Tokens &tokens : m_known)
        longest = std::max(longest, commonPrefix(tokens, wanted));
    for (const auto &[other, sequence] : m_sequences) {
        const std::size_t step = other == id ? 1 : m_cache.shape().blockTokens;
        const Tokens findable(sequence.tokens.begin(),
                              sequence.tokens.begin() +
                                  static_cast<std::ptrdiff_t>(sequence.pure / step * step));
        longest = std::max(longest, commonPrefix(findable, wanted));
    }
    return longest;
}

std::uint32_t PlainCache::adopt(SequenceId id, const Tokens &wanted)
{
    Sequence &sequence = m_sequences[id];
    const std::uint32_t longest = longestKnown(id, wanted);
    const Tokens pure(sequence.tokens.begin(),
                      sequence.tokens.begin() + static_cast<std::ptrdiff_t>(sequence.pure));
    const std::uint32_t own = commonPrefix(pure, wanted);
    if (own < sequence.tokens.size())
        keepKnown(sequence);
    const CacheCounters before = m_cache.counters();
    const std::uint32_t found = m_cache.adopt(id, wanted);
    const bool hasWindows = std::any_of(m_cache.pools().begin(), m_cache.pools().end(),
                                        [](const BlockPool &pool) { return pool.group().window > 0; });
    if (found > longest || (found < own && !hasWindows))
        m_wrong = "found " + std::to_string(found) + " of " + std::to_string(longest);
    if (!hasWindows && m_cache.counters().evictedBlocks == 0 && found != longest)
        m_wrong = "found only " + std::to_string(found) + " of " + std::to_string(longest);
    if (m_cache.counters().promptTokens != before.promptTokens + wanted.size() ||
        m_cache.counters().hitTokens != before.hitTokens + found)
        m_wrong = "what was asked for and found is not counted";
    sequence = {};
    sequence.tokens.assign(wanted.begin(), wanted.begin() + found);
    sequence.numbers = numbersOf(sequence.tokens);
    sequence.pure = found;
    return found;
}

/// Most tokens that can be appended, from nothing but references and tables.
std::uint64_t PlainCache::expectedRoom(SequenceId id) const
{
    const KvSequence &sequence = m_cache.sequence(id);
    const std::uint64_t blockTokens = m_cache.shape().blockTokens;
    const CacheSnapshot shown = m_cache.snapshot(id);
    std::uint64_t room = m_cache.contextTokens() - sequence.tokens.size();
    for (std::size_t group = 0; group < m_cache.pools().size(); ++group) {
        const BlockPool &pool = m_cache.pools()[group];
        std::uint64_t blocks = 0;
        for (const CacheBlock &block : shown.pools[group].blocks)
            blocks += block.ownership != BlockOwnership::Active ? 1 : 0;
        const std::vector<BlockId> &table = sequence.tables[group];
        const std::uint32_t window = pool.group().window;
        for (std::size_t index = 0; index < table.size(); ++index) {
            const bool isBehind =
                window > 0 && (index + 1) * blockTokens + window <= sequence.tokens.size() + 1;
            if (isBehind && table[index].isValid() &&
                shown.pools[group].blocks[table[index].value()].sequences == 1)
                ++blocks;
        }
        const std::uint64_t unfilled = table.size() * blockTokens - sequence.tokens.size();
        const bool mustCopy = unfilled > 0 && shown.pools[group].blocks[table.back().value()].sequences > 1;
        room = std::min(room,
                        mustCopy && blocks == 0 ? 0 : unfilled + (blocks - (mustCopy ? 1 : 0)) * blockTokens);
    }
    return room;
}

bool PlainCache::append(SequenceId id, const Tokens &tokens)
{
    const std::uint64_t room = expectedRoom(id);
    if (m_cache.largestAppend(id) != room)
        m_wrong = "room for " + std::to_string(room) + ", not " + std::to_string(m_cache.largestAppend(id));
    const Status status = m_cache.append(id, tokens);
    if (status.has_value() != (tokens.size() <= room))
        m_wrong = "appending " + std::to_string(tokens.size()) + " to room for " + std::to_string(room);
    if (!status) {
        if (status.error().code != ErrorCode::ContextFull || status.error().message.empty())
            m_wrong = "a full cache says something else";
        return false;
    }
    Sequence &sequence = m_sequences[id];
    const std::size_t before = sequence.tokens.size();
    for (const TokenId token : tokens) {
        const std::uint32_t last = sequence.numbers.empty() ? 0 : sequence.numbers.back();
        const bool isFirstAfterDrop = sequence.salt != 0 && sequence.tokens.size() == before;
        sequence.numbers.push_back(mix(isFirstAfterDrop ? mix(last, sequence.salt) : last, token.value()));
        sequence.tokens.push_back(token);
        if (sequence.salt == 0)
            sequence.pure = sequence.tokens.size();
    }
    write(id, before);
    m_cache.markWritten(id);
    return true;
}

void PlainCache::failToAppend(SequenceId id, const Tokens &tokens)
{
    const std::uint32_t before = m_cache.tokens(id);
    if (!m_cache.append(id, tokens))
        return;
    for (std::uint32_t position = before; position < m_cache.tokens(id); ++position)
        forRows(m_cache, id, position, 0xdeadU,
                [](std::byte *row, std::uint32_t number) { std::memcpy(row, &number, sizeof number); });
    if (m_cache.truncate(id, before) != before)
        m_wrong = "a failed pass took tokens with it";
}

void PlainCache::write(SequenceId id, std::size_t first)
{
    const Sequence &sequence = m_sequences[id];
    for (std::size_t position = first; position < sequence.tokens.size(); ++position)
        forRows(m_cache, id, static_cast<std::uint32_t>(position), sequence.numbers[position],
                [](std::byte *row, std::uint32_t number) { std::memcpy(row, &number, sizeof number); });
}

std::uint32_t PlainCache::truncate(SequenceId id, std::uint32_t tokens)
{
    Sequence &sequence = m_sequences[id];
    if (tokens < sequence.tokens.size())
        keepKnown(sequence);
    const std::uint32_t kept = m_cache.truncate(id, tokens);
    const bool hasWindows = std::any_of(m_cache.pools().begin(), m_cache.pools().end(),
                                        [](const BlockPool &pool) { return pool.group().window > 0; });
    const std::size_t most = std::min<std::size_t>(tokens, sequence.tokens.size());
    if (kept > most || (kept < most && !hasWindows))
        m_wrong = "kept " + std::to_string(kept) + " of " + std::to_string(most);
    sequence.tokens.resize(std::min<std::size_t>(kept, sequence.tokens.size()));
    sequence.numbers.resize(sequence.tokens.size());
    if (kept <= sequence.pure) {
        sequence.pure = kept;
        sequence.salt = 0;
    }
    return kept;
}

bool PlainCache::drop(SequenceId id, std::uint32_t firstBlock, std::uint32_t count)
{
    Sequence &sequence = m_sequences[id];
    const Sequence full = fullBlocksOf(sequence); // they stay findable
    if (!m_cache.dropBlocks(id, firstBlock, count))
        return false;
    keepKnown(full);
    const std::ptrdiff_t blockTokens = m_cache.shape().blockTokens;
    const auto erase = [&](auto &all) {
        all.erase(all.begin() + firstBlock * blockTokens, all.begin() + (firstBlock + count) * blockTokens);
    };
    erase(sequence.tokens);
    erase(sequence.numbers);
    sequence.pure = std::min(sequence.pure, static_cast<std::size_t>(firstBlock * blockTokens));
    sequence.salt = sequence.pure < sequence.tokens.size() ? ++m_drops : 0;
    return true;
}

std::string PlainCache::difference() const
{
    if (!m_wrong.empty())
        return m_wrong;
    for (const auto &[id, sequence] : m_sequences) {
        const std::span<const TokenId> held = m_cache.tokenIds(id);
        if (!std::equal(held.begin(), held.end(), sequence.tokens.begin(), sequence.tokens.end()))
            return "sequence " + std::to_string(id.value()) + " holds other tokens";
        if (const std::string wrong = rowsDiffer(id); !wrong.empty())
            return "sequence " + std::to_string(id.value()) + wrong;
    }
    return blocksDiffer();
}

std::string PlainCache::rowsDiffer(SequenceId id) const
{
    const Sequence &sequence = m_sequences.at(id);
    const auto count = static_cast<std::uint32_t>(sequence.tokens.size());
    for (std::uint32_t layer = 0; layer < m_cache.shape().layers.size(); ++layer) {
        const KvLayerShape &shape = m_cache.shape().layers[layer];
        const std::uint32_t needed = shape.window > 0 && shape.window <= count ? count + 1 - shape.window : 0;
        if (shape.heads > 0 && m_cache.view(id).firstHeld(LayerIndex(layer)) > needed)
            return " lacks what its next token sees";
    }
    std::string wrong;
    for (std::uint32_t position = 0; position < count; ++position)
        forRows(m_cache, id, position, sequence.numbers[position],
                [&](const std::byte *row, std::uint32_t number) {
                    if (std::memcmp(row, &number, sizeof number) != 0)
                        wrong = " holds other rows at " + std::to_string(position);
                });
    return wrong;
}

/// References against tables, free counts, and what the snapshot says of both.
std::string PlainCache::blocksDiffer() const
{
    const CacheSnapshot shown = m_cache.snapshot({});
    for (std::size_t group = 0; group < m_cache.pools().size(); ++group) {
        const BlockPool &pool = m_cache.pools()[group];
        std::vector<std::uint32_t> tables(pool.capacity(), 0);
        for (const auto &[id, sequence] : m_sequences) {
            const std::vector<BlockId> &table = m_cache.sequence(id).tables[group];
            for (std::size_t index = 0; index < table.size(); ++index) {
                if (!table[index].isValid())
                    continue;
                ++tables[table[index].value()];
                const CacheBlock &block = shown.pools[group].blocks[table[index].value()];
                const std::size_t first = index * m_cache.shape().blockTokens;
                const std::size_t taken =
                    std::min<std::size_t>(sequence.tokens.size() - first, m_cache.shape().blockTokens);
                if (block.fill != block.tokens.size() || block.fill < taken ||
                    !std::equal(block.tokens.begin(), block.tokens.begin() + std::ptrdiff_t(taken),
                                sequence.tokens.begin() + std::ptrdiff_t(first)))
                    return "a block is said to hold other tokens";
            }
        }
        std::uint32_t free = 0;
        for (std::uint32_t block = 0; block < pool.capacity(); ++block) {
            const std::uint32_t references = pool.references(BlockId(block));
            const CacheBlock &seen = shown.pools[group].blocks[block];
            free += references == 0 ? 1 : 0;
            // The index holds at most one.
            if (references < tables[block] || references > tables[block] + 1)
                return "block " + std::to_string(block) + " has " + std::to_string(references) +
                       " references for " + std::to_string(tables[block]) + " tables";
            const BlockOwnership ownership = tables[block] > 0 ? BlockOwnership::Active
                                             : references == 1 ? BlockOwnership::Cached
                                                               : BlockOwnership::Free;
            if (seen.sequences != tables[block] || seen.ownership != ownership)
                return "the snapshot of block " + std::to_string(block) + " is wrong";
        }
        if (free != pool.freeBlocks())
            return std::to_string(free) + " blocks are free, not " + std::to_string(pool.freeBlocks());
    }
    return {};
}

} // namespace tokenloupe::test
