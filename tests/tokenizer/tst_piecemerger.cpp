// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/base/philox.h"
#include "engine/base/utf8.h"
#include "engine/tokenizer/piecemerger.h"
#include "engine/tokenizer/piecetext.h"
#include "engine/tokenizer/tokenizer.h"
#include "tests/support/testmain.h"
#include "tests/tokenizer/sentencepiecemodel.h"
#include "tests/tokenizer/vocabularies.h"

#include <sentencepiece_processor.h>
#include <thread>

namespace sentencepiece::logging {
void SetMinLogLevel(int level); // part of the library, though of none of its installed headers
}

using namespace tokenloupe;
using namespace tokenloupe::test;

namespace {

/// The sentencepiece library with the same vocabulary: what all of this is measured against.
class Library
{
public:
    explicit Library(const VocabularyData &data)
        : m_size(static_cast<std::uint32_t>(data.texts.size()))
    {
        sentencepiece::logging::SetMinLogLevel(3); // fatal errors only
        m_ready = m_processor.LoadFromSerializedProto(sentencePieceModel(data)).ok();
    }

    bool isReady() const { return m_ready; }

    /// "12 7 e4 b8 ad 12 ": ids of pieces, and the bytes of characters that are none.
    std::string split(const std::string &text) const
    {
        std::vector<int> ids;
        if (!m_processor.Encode(text, &ids).ok())
            return "refused";
        std::string shown;
        for (const int id : ids) {
            const auto piece = static_cast<std::uint32_t>(id);
            if (piece < m_size)
                shown += std::to_string(piece);
            else
                shown += hexOf(std::string(1, static_cast<char>(piece - firstBytePiece(m_size))));
            shown += " ";
        }
        return shown;
    }

private:
    sentencepiece::SentencePieceProcessor m_processor;
    std::uint32_t m_size;
    bool m_ready = false;
};

TextList bytesOf(const VocabularyData &data)
{
    TextList bytes;
    for (const std::string &text : data.texts) {
        std::string spaced;
        appendSpaced(text, spaced);
        bytes.push_back(spaced);
    }
    return bytes;
}

/// The same of our own.
std::string ownSplit(PieceMerger &merger, const std::string &text)
{
    std::string spaced;
    appendSpaced(text, spaced);
    std::string shown;
    std::size_t position = 0;
    for (const WordToken &token : merger.split(spaced)) {
        const std::string_view bytes = std::string_view(spaced).substr(position, token.length);
        position += token.length;
        if (token.id.isValid()) {
            shown += std::to_string(token.id.value()) + " ";
            continue;
        }
        for (const char byte : bytes == " " ? pieceSpace : bytes)
            shown += hexOf({&byte, 1}) + " ";
    }
    return shown;
}

class Draws
{
public:
    explicit Draws(std::uint32_t seed)
        : m_seed(seed)
    {}
    std::uint32_t below(std::uint32_t bound)
    {
        return philox4x32({m_count++, 0, 0, 0}, {m_seed, 5})[0] % bound;
    }

private:
    std::uint32_t m_seed;
    std::uint32_t m_count = 0;
};

enum class Pieces { Plain, SomeUnused, FewScores, OverWords };

/// Letters a to d, U+2581, é and 中, and pieces put together of them at random, many of which no merge
/// reaches.
VocabularyData randomVocabulary(std::uint32_t seed, Pieces kind)
{
    Draws draws(seed);
    VocabularyData data = tinySentencePiece();
    std::vector<std::string> made;
    const auto add = [&](std::string text) {
        const bool unused = kind == Pieces::SomeUnused && draws.below(3) == 0;
        data.kinds.push_back(unused ? TokenKind::Unused : TokenKind::Normal);
        data.scores.push_back(kind == Pieces::FewScores ? -float(draws.below(3))
                                                        : -float(draws.below(100'000)) / 7.0F);
        made.push_back(text);
        data.texts.push_back(std::move(text));
    };
    data.texts.resize(259); // the byte tokens and what is before them
    data.kinds.resize(259);
    data.scores.resize(259);
    for (const char *letter : {"▁", "a", "b", "c", "d", "é", "中"}) {
        if (draws.below(8) != 0)
            add(letter);
    }
    for (int i = 0; i < 60; ++i) {
        const std::string left = made[draws.below(std::uint32_t(made.size()))];
        const std::string right = made[draws.below(std::uint32_t(made.size()))];
        const bool overWord = right.starts_with("▁") && !left.ends_with("▁");
        const bool inside = (left + right).find("▁", 1) != std::string::npos && !left.ends_with("▁");
        if (kind == Pieces::OverWords || (!overWord && !inside))
            add(left + right); // duplicates too: the first counts
    }
    return data;
}

std::string randomText(Draws &draws)
{
    std::string text;
    const std::uint32_t count = draws.below(60);
    for (std::uint32_t i = 0; i < count; ++i) {
        constexpr std::array<const char *, 12> parts = {"a", "b", "c", "d",  "é",  "中",
                                                        " ", " ", "▁", "ab", "aa", "😀"};
        text += parts[draws.below(parts.size())];
    }
    return text;
}

} // namespace

class TestPieceMerger : public QObject
{
    Q_OBJECT

private slots:
    void sameAsTheLibrary_data()
    {
        QTest::addColumn<int>("pieces");
        QTest::newRow("plain") << int(Pieces::Plain);
        QTest::newRow("some are unused") << int(Pieces::SomeUnused);
        QTest::newRow("equal scores") << int(Pieces::FewScores);
        QTest::newRow("over the ends of words") << int(Pieces::OverWords);
    }

    void sameAsTheLibrary()
    {
        QFETCH(int, pieces);
        std::size_t merged = 0;
        for (std::uint32_t seed = 0; seed < 40; ++seed) {
            const VocabularyData data = randomVocabulary(seed, Pieces(pieces));
            const Library library(data);
            QVERIFY(library.isReady());
            const TextList bytes = bytesOf(data);
            const PieceVocabulary vocabulary(data, bytes);
            PieceMerger merger(vocabulary);
            Draws draws(1000 + seed);
            for (int i = 0; i < 150; ++i) {
                const std::string text = randomText(draws);
                QCOMPARE(ownSplit(merger, text), library.split(text));
                std::vector<PieceMerger::Step> steps;
                merger.split(text, &steps);
                merged += steps.size();
            }
        }
        QVERIFY2(merged > 10'000, std::to_string(merged).c_str());
    }

    // A tokenizer splits word by word where it may, and remembers words in long texts; with merges asked for
    // it splits all at once. Neither may make a difference.
    void wordsOrAllAtOnce_data() { sameAsTheLibrary_data(); }

    void wordsOrAllAtOnce()
    {
        QFETCH(int, pieces);
        for (std::uint32_t seed = 0; seed < 20; ++seed) {
            VocabularyData data = randomVocabulary(seed, Pieces(pieces));
            const Library library(data);
            data.addSpacePrefix = seed % 2 == 0;
            const auto tokenizer = makeTokenizer(data);
            QVERIFY(tokenizer);
            Draws draws(2000 + seed);
            std::string text;
            while (text.size() < 3000)
                text += randomText(draws);
            std::vector<MergeStep> merges;
            EncodeOptions options;
            options.merges = &merges;
            const auto words = (*tokenizer)->encode(text);
            const auto whole = (*tokenizer)->encode(text, options);
            QVERIFY(words && whole);
            QCOMPARE(idsOf(*words), idsOf(*whole));
            QCOMPARE(coverageFault(*words, text), std::string());
            for (std::size_t i = 0; i < words->size(); ++i)
                QVERIFY((*words)[i].range == (*whole)[i].range);
            std::string shown;
            for (const EncodedToken &token : *words) {
                const bool isByte = (*tokenizer)->kind(token.id) == TokenKind::Byte;
                shown += isByte ? hexOf((*tokenizer)->bytes(token.id)) : std::to_string(token.id.value());
                shown += " ";
            }
            QCOMPARE(shown, library.split((data.addSpacePrefix ? " " : "") + text));
        }
    }

    void whereWordsEnd()
    {
        const auto hasWords = [](std::initializer_list<const char *> pieces) {
            VocabularyData data;
            for (const char *piece : pieces) {
                data.texts.emplace_back(piece);
                data.kinds.push_back(TokenKind::Normal);
            }
            const TextList bytes = bytesOf(data);
            return PieceVocabulary(data, bytes).hasWords();
        };
        QVERIFY(hasWords({"▁a", "▁▁", "▁▁ab", "▁", "b"}));
        QVERIFY(!hasWords({"a▁"}));
        QVERIFY(!hasWords({"▁", "▁a▁b"}));
        QVERIFY(!hasWords({"▁▁a▁▁"}));
    }

    void whatIsAPiece()
    {
        VocabularyData data;
        const auto add = [&](const char *text, TokenKind kind) {
            data.texts.emplace_back(text);
            data.kinds.push_back(kind);
            data.scores.push_back(std::numeric_limits<float>::quiet_NaN());
        };
        add("a", TokenKind::Normal);
        add("a", TokenKind::Normal); // its text is taken
        add("b", TokenKind::Unused);
        add("c", TokenKind::Control);
        add("", TokenKind::Normal);
        add("\xFF", TokenKind::Normal);
        add("x y", TokenKind::Normal); // a space of the file's own, which no text has
        add("<0x41>", TokenKind::Normal);
        add("▁z", TokenKind::Normal);
        const TextList bytes = bytesOf(data);
        const PieceVocabulary pieces(data, bytes);
        QCOMPARE(pieces.find("a"), 0U);
        QCOMPARE(pieces.find("b"), 2U);
        for (const char *text : {"c", "", "\xFF", "x y", "<0x41>", "▁z", "much longer than any of them"})
            QCOMPARE(pieces.find(text), PieceVocabulary::none);
        QCOMPARE(pieces.find(" z"), 8U);
        QVERIFY(pieces.hasUnused());
        QCOMPARE(pieces.score(0), -std::numeric_limits<float>::infinity());
    }

    // One tokenizer serves all threads.
    void twoThreads()
    {
        const auto tokenizer = makeTokenizer(randomVocabulary(3, Pieces::Plain));
        QVERIFY(tokenizer);
        Draws draws(9);
        std::vector<std::string> texts;
        for (int i = 0; i < 200; ++i)
            texts.push_back(randomText(draws));
        const auto encodeAll = [&](std::vector<std::vector<std::uint32_t>> &ids) {
            for (const std::string &text : texts)
                ids.push_back(idsOf(*(*tokenizer)->encode(text)));
        };
        std::vector<std::vector<std::uint32_t>> here;
        std::vector<std::vector<std::uint32_t>> there;
        std::thread other([&] { encodeAll(there); });
        encodeAll(here);
        other.join();
        QVERIFY(here == there);
    }
};

TOKENLOUPE_TEST_MAIN(TestPieceMerger)
#include "tst_piecemerger.moc"
