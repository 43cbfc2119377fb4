// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/cache/kvcache.h"

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace tokenloupe::test {

/// A cache and, beside it, the plainest idea of what it holds: for every open sequence the list of its tokens
/// and one number for each that stands for its keys and values. A token's number is made from the number
/// before it and the token, so it tells the whole context that it was computed under. The numbers are really
/// written into the cache's rows and compared with what the rows hold.
class PlainCache
{
public:
    using Tokens = std::vector<TokenId>;
    struct Sequence
    {
        Tokens tokens;
        std::vector<std::uint32_t> numbers;
        std::size_t pure = 0;   // leading tokens before which nothing was dropped
        std::uint32_t salt = 0; // of the last drop; 0: none
    };

    explicit PlainCache(KvCache cache);

    KvCache &cache() { return m_cache; }
    const std::map<SequenceId, Sequence> &sequences() const { return m_sequences; }
    SequenceId any(std::mt19937 &random) const;

    SequenceId open();
    void close(SequenceId id);
    void discard(SequenceId id);
    SequenceId fork(SequenceId id, std::uint32_t tokens);
    /// Checks that the right number of tokens was found, as far as that can be said.
    std::uint32_t adopt(SequenceId id, const Tokens &wanted);
    /// False when there is no room; checks that this is so.
    bool append(SequenceId id, const Tokens &tokens);
    /// Appends and takes it back, as a pass that fails does.
    void failToAppend(SequenceId id, const Tokens &tokens);
    std::uint32_t truncate(SequenceId id, std::uint32_t tokens);
    bool drop(SequenceId id, std::uint32_t firstBlock, std::uint32_t count);

    /// What differs from the plain idea: tokens, numbers, references, free blocks. Empty: nothing.
    std::string difference() const;

private:
    Sequence fullBlocksOf(const Sequence &sequence) const;
    void keepKnown(const Sequence &sequence);
    void write(SequenceId id, std::size_t first);
    std::uint64_t expectedRoom(SequenceId id) const;
    std::uint32_t longestKnown(SequenceId id, const Tokens &wanted) const;
    std::string rowsDiffer(SequenceId id) const;
    std::string blocksDiffer() const;

    KvCache m_cache;
    std::map<SequenceId, Sequence> m_sequences;
    std::vector<Tokens> m_known; // what was left behind and is findable unless it was evicted
    std::uint32_t m_drops = 0;
    std::string m_wrong; // first thing that an operation's result got wrong
};

/// One layer a window (0: all positions), of one number a head.
inline KvCacheSettings settingsOf(const std::vector<std::uint32_t> &windows, std::uint32_t blockTokens,
                                  std::uint32_t context, std::uint32_t sequences = 1, std::uint32_t batch = 1)
{
    KvCacheSettings settings;
    for (std::uint32_t layer = 0; layer < windows.size(); ++layer)
        settings.shape.layers.push_back({1 + layer % 2, 1, 1, windows[layer]});
    settings.shape.blockTokens = blockTokens;
    settings.contextTokens = context;
    settings.sequences = sequences;
    settings.batchTokens = batch;
    return settings;
}

inline PlainCache cacheOf(const KvCacheSettings &settings)
{
    return PlainCache(*KvCache::create(settings));
}

inline PlainCache::Tokens range(std::uint32_t first, std::uint32_t count)
{
    PlainCache::Tokens tokens;
    for (std::uint32_t i = 0; i < count; ++i)
        tokens.emplace_back(first + i);
    return tokens;
}

} // namespace tokenloupe::test

/// Needs QTest.
#define TOKENLOUPE_VERIFY_SAME(plain)                                                                        \
    do {                                                                                                     \
        const std::string wrong = (plain).difference();                                                      \
        QVERIFY2(wrong.empty(), wrong.c_str());                                                              \
    } while (false)
