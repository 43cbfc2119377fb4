// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/cache/kvtype.h"

#include <cstdint>
#include <vector>

namespace tokenloupe {

/// What one layer keeps of a token. A layer with heads 0 keeps nothing that grows (recurrent layers).
struct KvLayerShape
{
    std::uint32_t heads = 0;     ///< of keys and values
    std::uint32_t keySize = 0;   ///< numbers in one head's key
    std::uint32_t valueSize = 0; ///< 0: latent attention, which reads its values out of the keys
    std::uint32_t window = 0;    ///< a token sees only the last `window` positions, itself included; 0: all

    bool operator==(const KvLayerShape &) const = default;
};

/// Layers that see equally far back and lie in the same memory: they keep the same tokens, so they share
/// blocks.
struct KvLayerGroup
{
    std::uint32_t window = 0; ///< 0: all positions
    std::vector<std::uint32_t> layers;
    std::uint32_t memory = 0; ///< KvShape::memoryOf() each of them
};

/// What a KV cache holds.
struct KvShape
{
    std::vector<KvLayerShape> layers;
    KvType keyType = KvType::F32;
    KvType valueType = KvType::F32;
    std::uint32_t blockTokens = 16;
    std::uint32_t splitLayer = 0; ///< layers before it lie in one memory, the rest in another; 0: all in one

    /// The number of the memory that a layer lies in, and how many there are.
    std::uint32_t memoryOf(std::uint32_t layer) const
    {
        return splitLayer > 0 && layer >= splitLayer ? 1 : 0;
    }
    std::uint32_t memories() const { return splitLayer > 0 ? 2 : 1; }
    std::uint64_t keyBytesPerToken(std::uint32_t layer) const;
    std::uint64_t valueBytesPerToken(std::uint32_t layer) const;
    std::uint64_t bytesPerToken(std::uint32_t layer) const; ///< K and V of one layer
    std::uint64_t bytesPerToken() const; ///< Σ over layers: what a token costs while every window holds it
    /// In order of their first layer. Layers that keep nothing are in none.
    std::vector<KvLayerGroup> groups() const;

    bool operator==(const KvShape &) const = default;
};

} // namespace tokenloupe
