// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/cache/kvcache.h"
#include "engine/compute/backend.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <random>
#include <vector>

namespace tokenloupe::test {

using Floats = std::vector<float>;

inline Floats randomFloats(std::size_t count, unsigned seed)
{
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    Floats values(count);
    for (float &value : values)
        value = normal(random);
    return values;
}

struct Shape
{
    std::uint32_t heads = 6;
    std::uint32_t kvHeads = 2;
    std::uint32_t headSize = 20;
    std::uint32_t valueHeadSize = 12;
    std::uint32_t tokens = 600; // several pieces of 256 positions
    std::optional<std::uint32_t> window;
};

/// Queries, keys and values of a whole sequence, and the ways to attend over them.
struct Sequence
{
    explicit Sequence(const Shape &given)
        : shape(given)
        , queries(randomFloats(std::size_t(shape.tokens) * shape.heads * shape.headSize, 1))
        , keys(randomFloats(std::size_t(shape.tokens) * shape.kvHeads * shape.headSize, 2))
        , values(randomFloats(std::size_t(shape.tokens) * shape.kvHeads * shape.valueHeadSize, 3))
    {}

    KvCacheSettings settings(std::uint32_t blockTokens, KvType type = KvType::F32) const
    {
        KvCacheSettings settings;
        KvLayerShape layer{shape.kvHeads, shape.headSize, shape.valueHeadSize, 0};
        settings.shape.layers = {{1, shape.headSize, shape.valueHeadSize, 0}, layer};
        settings.shape.keyType = settings.shape.valueType = type;
        settings.shape.blockTokens = blockTokens;
        settings.contextTokens = shape.tokens;
        settings.batchTokens = shape.tokens;
        return settings;
    }
    Result<KvCache> cache(std::uint32_t blockTokens, KvType type = KvType::F32) const
    {
        return KvCache::create(settings(blockTokens, type));
    }

    /// Tokens that are like no others before.
    static std::vector<TokenId> freshTokens(std::uint32_t count)
    {
        static std::uint32_t next = 0;
        std::vector<TokenId> tokens;
        for (std::uint32_t i = 0; i < count; ++i)
            tokens.emplace_back(next++);
        return tokens;
    }

    /// Appends and attends in batches; returns the outputs of all tokens, and their weights where asked for.
    Floats attend(Backend &backend, KvCache &cache, std::uint32_t batch,
                  std::vector<Floats> *weights = nullptr)
    {
        return attend(backend, cache, cache.open(), batch, weights);
    }
    Floats attend(Backend &backend, KvCache &cache, SequenceId id, std::uint32_t batch,
                  std::vector<Floats> *weights = nullptr)
    {
        const LayerIndex layer(1);
        Floats output(std::size_t(shape.tokens) * shape.heads * shape.valueHeadSize, 99.0F);
        for (std::uint32_t first = 0; first < shape.tokens; first += batch) {
            const std::uint32_t rows = std::min(batch, shape.tokens - first);
            const auto view = [&](Floats &all, std::uint32_t columns) {
                return Activations{all.data() + std::size_t(first) * columns, rows, columns};
            };
            AttentionParams params;
            params.layer = layer;
            params.heads = shape.heads;
            params.firstPosition = first;
            params.scale = 0.3F;
            params.window = shape.window;
            Floats taken(weights ? std::size_t(rows) * shape.heads * (first + rows) : 0, 99.0F);
            if (weights)
                params.weights = taken.data();
            params.keyRotation = rotation;
            if (!cache.append(id, freshTokens(rows)))
                return {};
            const KvView held = cache.view(id);
            const Status done =
                backend
                    .storeKv(view(keys, shape.kvHeads * shape.headSize),
                             view(values, shape.kvHeads * shape.valueHeadSize), layer, first, held)
                    .and_then([&] {
                        return backend.attend(view(queries, shape.heads * shape.headSize), held, params,
                                              view(output, shape.heads * shape.valueHeadSize));
                    });
            if (!done)
                return {};
            cache.markWritten(id);
            if (weights)
                weights->push_back(taken);
        }
        return output;
    }

    /// All tokens at once over what the cache holds.
    Floats attendAll(Backend &backend, const KvView &view)
    {
        Floats output(std::size_t(shape.tokens) * shape.heads * shape.valueHeadSize);
        AttentionParams params;
        params.layer = LayerIndex(1);
        params.heads = shape.heads;
        params.scale = 0.3F;
        params.window = shape.window;
        const Status done =
            backend.attend({queries.data(), shape.tokens, shape.heads * shape.headSize}, view, params,
                           {output.data(), shape.tokens, shape.heads * shape.valueHeadSize});
        return done ? output : Floats();
    }
    Status storeAll(Backend &backend, const KvView &view)
    {
        return backend.storeKv({keys.data(), shape.tokens, shape.kvHeads * shape.headSize},
                               {values.data(), shape.tokens, shape.kvHeads * shape.valueHeadSize},
                               LayerIndex(1), 0, view);
    }

    /// The same by plain loops in double precision; the weights of one token and head.
    std::vector<double> weightsOf(std::uint32_t token, std::uint32_t head) const
    {
        const std::uint32_t begin = shape.window && token + 1 > *shape.window ? token + 1 - *shape.window : 0;
        std::vector<double> all(token + 1, 0.0);
        const float *query = queries.data() + (std::size_t(token) * shape.heads + head) * shape.headSize;
        double top = -1e300;
        for (std::uint32_t seen = begin; seen <= token; ++seen) {
            const float *key =
                keys.data() +
                (std::size_t(seen) * shape.kvHeads + head / (shape.heads / shape.kvHeads)) * shape.headSize;
            double dot = 0;
            for (std::uint32_t i = 0; i < shape.headSize; ++i)
                dot += static_cast<double>(query[i]) * static_cast<double>(key[i]);
            all[seen] = dot * static_cast<double>(0.3F);
            top = std::max(top, all[seen]);
        }
        double sum = 0;
        for (std::uint32_t seen = begin; seen <= token; ++seen)
            sum += all[seen] = std::exp(all[seen] - top);
        for (double &weight : all)
            weight /= sum;
        return all;
    }

    Shape shape;
    RopeParams rotation; // of the cache's keys
    Floats queries;
    Floats keys;
    Floats values;
};

inline std::shared_ptr<Backend> cpu(int threads)
{
    const auto backend = makeCpuBackend(threads);
    return backend ? *backend : nullptr;
}

} // namespace tokenloupe::test
