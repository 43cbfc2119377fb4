// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/cache/prefixindex.h"
#include "tests/support/testmain.h"

#include <algorithm>
#include <random>
#include <set>

using namespace tokenloupe;

namespace {

using Tokens = std::vector<TokenId>;

Tokens tokensOf(std::initializer_list<std::uint32_t> ids)
{
    Tokens tokens;
    for (const std::uint32_t id : ids)
        tokens.emplace_back(id);
    return tokens;
}

/// An index over blocks of 4 tokens and its pools; those of `windows` that are not 0 see only so far back.
struct Fixture
{
    explicit Fixture(const std::vector<std::uint32_t> &windows, std::uint32_t blocks = 64)
        : index(4, windows.size())
    {
        KvShape shape;
        shape.blockTokens = 4;
        for (const std::uint32_t window : windows)
            shape.layers.push_back({1, 1, 1, window});
        for (std::uint32_t group = 0; group < windows.size(); ++group)
            pools.push_back(*BlockPool::create(shape, {windows[group], {group}}, blocks));
    }

    /// Blocks of their own for so many tokens.
    BlockTables take(std::size_t tokens)
    {
        BlockTables tables(pools.size());
        for (std::size_t group = 0; group < pools.size(); ++group) {
            for (std::size_t first = 0; first < tokens; first += 4)
                tables[group].push_back(*pools[group].take());
        }
        return tables;
    }
    void release(const BlockTables &tables)
    {
        for (std::size_t group = 0; group < pools.size(); ++group) {
            for (const BlockId block : tables[group])
                pools[group].release(block);
        }
    }
    void add(const Tokens &tokens)
    {
        BlockTables tables = take(tokens.size());
        index.insert(tokens, tables, pools);
        release(tables);
    }
    std::uint32_t found(const Tokens &tokens) { return index.find(tokens).tokens; }

    std::vector<BlockPool> pools;
    PrefixIndex index;
};

} // namespace

class TestPrefixIndex : public QObject
{
    Q_OBJECT

private slots:
    void findsTheLongest();
    void longerBlocksReplaceShorter();
    void equalContentsAreHeldOnce();
    void evictsLeavesOldestFirst();
    void inUseIsNotEvicted();
    void windowsGiveUpInnerBlocks();
    void forgetsWhatIsBelow();
    void followsAPlainModel();
};

void TestPrefixIndex::findsTheLongest()
{
    Fixture f({0});
    QCOMPARE(f.found(tokensOf({1})), 0U);
    f.add(tokensOf({1, 2, 3, 4, 5, 6, 7, 8, 9}));
    f.add(tokensOf({1, 2, 3, 4, 5, 6, 70, 80}));
    f.add(tokensOf({1, 20}));
    QCOMPARE(f.index.nodes(), std::size_t(5));
    QCOMPARE(f.found(tokensOf({})), 0U);
    QCOMPARE(f.found(tokensOf({2, 3})), 0U);
    QCOMPARE(f.found(tokensOf({1, 2, 3, 4, 5, 6, 7, 8, 9, 10})), 9U);
    QCOMPARE(f.found(tokensOf({1, 2, 3, 4, 5, 6, 7, 9})), 7U);
    QCOMPARE(f.found(tokensOf({1, 2, 3, 4, 5, 6, 70, 9})), 7U);
    QCOMPARE(f.found(tokensOf({1, 2, 3, 4, 5, 6})), 6U);
    QCOMPARE(f.found(tokensOf({1, 20, 3})), 2U);
    QCOMPARE(f.found(tokensOf({1, 21})), 1U);
    const PrefixIndex::Match match = f.index.find(tokensOf({1, 2, 3, 4, 5}));
    QCOMPARE(match.tables[0].size(), std::size_t(2));
    QVERIFY(f.index.holds(0, match.tables[0][1]));
}

void TestPrefixIndex::longerBlocksReplaceShorter()
{
    Fixture f({0});
    f.add(tokensOf({1, 2}));
    f.add(tokensOf({1}));
    QCOMPARE(f.index.nodes(), std::size_t(1));
    f.add(tokensOf({1, 2, 3}));
    QCOMPARE(f.index.nodes(), std::size_t(1));
    f.add(tokensOf({1, 2, 5}));
    f.add(tokensOf({1, 2, 3, 4, 5}));
    QCOMPARE(f.index.nodes(), std::size_t(3)); // 125, 1234 and 5 below it
    QCOMPARE(f.pools[0].freeBlocks(), 64U - 3);
    QCOMPARE(f.found(tokensOf({1, 2, 5, 6})), 3U);
    QCOMPARE(f.found(tokensOf({1, 2, 3, 9})), 3U);
}

void TestPrefixIndex::equalContentsAreHeldOnce()
{
    Fixture f({0, 8});
    const Tokens tokens = tokensOf({1, 2, 3, 4, 5, 6, 7, 8});
    BlockTables first = f.take(8);
    QCOMPARE(f.index.insert(tokens, first, f.pools), std::size_t(0));
    BlockTables second = f.take(12);
    const BlockId last = second[0][2];
    Tokens longer = tokens;
    longer.push_back(TokenId(9));
    QCOMPARE(f.index.insert(longer, second, f.pools), std::size_t(2));
    for (std::size_t group = 0; group < 2; ++group) {
        QCOMPARE(second[group][0], first[group][0]);
        QCOMPARE(second[group][1], first[group][1]);
        QCOMPARE(f.pools[group].references(first[group][0]), 3U);
        QCOMPARE(f.pools[group].freeBlocks(), 64U - 3);
    }
    QCOMPARE(second[0][2], last);
    QCOMPARE(f.index.idleBlocks(0, f.pools[0]), 0U);
    f.release(second);
    QCOMPARE(f.index.idleBlocks(0, f.pools[0]), 1U);
}

void TestPrefixIndex::evictsLeavesOldestFirst()
{
    Fixture f({0});
    f.add(tokensOf({1, 2, 3, 4, 5, 6, 7, 8}));
    f.add(tokensOf({11, 12, 13, 14, 15}));
    f.add(tokensOf({1, 2, 3, 4, 50}));
    f.found(tokensOf({1, 2, 3, 4, 5, 6, 7, 8}));
    std::vector<std::uint32_t> order;
    const auto note = [&](std::size_t, BlockId block) { order.push_back(block.value()); };
    QVERIFY(f.index.evict(0, f.pools, note));              // 15
    QCOMPARE(f.found(tokensOf({11, 12, 13, 14, 15})), 4U); // a use
    QVERIFY(f.index.evict(0, f.pools, note));              // 50
    QCOMPARE(f.found(tokensOf({1, 2, 3, 4, 50})), 4U);     // of the parent only
    QVERIFY(f.index.evict(0, f.pools, note));              // 5678
    QVERIFY(f.index.evict(0, f.pools, note)); // 11 12 13 14, whose last use is older than that of 1234
    QCOMPARE(f.found(tokensOf({11})), 0U);
    QCOMPARE(f.found(tokensOf({1, 2, 3, 4})), 4U);
    QVERIFY(f.index.evict(0, f.pools, note));
    QVERIFY(!f.index.evict(0, f.pools, note));
    QCOMPARE(order.size(), std::size_t(5));
    QCOMPARE(f.pools[0].freeBlocks(), 64U);
    QCOMPARE(f.index.nodes(), std::size_t(0));
}

void TestPrefixIndex::inUseIsNotEvicted()
{
    Fixture f({0});
    const Tokens tokens = tokensOf({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
    BlockTables held = f.take(12);
    f.index.insert(tokens, held, f.pools);
    f.pools[0].release(held[0][2]);
    QVERIFY(f.index.evict(0, f.pools, {}));
    QVERIFY(!f.index.evict(0, f.pools, {}));
    QCOMPARE(f.found(tokens), 8U);
    // Used without what is above it, as where blocks were dropped: the leaf leaves the tree but stays in use.
    f.pools[0].release(held[0][0]);
    QCOMPARE(f.index.idleBlocks(0, f.pools[0]), 1U);
    QVERIFY(f.index.evict(0, f.pools, {}));
    QCOMPARE(f.index.nodes(), std::size_t(0));
    QCOMPARE(f.pools[0].references(held[0][1]), 1U);
}

void TestPrefixIndex::windowsGiveUpInnerBlocks()
{
    Fixture f({0, 4});
    const Tokens tokens = tokensOf({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
    f.add(tokens);
    std::vector<std::size_t> groups;
    const auto note = [&](std::size_t group, BlockId) { groups.push_back(group); };
    QVERIFY(f.index.evict(1, f.pools, note));
    QVERIFY(f.index.evict(1, f.pools, note));
    QCOMPARE(groups, (std::vector<std::size_t>{1, 1}));
    const PrefixIndex::Match match = f.index.find(tokens);
    QCOMPARE(match.tokens, 12U);
    QVERIFY(!match.tables[1][0].isValid() && !match.tables[1][1].isValid() && match.tables[1][2].isValid());
    QVERIFY(
        std::all_of(match.tables[0].begin(), match.tables[0].end(), [](BlockId b) { return b.isValid(); }));
    // Whoever computes it again brings what is missing.
    BlockTables again = f.take(12);
    f.index.insert(tokens, again, f.pools);
    QVERIFY(f.index.find(tokens).tables[1][0] == again[1][0]);
    f.release(again);
    // A leaf goes as a whole.
    QVERIFY(f.index.evict(0, f.pools, note));
    QCOMPARE(f.found(tokens), 8U);
    QCOMPARE(f.index.idleBlocks(0, f.pools[0]), 2U);
    QCOMPARE(f.index.idleBlocks(1, f.pools[1]), 2U);
}

void TestPrefixIndex::forgetsWhatIsBelow()
{
    Fixture f({0});
    f.add(tokensOf({1, 2, 3, 4, 5, 6, 7, 8, 9}));
    f.add(tokensOf({1, 2, 3, 4, 50, 60}));
    f.add(tokensOf({7}));
    const BlockId top = f.index.find(tokensOf({1, 2, 3, 4})).tables[0][0];
    f.index.forgetLeaf(0, top, f.pools); // it is none
    QCOMPARE(f.index.nodes(), std::size_t(5));
    f.index.forget(0, top, f.pools);
    QCOMPARE(f.index.nodes(), std::size_t(1));
    QCOMPARE(f.found(tokensOf({1, 2})), 0U);
    f.index.forgetLeaf(0, f.index.find(tokensOf({7})).tables[0][0], f.pools);
    QCOMPARE(f.index.nodes(), std::size_t(0));
    QCOMPARE(f.pools[0].freeBlocks(), 64U);
}

/// The plain model is the list of all token lists that were added.
void TestPrefixIndex::followsAPlainModel()
{
    Fixture f({0}, 20000);
    std::mt19937 random(4);
    std::vector<Tokens> all;
    const auto some = [&] {
        Tokens tokens(random() % 14);
        for (TokenId &token : tokens)
            token = TokenId(random() % 3);
        return tokens;
    };
    for (int i = 0; i < 3000; ++i) {
        const Tokens tokens = some();
        if (random() % 2 == 0) {
            f.add(tokens);
            all.push_back(tokens);
            continue;
        }
        std::size_t longest = 0;
        for (const Tokens &known : all)
            longest = std::max(
                longest, static_cast<std::size_t>(
                             std::mismatch(known.begin(), known.end(), tokens.begin(), tokens.end()).first -
                             known.begin()));
        QCOMPARE(std::size_t(f.found(tokens)), longest);
    }
    // Each distinct block once: full ones by their whole way, partly filled ones unless another covers them.
    std::set<Tokens> ways;
    for (const Tokens &tokens : all) {
        for (std::size_t end = 4; end <= tokens.size(); end += 4)
            ways.insert(Tokens(tokens.begin(), tokens.begin() + std::ptrdiff_t(end)));
        ways.insert(tokens);
    }
    std::size_t expected = 0;
    for (const Tokens &way : ways) {
        const bool isCovered = std::any_of(ways.begin(), ways.end(), [&](const Tokens &other) {
            return other.size() > way.size() && way.size() % 4 != 0 &&
                   std::equal(way.begin(), way.end(), other.begin());
        });
        expected += way.empty() || isCovered ? 0 : 1;
    }
    QCOMPARE(f.index.nodes(), expected);
    QCOMPARE(f.pools[0].capacity() - f.pools[0].freeBlocks(), static_cast<std::uint32_t>(expected));
}

TOKENLOUPE_TEST_MAIN(TestPrefixIndex)
#include "tst_prefixindex.moc"
