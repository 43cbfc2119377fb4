// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/memory/activationlayout.h"
#include "kernels/cpu/cpukernels.h"
#include "tests/compute/attentionfixture.h"
#include "tests/support/testmain.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace tokenloupe;
using namespace tokenloupe::test;

namespace {

struct Case
{
    std::uint32_t positions = 5000;
    std::uint32_t rows = 1; // the last ones
    std::uint32_t heads = 6;
    std::uint32_t kvHeads = 2;
    KvType type = KvType::F16;
    std::optional<std::uint32_t> window;
    float softCap = 0.0F;
    std::vector<float> slopes;
    KeyPhase keyPhase = KeyPhase::Rotated;

    Shape shape() const { return {heads, kvHeads, 64, 32, positions, window}; }
};

/// What the cache holds of one head at one position, as float32.
Floats stored(const KvRows &row, KvType type, std::uint32_t size)
{
    Floats values(size);
    cpuKernels().dequantizeRow({tensorTypeOf(type), 1, size, row.data}, 0, values.data());
    return values;
}

} // namespace

Q_DECLARE_METATYPE(Case)

/// Attention over few and many positions against plain loops in double precision, whichever way it is cut.
class TestLongAttention : public QObject
{
    Q_OBJECT

private slots:
    void agreesWithPlainLoops_data();
    void agreesWithPlainLoops();
    void manyPositionsGoInTurns();
    void whatIsNotSeenIsNotTouched();

private:
    struct Setup
    {
        explicit Setup(const Case &given)
            : what(given)
            , sequence(given.shape())
        {
            for (std::uint32_t pair = 0; pair < 16; ++pair)
                frequencies.push_back(std::pow(1000.0F, -static_cast<float>(pair) / 16.0F));
            params.layer = LayerIndex(1);
            params.heads = what.heads;
            params.firstPosition = what.positions - what.rows;
            params.scale = 0.3F;
            params.window = what.window;
            params.softCap = what.softCap;
            params.slopes = what.slopes;
            params.keyRotation.style = RotaryStyle::HalfSplit;
            params.keyRotation.headSize = 64;
            params.keyRotation.rotated = 32;
            params.keyRotation.inverseFrequencies = frequencies;
            KvCacheSettings settings = sequence.settings(16, what.type);
            settings.keyPhase = what.keyPhase;
            cache = std::make_unique<KvCache>(*KvCache::create(settings));
            id = cache->open();
            isReady = cache->append(id, Sequence::freshTokens(what.positions)).has_value() &&
                      sequence.storeAll(*cpu(1), cache->view(id)).has_value();
        }
        /// Of `rows` rows from position `first` on.
        Floats attend(Backend &backend, std::uint32_t first, std::uint32_t rows)
        {
            AttentionParams own = params;
            own.firstPosition = first;
            const std::int64_t queryWidth = std::int64_t(what.heads) * 64;
            const std::int64_t outputWidth = std::int64_t(what.heads) * 32;
            Floats output(std::size_t(rows) * outputWidth, 99.0F);
            const Status done =
                backend.attend({sequence.queries.data() + first * queryWidth, rows, queryWidth},
                               cache->view(id), own, {output.data(), rows, outputWidth});
            return done ? output : Floats();
        }
        std::vector<double> keyAt(std::uint32_t position, std::uint32_t kvHead) const
        {
            const Floats key = stored(cache->view(id).keys(LayerIndex(1), kvHead, position), what.type, 64);
            std::vector<double> turned(key.begin(), key.end());
            for (std::size_t pair = 0; pair < 16 && what.keyPhase == KeyPhase::Unrotated; ++pair) {
                const double angle = position * static_cast<double>(frequencies[pair]);
                const double a = turned[pair];
                const double b = turned[pair + 16];
                turned[pair] = a * std::cos(angle) - b * std::sin(angle);
                turned[pair + 16] = a * std::sin(angle) + b * std::cos(angle);
            }
            return turned;
        }
        /// One head of one token by plain loops.
        std::vector<double> expected(std::uint32_t position, std::uint32_t head) const
        {
            const std::uint32_t kvHead = head / (what.heads / what.kvHeads);
            const float *query = sequence.queries.data() + (std::size_t(position) * what.heads + head) * 64;
            const std::uint32_t begin =
                what.window && position + 1 > *what.window ? position + 1 - *what.window : 0;
            std::vector<double> scores;
            for (std::uint32_t seen = begin; seen <= position; ++seen) {
                const std::vector<double> key = keyAt(seen, kvHead);
                double score = 0;
                for (std::size_t i = 0; i < 64; ++i)
                    score += static_cast<double>(query[i] * 0.3F) * key[i];
                if (what.softCap > 0)
                    score = static_cast<double>(what.softCap) *
                            std::tanh(score / static_cast<double>(what.softCap));
                if (!what.slopes.empty())
                    score -= static_cast<double>(what.slopes[head]) * (position - seen);
                scores.push_back(score);
            }
            const double top = *std::max_element(scores.begin(), scores.end());
            std::vector<double> sums(32, 0.0);
            double total = 0;
            for (std::uint32_t seen = begin; seen <= position; ++seen) {
                const double weight = std::exp(scores[seen - begin] - top);
                const Floats value =
                    stored(cache->view(id).values(LayerIndex(1), kvHead, seen), what.type, 32);
                total += weight;
                for (std::size_t i = 0; i < 32; ++i)
                    sums[i] += weight * static_cast<double>(value[i]);
            }
            for (double &sum : sums)
                sum /= total;
            return sums;
        }

        Case what;
        Sequence sequence;
        Floats frequencies;
        AttentionParams params;
        std::unique_ptr<KvCache> cache;
        SequenceId id;
        bool isReady = false;
    };
};

void TestLongAttention::agreesWithPlainLoops_data()
{
    QTest::addColumn<Case>("what");
    for (const std::uint32_t positions : {1U, 17U, 512U, 5000U}) {
        for (const std::uint32_t rows : {1U, 3U, 40U}) {
            if (rows > positions)
                continue;
            Case what;
            what.positions = positions;
            what.rows = rows;
            QTest::addRow("%u of %u", rows, positions) << what;
        }
    }
    for (const KvType type : kvTypes()) {
        Case what;
        what.type = type;
        what.positions = 700;
        QTest::addRow("%s", std::string(kvTypeName(type)).c_str()) << what;
        what.rows = 20;
        QTest::addRow("%s, 20 rows", std::string(kvTypeName(type)).c_str()) << what;
    }
    for (const std::uint32_t rows : {1U, 30U}) {
        const auto add = [&](const char *name, const auto &change) {
            Case what;
            what.positions = 1500;
            what.rows = rows;
            change(what);
            QTest::addRow("%s, %u rows", name, rows) << what;
        };
        add("window of 300", [](Case &what) { what.window = 300; });
        add("window of 5", [](Case &what) { what.window = 5; });
        add("soft cap", [](Case &what) { what.softCap = 4.0F; });
        add("slopes", [](Case &what) { what.slopes = {0.5F, 0.25F, 0.1F, 0.01F, 0.001F, 0.0F}; });
        add("unrotated keys", [](Case &what) { what.keyPhase = KeyPhase::Unrotated; });
        add("one KV head", [](Case &what) { what.kvHeads = 1; });
        add("a KV head each", [](Case &what) { what.kvHeads = what.heads; });
        add("a group of 70", [](Case &what) {
            what.heads = 70;
            what.kvHeads = 1;
        });
    }
}

void TestLongAttention::agreesWithPlainLoops()
{
    QFETCH(Case, what);
    Setup setup(what);
    QVERIFY(setup.isReady);
    const std::uint32_t first = what.positions - what.rows;
    const Floats output = setup.attend(*cpu(1), first, what.rows);
    QVERIFY(!output.empty());
    for (const int threads : {2, 3, 16})
        QVERIFY(setup.attend(*cpu(threads), first, what.rows) == output);
    const std::size_t width = std::size_t(what.heads) * 32;
    for (const std::uint32_t row : {0U, what.rows / 2, what.rows - 1}) {
        const Floats alone = setup.attend(*cpu(2), first + row, 1);
        QVERIFY(std::equal(alone.begin(), alone.end(),
                           output.begin() + static_cast<std::ptrdiff_t>(row * width)));
    }
    for (const std::uint32_t head : {0U, what.heads / 2, what.heads - 1}) {
        const std::vector<double> expected = setup.expected(what.positions - 1, head);
        const float *got = output.data() + (what.rows - 1) * width + std::size_t(head) * 32;
        for (std::size_t i = 0; i < 32; ++i)
            QVERIFY(std::abs(static_cast<double>(got[i]) - expected[i]) < 1e-5);
    }
}

/// More positions than there is room for sums at a time.
void TestLongAttention::manyPositionsGoInTurns()
{
    Case what;
    what.positions = 9000;
    what.rows = 3;
    what.heads = 40;
    what.kvHeads = 1;
    const std::uint64_t sums = std::uint64_t(what.rows) * what.heads * attentionScratch(64, 32).sumStride;
    QVERIFY(sums * (what.positions / attentionPiece) > attentionSharedFloats);
    Setup setup(what);
    QVERIFY(setup.isReady);
    const Floats output = setup.attend(*cpu(1), what.positions - what.rows, what.rows);
    QVERIFY(!output.empty());
    for (const int threads : {2, 7})
        QVERIFY(setup.attend(*cpu(threads), what.positions - what.rows, what.rows) == output);
    const std::vector<double> expected = setup.expected(what.positions - 1, 39);
    for (std::size_t i = 0; i < 32; ++i)
        QVERIFY(std::abs(static_cast<double>(output[output.size() - 32 + i]) - expected[i]) < 1e-5);
}

/// Tokens of one batch share what is read, but a later one's infinite values are none of an earlier one's
/// business.
void TestLongAttention::whatIsNotSeenIsNotTouched()
{
    Case what;
    what.type = KvType::F32;
    what.positions = 300;
    what.rows = 60;
    Setup clean(what);
    QVERIFY(clean.isReady);
    const Floats expected = clean.attend(*cpu(2), 240, 60);
    for (const std::uint32_t poisoned : {250U, 271U, 299U}) {
        Setup setup(what);
        QVERIFY(setup.isReady);
        for (std::uint32_t head = 0; head < what.kvHeads; ++head) {
            const KvView view = setup.cache->view(setup.id);
            std::fill_n(reinterpret_cast<float *>(view.values(LayerIndex(1), head, poisoned).data), 32,
                        std::numeric_limits<float>::infinity());
            std::fill_n(reinterpret_cast<float *>(view.keys(LayerIndex(1), head, poisoned).data), 64,
                        std::numeric_limits<float>::quiet_NaN());
        }
        const Floats got = setup.attend(*cpu(2), 240, 60);
        const std::ptrdiff_t before = std::ptrdiff_t(poisoned - 240) * what.heads * 32;
        QVERIFY(std::equal(got.begin(), got.begin() + before, expected.begin()));
        QVERIFY(std::isnan(got[static_cast<std::size_t>(before)]));
    }
}

TOKENLOUPE_TEST_MAIN(TestLongAttention)
#include "tst_longattention.moc"
