// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/strongindex.h"
#include "engine/cache/blockpool.h"
#include "engine/cache/keyphase.h"
#include "engine/cache/kvshape.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace tokenloupe {

class KvCache;
struct KvSequence;

/// Rows that follow each other in memory, one a position.
struct KvRows
{
    std::byte *data = nullptr;
    std::uint32_t count = 0; ///< from the asked position to the end of its block
};

/// One sequence of a cache as the operations on it see it: where its keys and values lie. Light; valid until
/// the cache changes. Reading is safe from many threads.
class KvView
{
public:
    KvView(const KvCache &cache, SequenceId sequence);

    const KvShape &shape() const;
    KeyPhase keyPhase() const;
    std::uint32_t tokens() const;
    std::uint32_t contextTokens() const; ///< most that it can ever hold
    /// The first position from which on every row of `layer` is there: a window leaves older ones behind.
    std::uint32_t firstHeld(LayerIndex layer) const;

    /// Whether keys() and values() of a layer may be followed here. On a device it has places() and a table
    /// instead.
    bool isOnHost(LayerIndex layer) const;
    /// Layers that keep the same tokens have a table in common: its number, how many there are, and its
    /// blocks, one for blockTokens positions each (invalid where a window left them behind).
    std::uint32_t tableOf(LayerIndex layer) const;
    std::uint32_t tables() const;
    std::span<const BlockId> blocks(std::uint32_t table) const;
    KvBlockPlaces places(LayerIndex layer) const;

    /// `position` < tokens() and not before firstHeld(layer).
    KvRows keys(LayerIndex layer, std::uint32_t kvHead, std::uint32_t position) const;
    KvRows values(LayerIndex layer, std::uint32_t kvHead, std::uint32_t position) const;

private:
    const KvCache *m_cache;
    const KvSequence *m_sequence;
};

} // namespace tokenloupe
