// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/cache/kvcache.h"
#include "engine/compute/backend.h"
#include "kernels/cpu/cpukernels.h"
#include "tests/support/testmain.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

using namespace tokenloupe;

namespace {

using Floats = std::vector<float>;

Floats randomFloats(std::size_t count, unsigned seed)
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

/// How far a value may be off: half a step where codes reach both ends; a whole one where the end opposite to
/// the largest magnitude has no code of its own; and what the scale's own eleven bits cost.
float stepOf(KvType type, float value, float largest, float range)
{
    const float halfBits = 0x1p-11F;
    switch (type) {
    case KvType::F32:
        return 0.0F;
    case KvType::F16:
        return std::abs(value) * halfBits + 0x1p-25F;
    case KvType::BF16:
        return std::abs(value) * 0x1p-8F;
    case KvType::Q8_0:
        return largest / 127.0F * 0.5F + largest * halfBits;
    case KvType::Q5_1:
        return range / 31.0F * 0.5F + (range + largest) * halfBits;
    case KvType::Q5_0:
        return largest / 16.0F + largest * halfBits;
    case KvType::Q4_1:
        return range / 15.0F * 0.5F + (range + largest) * halfBits;
    case KvType::Q4_0:
        break;
    }
    return largest / 8.0F + largest * halfBits;
}

std::shared_ptr<Backend> cpu(int threads)
{
    const auto backend = makeCpuBackend(threads);
    return backend ? *backend : nullptr;
}

} // namespace

Q_DECLARE_METATYPE(Shape)

class TestAttention : public QObject
{
    Q_OBJECT

private slots:
    void agreesWithPlainLoops_data();
    void agreesWithPlainLoops();
    void scatteredBlocksGiveTheSameBits_data();
    void scatteredBlocksGiveTheSameBits();
    void branchesSeeTheirOwn();
    void windowsLeaveBlocksBehind();
    void unrotatedKeysGiveTheSameBits();
    void everyTypeIsWithinItsStep_data();
    void everyTypeIsWithinItsStep();
    void batchesAndThreadsGiveTheSameBits();
    void weightsChangeNothing();
    void halvesAreRoundedOnce();
    void largeScoresDoNotOverflow();
    void refusesWrongShapes();
};

void TestAttention::agreesWithPlainLoops_data()
{
    QTest::addColumn<Shape>("shape");
    QTest::newRow("grouped") << Shape();
    Shape plain;
    plain.kvHeads = plain.heads;
    plain.tokens = 70;
    QTest::newRow("a KV head each") << plain;
    Shape wide;
    wide.heads = 35;
    wide.kvHeads = 1;
    wide.tokens = 40;
    QTest::newRow("a group of 35") << wide;
    Shape window;
    window.window = 100;
    QTest::newRow("window of 100") << window;
    Shape narrow;
    narrow.window = 1;
    narrow.tokens = 300;
    QTest::newRow("window of 1") << narrow;
    Shape broad;
    broad.window = 300;
    QTest::newRow("window over pieces") << broad;
}

void TestAttention::agreesWithPlainLoops()
{
    QFETCH(Shape, shape);
    Sequence sequence(shape);
    Result<KvCache> cache = sequence.cache(16);
    QVERIFY(cache);
    std::vector<Floats> weights;
    const std::uint32_t batch = 50;
    const Floats output = sequence.attend(*cpu(2), *cache, batch, &weights);
    QVERIFY(!output.empty());
    const std::uint32_t group = shape.heads / shape.kvHeads;
    for (std::uint32_t token = 0; token < shape.tokens; token += 7) {
        for (std::uint32_t head = 0; head < shape.heads; ++head) {
            const std::vector<double> expected = sequence.weightsOf(token, head);
            const std::uint32_t first = token / batch * batch;
            const std::uint32_t positions = std::min(first + batch, shape.tokens);
            const float *taken =
                weights[token / batch].data() + (std::size_t(token - first) * shape.heads + head) * positions;
            for (std::uint32_t seen = 0; seen < positions; ++seen) {
                const double want = seen <= token ? expected[seen] : 0.0;
                QVERIFY(std::abs(static_cast<double>(taken[seen]) - want) < 1e-5 * want + 1e-9);
            }
            for (std::uint32_t i = 0; i < shape.valueHeadSize; ++i) {
                double sum = 0;
                for (std::uint32_t seen = 0; seen <= token; ++seen)
                    sum += expected[seen] *
                           static_cast<double>(
                               sequence.values[(std::size_t(seen) * shape.kvHeads + head / group) *
                                                   shape.valueHeadSize +
                                               i]);
                const float got = output[(std::size_t(token) * shape.heads + head) * shape.valueHeadSize + i];
                QVERIFY(std::abs(static_cast<double>(got) - sum) < 1e-5);
            }
        }
    }
}

/// A cache in which the blocks of a new sequence come in a shuffled order, filled with what must not be read:
/// `others` are to be closed one by one as the sequence grows.
struct Scattered
{
    Scattered(KvCacheSettings settings, unsigned seed)
        : cache(*KvCache::create(std::move(settings)))
    {
        const std::uint32_t blockTokens = cache.shape().blockTokens;
        while (cache.pools().front().freeBlocks() > 0) {
            others.push_back(cache.open());
            const std::uint32_t room = std::min(blockTokens, cache.largestAppend(others.back()));
            if (!cache.append(others.back(), Sequence::freshTokens(room)))
                return;
            for (const LayerIndex layer : {LayerIndex(0), LayerIndex(1)}) {
                const KvLayerShape &shape = cache.shape().layers[layer.value()];
                const KvView view = cache.view(others.back());
                std::memset(view.keys(layer, 0, 0).data, 0xff,
                            shape.heads * kvRowBytes(cache.shape().keyType, shape.keySize) * blockTokens);
                std::memset(view.values(layer, 0, 0).data, 0xff,
                            shape.heads * kvRowBytes(cache.shape().valueType, shape.valueSize) * blockTokens);
            }
        }
        std::shuffle(others.begin(), others.end(), std::mt19937(seed));
    }

    KvCache cache;
    std::vector<SequenceId> others;
};

void TestAttention::scatteredBlocksGiveTheSameBits_data()
{
    QTest::addColumn<int>("type");
    for (const KvType type : kvTypes())
        QTest::newRow(kvTypeName(type).data()) << static_cast<int>(type);
}

void TestAttention::scatteredBlocksGiveTheSameBits()
{
    QFETCH(int, type);
    for (const auto &window : {std::optional<std::uint32_t>(), std::optional<std::uint32_t>(77)}) {
        Shape shape;
        shape.headSize = shape.valueHeadSize = 32;
        shape.tokens = 400;
        shape.window = window;
        Sequence sequence(shape);
        const auto backend = cpu(2);
        const auto stored = static_cast<KvType>(type);
        Result<KvCache> contiguous = sequence.cache(shape.tokens, stored); // one block holds everything
        QVERIFY(contiguous);
        const SequenceId whole = contiguous->open();
        const Floats expected = sequence.attend(*backend, *contiguous, whole, 37);
        QVERIFY(!expected.empty());
        QCOMPARE(contiguous->usedBlocks(whole), 1U);
        for (const std::uint32_t blockTokens : {1U, 7U, 16U, 100U}) {
            Scattered scattered(sequence.settings(blockTokens, stored), blockTokens);
            KvCache &cache = scattered.cache;
            const SequenceId id = cache.open();
            for (std::uint32_t token = 0; token < shape.tokens; ++token) {
                if (token % blockTokens == 0) {
                    cache.discard(scattered.others.back());
                    scattered.others.pop_back();
                }
                QVERIFY(cache.append(id, Sequence::freshTokens(1)));
            }
            const std::vector<BlockId> &blocks = cache.sequence(id).tables.front();
            if (blockTokens < 100)
                QVERIFY(!std::is_sorted(blocks.begin(), blocks.end()));
            QVERIFY(sequence.storeAll(*backend, cache.view(id)));
            QVERIFY(sequence.attendAll(*backend, cache.view(id)) == expected);
        }
    }
}

/// Branches that share blocks with others see what they would see alone.
void TestAttention::branchesSeeTheirOwn()
{
    Shape shape;
    shape.tokens = 90;
    Sequence sequence(shape);
    const auto backend = cpu(2);
    Result<KvCache> alone = sequence.cache(16);
    QVERIFY(alone);
    const Floats expected = sequence.attend(*backend, *alone, 30);

    KvCacheSettings settings = sequence.settings(16);
    settings.sequences = 3;
    Result<KvCache> cache = KvCache::create(settings);
    QVERIFY(cache);
    const SequenceId first = cache->open();
    QVERIFY(sequence.attend(*backend, *cache, first, 30) == expected);
    // The branch shares 40 tokens and writes 50 others; then the first one is attended to again.
    const SequenceId branch = cache->fork(first, 40);
    QCOMPARE(cache->tokens(branch), 40U);
    Sequence other = sequence;
    const std::size_t keyWidth = shape.kvHeads * shape.headSize;
    const std::size_t valueWidth = shape.kvHeads * shape.valueHeadSize;
    for (std::size_t i = 40 * keyWidth; i < other.keys.size(); ++i)
        other.keys[i] = -other.keys[i] + 0.25F;
    for (std::size_t i = 40 * valueWidth; i < other.values.size(); ++i)
        other.values[i] *= 1.5F;
    Result<KvCache> otherAlone = other.cache(16);
    QVERIFY(otherAlone);
    const Floats otherExpected = other.attend(*backend, *otherAlone, 30);
    QVERIFY(cache->append(branch, Sequence::freshTokens(50)));
    QVERIFY(backend->storeKv({other.keys.data() + 40 * keyWidth, 50, std::int64_t(keyWidth)},
                             {other.values.data() + 40 * valueWidth, 50, std::int64_t(valueWidth)},
                             LayerIndex(1), 40, cache->view(branch)));
    QVERIFY(other.attendAll(*backend, cache->view(branch)) == otherExpected);
    QVERIFY(sequence.attendAll(*backend, cache->view(first)) == expected);
    QVERIFY(otherExpected != expected);
}

/// Blocks behind the window are given back as the sequence grows; that changes no bit.
void TestAttention::windowsLeaveBlocksBehind()
{
    Shape shape;
    shape.window = 50;
    Sequence sequence(shape);
    const auto backend = cpu(2);
    Result<KvCache> everything = sequence.cache(16);
    QVERIFY(everything);
    const Floats expected = sequence.attend(*backend, *everything, 20);
    for (const std::uint32_t blockTokens : {4U, 16U, 100U}) {
        KvCacheSettings settings = sequence.settings(blockTokens);
        for (KvLayerShape &layer : settings.shape.layers)
            layer.window = *shape.window;
        settings.batchTokens = 20;
        Result<KvCache> cache = KvCache::create(settings);
        QVERIFY(cache);
        const SequenceId id = cache->open();
        QVERIFY(sequence.attend(*backend, *cache, id, 20) == expected);
        QVERIFY(cache->usedBlocks(id) <= (50 + 20) / blockTokens + 2);
        QVERIFY(cache->view(id).firstHeld(LayerIndex(1)) > 0 || blockTokens == 100);
        // What is gone cannot be asked for.
        AttentionParams params;
        params.layer = LayerIndex(1);
        params.heads = shape.heads;
        params.firstPosition = 300;
        params.window = shape.window;
        Floats output(std::size_t(shape.heads) * shape.valueHeadSize);
        const Status gone =
            backend->attend({sequence.queries.data(), 1, shape.heads * shape.headSize}, cache->view(id),
                            params, {output.data(), 1, shape.heads * shape.valueHeadSize});
        QVERIFY(!gone);
        QCOMPARE(gone.error().code, ErrorCode::InvalidArgument);
    }
}

/// Keys that are rotated when they are read: as if they had been when they were stored.
void TestAttention::unrotatedKeysGiveTheSameBits()
{
    for (const RotaryStyle style : {RotaryStyle::Interleaved, RotaryStyle::HalfSplit}) {
        for (const std::uint32_t rotated : {20U, 12U}) {
            Sequence sequence{Shape()};
            const Shape &shape = sequence.shape;
            std::vector<float> frequencies(rotated / 2);
            for (std::size_t pair = 0; pair < frequencies.size(); ++pair)
                frequencies[pair] =
                    std::pow(100.0F, -static_cast<float>(2 * pair) / static_cast<float>(rotated));
            RopeParams rotation;
            rotation.style = style;
            rotation.headSize = shape.headSize;
            rotation.rotated = rotated;
            rotation.inverseFrequencies = frequencies;
            const auto backend = cpu(2);

            Sequence before = sequence;
            QVERIFY(backend->rope({before.keys.data(), shape.tokens, shape.kvHeads * shape.headSize}, 0,
                                  rotation));
            QVERIFY(before.keys != sequence.keys);
            Result<KvCache> plain = before.cache(16);
            QVERIFY(plain);
            const Floats expected = before.attend(*backend, *plain, 50);

            sequence.rotation = rotation;
            for (const std::uint32_t blockTokens : {1U, 16U, 600U}) {
                KvCacheSettings settings = sequence.settings(blockTokens);
                settings.keyPhase = KeyPhase::Unrotated;
                Result<KvCache> cache = KvCache::create(settings);
                QVERIFY(cache);
                QVERIFY(sequence.attend(*backend, *cache, 50) == expected);
            }
        }
    }
}

/// Each stored number is off by no more than its type's step over the head's block of 32.
void TestAttention::everyTypeIsWithinItsStep_data()
{
    scatteredBlocksGiveTheSameBits_data();
}

void TestAttention::everyTypeIsWithinItsStep()
{
    QFETCH(int, type);
    Shape shape;
    shape.headSize = shape.valueHeadSize = 64;
    shape.tokens = 40;
    Sequence sequence(shape);
    const auto stored = static_cast<KvType>(type);
    Result<KvCache> cache = sequence.cache(16, stored);
    QVERIFY(cache);
    const SequenceId id = cache->open();
    QVERIFY(!sequence.attend(*cpu(2), *cache, id, 7).empty());
    const KvView view = cache->view(id);
    for (std::uint32_t token = 0; token < shape.tokens; ++token) {
        for (std::uint32_t head = 0; head < shape.kvHeads; ++head) {
            const std::size_t at = (std::size_t(token) * shape.kvHeads + head) * shape.headSize;
            for (const auto &[rows, given] :
                 {std::pair(view.keys(LayerIndex(1), head, token), sequence.keys.data() + at),
                  std::pair(view.values(LayerIndex(1), head, token), sequence.values.data() + at)}) {
                QCOMPARE(rows.count, 16 - token % 16);
                Floats got(shape.headSize);
                cpuKernels().dequantizeRow({tensorTypeOf(stored), 1, shape.headSize, rows.data}, 0,
                                           got.data());
                for (std::size_t block = 0; block < 2; ++block) {
                    const float *first = given + 32 * block;
                    const auto [low, high] = std::minmax_element(first, first + 32);
                    const float largest = std::max(-*low, *high);
                    for (std::size_t i = 0; i < 32; ++i) {
                        const float step = stepOf(stored, first[i], largest, *high - *low);
                        const float error = std::abs(got[32 * block + i] - first[i]);
                        QVERIFY2(error <= step, qPrintable(QStringLiteral("%1 > %2").arg(error).arg(step)));
                    }
                }
            }
        }
    }
}

void TestAttention::batchesAndThreadsGiveTheSameBits()
{
    Sequence sequence{Shape()};
    Result<KvCache> cache = sequence.cache(16);
    QVERIFY(cache);
    const SequenceId id = cache->open();
    const Floats expected = sequence.attend(*cpu(1), *cache, id, sequence.shape.tokens);
    QVERIFY(!expected.empty());
    const std::vector<std::pair<std::uint32_t, int>> ways = {{1, 2}, {3, 3}, {7, 1}, {64, 2}, {64, 3}};
    for (const auto &[batch, threads] : ways) {
        cache->truncate(id, 0);
        QVERIFY(sequence.attend(*cpu(threads), *cache, id, batch) == expected);
    }
}

void TestAttention::weightsChangeNothing()
{
    Sequence sequence{Shape()};
    Result<KvCache> cache = sequence.cache(16);
    QVERIFY(cache);
    const SequenceId id = cache->open();
    const Floats expected = sequence.attend(*cpu(2), *cache, id, 20);
    cache->truncate(id, 0);
    std::vector<Floats> weights;
    QVERIFY(sequence.attend(*cpu(2), *cache, id, 20, &weights) == expected);
    QCOMPARE(weights.size(), std::size_t(30));
}

/// A half-precision cache is the same as full precision over keys and values that were rounded before.
void TestAttention::halvesAreRoundedOnce()
{
    Sequence sequence{Shape()};
    Result<KvCache> halves = sequence.cache(16, KvType::F16);
    QVERIFY(halves);
    const SequenceId small = halves->open();
    const Floats got = sequence.attend(*cpu(2), *halves, small, 40);
    for (Floats *values : {&sequence.keys, &sequence.values}) {
        std::vector<std::uint16_t> rounded(values->size());
        const auto count = static_cast<std::int64_t>(values->size());
        cpuKernels().toHalf(values->data(), count, rounded.data());
        cpuKernels().fromHalf(rounded.data(), count, values->data());
    }
    Result<KvCache> full = sequence.cache(16);
    QVERIFY(full);
    const SequenceId exact = full->open();
    QVERIFY(sequence.attend(*cpu(2), *full, exact, 40) == got);
    QCOMPARE(halves->usedBytes(small) * 2, full->usedBytes(exact));
}

void TestAttention::largeScoresDoNotOverflow()
{
    Sequence sequence{Shape()};
    for (float &key : sequence.keys)
        key *= 1e4F;
    Result<KvCache> cache = sequence.cache(16);
    QVERIFY(cache);
    const Floats output = sequence.attend(*cpu(2), *cache, 64);
    QVERIFY(!output.empty());
    QVERIFY(std::all_of(output.begin(), output.end(), [](float value) { return std::isfinite(value); }));
}

void TestAttention::refusesWrongShapes()
{
    Sequence sequence{Shape()};
    const Shape &shape = sequence.shape;
    Result<KvCache> cache = sequence.cache(16);
    QVERIFY(cache);
    const SequenceId id = cache->open();
    QVERIFY(cache->append(id, Sequence::freshTokens(4)));
    const auto backend = cpu(1);
    const auto attend = [&](AttentionParams params, std::int64_t rows, std::int64_t missing) {
        Floats output(std::size_t(rows) * shape.heads * shape.valueHeadSize);
        return backend
            ->attend({sequence.queries.data(), rows, shape.heads * shape.headSize - missing}, cache->view(id),
                     params, {output.data(), rows, shape.heads * shape.valueHeadSize})
            .has_value();
    };
    AttentionParams params;
    params.layer = LayerIndex(1);
    params.heads = shape.heads;
    QVERIFY(attend(params, 4, 0));
    QVERIFY(!attend(params, 5, 0)); // only 4 tokens in the cache
    QVERIFY(!attend(params, 4, 1));
    params.window = 0;
    QVERIFY(!attend(params, 4, 0));
    params.window.reset();
    params.layer = LayerIndex(2);
    QVERIFY(!attend(params, 4, 0));
    params.layer = LayerIndex(1);
    params.heads = 5;
    QVERIFY(!attend(params, 4, 0));

    const auto store = [&](LayerIndex layer, std::uint32_t first, std::int64_t missing) {
        return backend
            ->storeKv({sequence.keys.data(), 2, shape.kvHeads * shape.headSize - missing},
                      {sequence.values.data(), 2, shape.kvHeads * shape.valueHeadSize}, layer, first,
                      cache->view(id))
            .has_value();
    };
    QVERIFY(store(LayerIndex(1), 2, 0));
    QVERIFY(!store(LayerIndex(1), 3, 0));
    QVERIFY(!store(LayerIndex(1), 2, 1));
    QVERIFY(!store(LayerIndex(5), 2, 0));
    QVERIFY(!store(LayerIndex(0), 2, 0)); // that layer has one KV head
}

TOKENLOUPE_TEST_MAIN(TestAttention)
#include "tst_attention.moc"
