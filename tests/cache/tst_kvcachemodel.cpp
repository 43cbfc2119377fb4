// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/cache/kvcache.h"
#include "tests/cache/plaincache.h"
#include "tests/support/testmain.h"

#include <algorithm>
#include <random>

using namespace tokenloupe;
using namespace tokenloupe::test;

namespace {

using Tokens = PlainCache::Tokens;

/// Few different tokens, so that beginnings are often the same.
Tokens randomTokens(std::mt19937 &random, std::uint32_t most)
{
    Tokens tokens(random() % (most + 1));
    for (TokenId &token : tokens)
        token = TokenId(random() % 3);
    return tokens;
}

struct RandomCase
{
    KvCacheSettings settings;
    std::uint32_t open = 4; ///< most sequences at a time
    int operations = 4000;
    bool evicts = true;
};

} // namespace

Q_DECLARE_METATYPE(RandomCase)

/// Random operations on the cache beside the plainest idea of it.
class TestKvCacheModel : public QObject
{
    Q_OBJECT

private slots:
    void followsAPlainModel_data();
    void followsAPlainModel();
    void oneSequenceAlwaysHasItsContext_data();
    void oneSequenceAlwaysHasItsContext();
};

void TestKvCacheModel::followsAPlainModel_data()
{
    QTest::addColumn<RandomCase>("test");
    const auto add = [](const char *name, const KvCacheSettings &settings, std::uint32_t open, bool evicts) {
        for (const KeyPhase phase : {KeyPhase::Rotated, KeyPhase::Unrotated}) {
            RandomCase test{settings, open, evicts ? 4000 : 1500, evicts};
            test.settings.keyPhase = phase;
            QTest::addRow("%s, %s", name, phase == KeyPhase::Rotated ? "rotated" : "unrotated") << test;
        }
    };
    add("one group", settingsOf({0, 0}, 4, 40, 2), 5, true);
    add("one group, one token a block", settingsOf({0}, 1, 24, 2), 4, true);
    add("one group, large blocks", settingsOf({0}, 16, 50, 2), 4, true);
    add("one group, odd blocks", settingsOf({0, 0, 0}, 7, 33, 3), 6, true);
    add("one group, nothing evicted", settingsOf({0}, 4, 40, 1000), 5, false);
    add("window and all", settingsOf({9, 0, 9}, 4, 300, 2, 8), 4, true);
    add("two windows and all", settingsOf({5, 0, 40}, 8, 320, 2, 8), 4, true);
    add("windows only", settingsOf({30, 30}, 4, 400, 2, 8), 4, true);
    add("window of one", settingsOf({1, 0}, 4, 280, 2, 8), 4, true);
    add("window smaller than a block", settingsOf({3, 0}, 16, 160, 2, 8), 4, true);
}

void TestKvCacheModel::followsAPlainModel()
{
    QFETCH(RandomCase, test);
    PlainCache plain = cacheOf(test.settings);
    KvCache &cache = plain.cache();
    std::mt19937 random(test.settings.contextTokens * 7 + test.settings.shape.blockTokens);
    const std::uint32_t context = test.settings.contextTokens;
    const std::uint32_t blockTokens = test.settings.shape.blockTokens;
    std::vector<Tokens> prompts; // what was asked for lately
    int dropped = 0;
    int refused = 0;
    for (int i = 0; i < test.operations; ++i) {
        const std::uint32_t what = random() % 100;
        if (plain.sequences().empty() || (what < 8 && plain.sequences().size() < test.open)) {
            plain.open();
            continue;
        }
        const SequenceId id = plain.any(random);
        const std::uint32_t tokens = cache.tokens(id);
        if (what < 16) {
            plain.close(id);
        } else if (what < 18 && test.evicts) {
            plain.discard(id);
        } else if (what < 32) {
            // What somebody has or had, cut somewhere and gone on with.
            const SequenceId other = plain.any(random);
            Tokens wanted(cache.tokenIds(other).begin(), cache.tokenIds(other).end());
            if (!prompts.empty() && random() % 2 == 0)
                wanted = prompts[random() % prompts.size()];
            wanted.resize(random() % (wanted.size() + 1));
            const Tokens more = randomTokens(random, 6);
            wanted.insert(wanted.end(), more.begin(), more.end());
            wanted.resize(std::min<std::size_t>(wanted.size(), context), TokenId(0));
            plain.adopt(id, wanted);
            prompts.push_back(wanted);
            if (prompts.size() > 20)
                prompts.erase(prompts.begin());
        } else if (what < 74) {
            const bool isLong = random() % 4 == 0;
            refused += plain.append(id, randomTokens(random, isLong ? context / 3 : 9)) ? 0 : 1;
        } else if (what < 78) {
            plain.failToAppend(id, randomTokens(random, 12));
        } else if (what < 84) {
            if (plain.sequences().size() < test.open)
                plain.fork(id, random() % (tokens + 3));
        } else if (what < 93) {
            const bool isShort = random() % 3 != 0; // mostly the last few
            plain.truncate(id, isShort ? tokens - std::min<std::uint32_t>(tokens, random() % 6)
                                       : random() % (tokens + 2));
        } else {
            const std::uint32_t first = random() % (tokens / blockTokens + 1);
            dropped += plain.drop(id, first, 1 + random() % 2) ? 1 : 0;
        }
        // Over a pool that holds everything the whole comparison is slow; there what was found matters.
        if (!test.evicts && i % 25 != 0)
            continue;
        const std::string wrong = plain.difference();
        QVERIFY2(
            wrong.empty(),
            qPrintable(QStringLiteral("after operation %1: %2").arg(i).arg(QString::fromStdString(wrong))));
    }
    TOKENLOUPE_VERIFY_SAME(plain);
    QVERIFY(refused > 0);
    const CacheCounters &counters = cache.counters();
    QVERIFY(counters.copiedBlocks > 0 || blockTokens == 1);
    QVERIFY(counters.hitTokens > 0 && counters.hitTokens < counters.promptTokens);
    QCOMPARE(counters.evictedBlocks > 0, test.evicts);
    QCOMPARE(dropped > 0, test.settings.keyPhase == KeyPhase::Unrotated);
    // In the end everything can be had again.
    while (!plain.sequences().empty())
        plain.close(plain.sequences().begin()->first);
    TOKENLOUPE_VERIFY_SAME(plain);
    const SequenceId last = plain.open();
    QVERIFY(cache.largestAppend(last) > 0);
    for (std::uint32_t position = 0; position < context; position += 7)
        QVERIFY(plain.append(last, range(1000 + position, std::min(7U, context - position))));
    TOKENLOUPE_VERIFY_SAME(plain);
}

void TestKvCacheModel::oneSequenceAlwaysHasItsContext_data()
{
    QTest::addColumn<quint32>("blockTokens");
    QTest::addColumn<quint32>("window");
    for (const quint32 block : {1U, 4U, 16U}) {
        QTest::addRow("blocks of %u", block) << block << 0U;
        QTest::addRow("blocks of %u, window", block) << block << 20U;
    }
}

/// However it is rewound and refilled, and whatever the index keeps: with room for one, one fits.
void TestKvCacheModel::oneSequenceAlwaysHasItsContext()
{
    QFETCH(quint32, blockTokens);
    QFETCH(quint32, window);
    PlainCache plain = cacheOf(settingsOf({0, window}, blockTokens, 64, 1, 8));
    const SequenceId id = plain.open();
    std::mt19937 random(3);
    for (int round = 0; round < 60; ++round) {
        std::uint32_t tokens = plain.cache().tokens(id);
        while (tokens < 64) {
            const std::uint32_t count = std::min(
                {64 - tokens, 1 + static_cast<std::uint32_t>(random() % 8), plain.cache().largestAppend(id)});
            QVERIFY(count > 0);
            Tokens more(count);
            for (TokenId &token : more)
                token = TokenId(random() % 5);
            QVERIFY(plain.append(id, more));
            tokens += count;
        }
        QVERIFY(!plain.append(id, range(0, 1)));
        TOKENLOUPE_VERIFY_SAME(plain);
        plain.truncate(id, 64 - 1 - random() % (round % 2 == 0 ? 5 : 64));
        TOKENLOUPE_VERIFY_SAME(plain);
    }
}

TOKENLOUPE_TEST_MAIN(TestKvCacheModel)
#include "tst_kvcachemodel.moc"
