// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cpu/cpukernels.h"
#include "tests/compute/attentionfixture.h"
#include "tests/support/testmain.h"

#include <cstring>

using namespace tokenloupe;
using namespace tokenloupe::test;

namespace {

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
                for (std::uint32_t head = 0; head < shape.heads; ++head) {
                    std::memset(view.keys(layer, head, 0).data, 0xff,
                                kvRowBytes(cache.shape().keyType, shape.keySize) * blockTokens);
                    std::memset(view.values(layer, head, 0).data, 0xff,
                                kvRowBytes(cache.shape().valueType, shape.valueSize) * blockTokens);
                }
            }
        }
        std::shuffle(others.begin(), others.end(), std::mt19937(seed));
    }

    KvCache cache;
    std::vector<SequenceId> others;
};

} // namespace

/// Attention does not care where and how keys and values lie.
class TestAttentionCache : public QObject
{
    Q_OBJECT

private slots:
    void scatteredBlocksGiveTheSameBits_data();
    void scatteredBlocksGiveTheSameBits();
    void branchesSeeTheirOwn();
    void windowsLeaveBlocksBehind();
    void unrotatedKeysGiveTheSameBits();
    void everyTypeIsWithinItsStep_data();
    void everyTypeIsWithinItsStep();
};

void TestAttentionCache::scatteredBlocksGiveTheSameBits_data()
{
    QTest::addColumn<int>("type");
    for (const KvType type : kvTypes())
        QTest::newRow(kvTypeName(type).data()) << static_cast<int>(type);
}

void TestAttentionCache::scatteredBlocksGiveTheSameBits()
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
void TestAttentionCache::branchesSeeTheirOwn()
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
void TestAttentionCache::windowsLeaveBlocksBehind()
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
void TestAttentionCache::unrotatedKeysGiveTheSameBits()
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
void TestAttentionCache::everyTypeIsWithinItsStep_data()
{
    scatteredBlocksGiveTheSameBits_data();
}

void TestAttentionCache::everyTypeIsWithinItsStep()
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

TOKENLOUPE_TEST_MAIN(TestAttentionCache)
#include "tst_attentioncache.moc"
