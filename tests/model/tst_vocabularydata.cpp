// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/model.h"
#include "tests/support/ggufwriter.h"
#include "tests/support/testmain.h"
#include "tests/support/testpaths.h"
#include "tests/support/tinymodel.h"

#include <QRegularExpression>
#include <functional>
#include <limits>

using namespace tokenloupe;
using namespace tokenloupe::test;

using Change = std::function<void(GgufWriter &)>;
using Expect = std::function<void(const VocabularyData &)>;
Q_DECLARE_METATYPE(Change)
Q_DECLARE_METATYPE(Expect)

namespace {

using Strings = std::vector<std::string>;
using Integers = std::vector<std::int32_t>;
using Floats = std::vector<float>;

/// Four tokens and nothing else.
GgufWriter smallVocabulary(const char *model)
{
    GgufWriter writer;
    writer.string("tokenizer.ggml.model", model);
    writer.strings("tokenizer.ggml.tokens", Strings{"<unk>", "<s>", "</s>", "<0x41>"});
    return writer.integers("tokenizer.ggml.token_type", Integers{2, 3, 3, 6});
}

Result<VocabularyData> vocabularyOf(const GgufWriter &writer, Strings &warnings)
{
    const auto bytes = writer.bytes();
    const auto file = GgufFile::parse(bytes, "words.gguf");
    if (!file)
        return tl::unexpected(file.error());
    return readVocabulary(**file, &warnings);
}

} // namespace

class TestVocabularyData : public QObject
{
    Q_OBJECT

private slots:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void readsAVocabulary()
    {
        Strings warnings;
        const auto data = vocabularyOf(tinyModel(), warnings);
        QVERIFY2(data, data ? "" : data.error().text().c_str());
        QVERIFY2(warnings.empty(), warnings.empty() ? "" : warnings[0].c_str());
        QCOMPARE(data->model, std::string("llama"));
        QCOMPARE(data->pre, std::string("default"));
        QCOMPARE(data->texts, tinyVocabulary(384));
        QCOMPARE(data->kinds.size(), std::size_t(384));
        QCOMPARE(data->kinds[tinyUnknown], TokenKind::Unknown);
        QCOMPARE(data->kinds[tinyBos], TokenKind::Control);
        QCOMPARE(data->kinds[tinyFirstByte], TokenKind::Byte);
        QCOMPARE(data->kinds[tinyFirstPiece], TokenKind::Normal);
        QCOMPARE(data->scores.size(), std::size_t(384));
        QVERIFY(data->scores[tinyFirstPiece + 1] > data->scores[tinyFirstPiece + 2]);
        QCOMPARE(data->bos, std::optional(TokenId(tinyBos)));
        QCOMPARE(data->eos, std::optional(TokenId(tinyEos)));
        QCOMPARE(data->eot, std::optional(TokenId(tinyTurnEnd)));
        QCOMPARE(data->unknown, std::optional(TokenId(tinyUnknown)));
        QVERIFY(!data->padding);
        QVERIFY(data->addBos && !data->addEos && data->addSpacePrefix && !data->removeExtraWhitespaces);
    }

    void repairs_data();
    void repairs();

    void refuses_data()
    {
        QTest::addColumn<Change>("change");
        QTest::addColumn<QString>("says");
        const auto row = [](const char *name, const char *says, Change change) {
            QTest::newRow(name) << std::move(change) << QString::fromLatin1(says);
        };
        row("scores are text", "tokenizer.ggml.scores\": expected an array of floating-point numbers",
            [](GgufWriter &w) { w.strings("tokenizer.ggml.scores", Strings{"1"}); });
        row("types are floats", "tokenizer.ggml.token_type\": expected an array of integers",
            [](GgufWriter &w) {
                w.without("tokenizer.ggml.token_type").floats("tokenizer.ggml.token_type", Floats{1, 2});
            });
        row("merges are a string", "tokenizer.ggml.merges\": expected an array of strings",
            [](GgufWriter &w) { w.string("tokenizer.ggml.merges", "a b"); });
        row("too many types", "expected at most 16777216 entries, found 16777217", [](GgufWriter &w) {
            ByteWriter list;
            list.number(std::uint32_t{0}).number(std::uint64_t{(1U << 24) + 1});
            list.raw(std::vector<std::byte>((1U << 24) + 1));
            w.without("tokenizer.ggml.token_type").rawValue("tokenizer.ggml.token_type", 9, list.bytes());
        });
    }

    void refuses()
    {
        QFETCH(Change, change);
        QFETCH(QString, says);
        GgufWriter writer = smallVocabulary("llama");
        change(writer);
        Strings warnings;
        const auto data = vocabularyOf(writer, warnings);
        QVERIFY(!data);
        const QString text = QString::fromStdString(data.error().text());
        QVERIFY2(text.contains(says) && text.contains(QStringLiteral("words.gguf")), qPrintable(text));
    }

    void warningsMayBeLeftAway()
    {
        const auto bytes = smallVocabulary("gpt2").u32("tokenizer.ggml.bos_token_id", 99).bytes();
        const auto file = GgufFile::parse(bytes, "words.gguf");
        QVERIFY(readVocabulary(**file, nullptr));
    }

    void readsARealVocabulary()
    {
        TOKENLOUPE_NEED_SMOL(path);
        const auto file = GgufFile::open(path);
        QVERIFY2(file, file ? "" : file.error().text().c_str());
        Strings warnings;
        const auto data = readVocabulary(**file, &warnings);
        QVERIFY2(data, data ? "" : data.error().text().c_str());
        QVERIFY2(warnings.empty(), warnings.empty() ? "" : warnings[0].c_str());
        QCOMPARE(data->model, std::string("gpt2"));
        QCOMPARE(data->pre, std::string("smollm"));
        QCOMPARE(data->texts.size(), std::size_t(49152));
        QCOMPARE(data->merges.size(), std::size_t(48900));
        QCOMPARE(data->texts[2], std::string("<|im_end|>"));
        QCOMPARE(data->kinds[2], TokenKind::Control);
        QCOMPARE(data->eos, std::optional(TokenId(2)));
        QVERIFY(!data->addBos && !data->addSpacePrefix);
    }
};

void TestVocabularyData::repairs_data()
{
    QTest::addColumn<QString>("model");
    QTest::addColumn<Change>("change");
    QTest::addColumn<QString>("warning"); // empty: none
    QTest::addColumn<Expect>("expect");
    const auto row = [](const char *name, const char *model, const char *warning, Change change,
                        Expect expect) {
        QTest::newRow(name) << QString::fromLatin1(model) << std::move(change) << QString::fromLatin1(warning)
                            << std::move(expect);
    };
    const auto nothing = [](GgufWriter &) {};
    row("SentencePiece defaults", "llama", "", nothing, [](const VocabularyData &d) {
        QVERIFY(d.addBos && !d.addEos && d.addSpacePrefix);
        QCOMPARE(d.bos, std::optional(TokenId(1)));
        QCOMPARE(d.eos, std::optional(TokenId(2)));
        QCOMPARE(d.unknown, std::optional(TokenId(0)));
        QVERIFY(d.scores.empty());
    });
    row("byte-level defaults", "gpt2", "merges is missing", nothing, [](const VocabularyData &d) {
        QVERIFY(!d.addBos && !d.addEos && !d.addSpacePrefix);
        QVERIFY(!d.bos && !d.eos && !d.unknown);
    });
    row(
        "Llama 3 begins with BOS", "gpt2", "",
        [](GgufWriter &w) {
            w.string("tokenizer.ggml.pre", "llama-bpe").u32("tokenizer.ggml.bos_token_id", 1);
            w.strings("tokenizer.ggml.merges", Strings{"a b"});
        },
        [](const VocabularyData &d) { QVERIFY(d.addBos); });
    row(
        "flags", "llama", "",
        [](GgufWriter &w) {
            w.boolean("tokenizer.ggml.add_bos_token", false).boolean("tokenizer.ggml.add_eos_token", true);
            w.boolean("tokenizer.ggml.add_space_prefix", false);
            w.boolean("tokenizer.ggml.remove_extra_whitespaces", true);
        },
        [](const VocabularyData &d) {
            QVERIFY(!d.addBos && d.addEos && !d.addSpacePrefix && d.removeExtraWhitespaces);
        });
    row(
        "a flag that is a number", "llama", "expected a boolean, found a value of type u32",
        [](GgufWriter &w) { w.u32("tokenizer.ggml.add_bos_token", 0); },
        [](const VocabularyData &d) { QVERIFY(d.addBos); });
    row(
        "id out of range", "llama", "unknown_token_id: expected a token below 4, found 4294967295",
        [](GgufWriter &w) { w.u32("tokenizer.ggml.unknown_token_id", 4294967295U); },
        [](const VocabularyData &d) { QVERIFY(!d.unknown); });
    row(
        "id one too high", "llama", "padding_token_id: expected a token below 4, found 4",
        [](GgufWriter &w) { w.u32("tokenizer.ggml.padding_token_id", 4); },
        [](const VocabularyData &d) { QVERIFY(!d.padding); });
    row(
        "negative id", "llama", "expected a number from 0, found -1",
        [](GgufWriter &w) { w.i32("tokenizer.ggml.padding_token_id", -1); },
        [](const VocabularyData &d) { QVERIFY(!d.padding); });
    row(
        "id is text", "llama", "expected an integer",
        [](GgufWriter &w) { w.string("tokenizer.ggml.eot_token_id", "2"); },
        [](const VocabularyData &d) { QVERIFY(!d.eot); });
    row(
        "BOS wanted, none there", "llama", "asks for a BOS token but names none",
        [](GgufWriter &w) { w.u32("tokenizer.ggml.bos_token_id", 77); },
        [](const VocabularyData &d) { QVERIFY(!d.bos && !d.addBos); });
    row(
        "short types", "llama", "token_type: expected 4 entries, one for each token, found 2",
        [](GgufWriter &w) {
            w.without("tokenizer.ggml.token_type").integers("tokenizer.ggml.token_type", Integers{2, 3});
        },
        [](const VocabularyData &d) {
            using enum TokenKind;
            QCOMPARE(d.kinds, (std::vector<TokenKind>{Unknown, Control, Normal, Normal}));
        });
    row(
        "long types", "llama", "token_type: expected 4 entries, one for each token, found 6",
        [](GgufWriter &w) {
            w.without("tokenizer.ggml.token_type")
                .integers("tokenizer.ggml.token_type", Integers{1, 4, 5, 6, 6, 6});
        },
        [](const VocabularyData &d) {
            using enum TokenKind;
            QCOMPARE(d.kinds, (std::vector<TokenKind>{Normal, UserDefined, Unused, Byte}));
        });
    row(
        "no types", "llama", "token_type is missing",
        [](GgufWriter &w) { w.without("tokenizer.ggml.token_type"); },
        [](const VocabularyData &d) { QCOMPARE(d.kinds, std::vector<TokenKind>(4, TokenKind::Normal)); });
    row(
        "types outside the table", "llama", "3 types are outside 0 to 6",
        [](GgufWriter &w) {
            w.without("tokenizer.ggml.token_type")
                .integers("tokenizer.ggml.token_type", Integers{0, -1, 7, 1000000});
        },
        [](const VocabularyData &d) { QCOMPARE(d.kinds, std::vector<TokenKind>(4, TokenKind::Normal)); });
    row(
        "short scores", "llama", "scores: expected 4 entries, one for each token, found 1",
        [](GgufWriter &w) { w.floats("tokenizer.ggml.scores", Floats{-3}); },
        [](const VocabularyData &d) {
            QCOMPARE(d.scores, (Floats{-3, 0, 0, 0}));
        });
    row(
        "scores that are not numbers", "llama", "1 scores are not numbers",
        [](GgufWriter &w) {
            w.floats("tokenizer.ggml.scores", Floats{0, NAN, 2, INFINITY});
        },
        [](const VocabularyData &d) {
            constexpr float infinity = std::numeric_limits<float>::infinity();
            QCOMPARE(d.scores, (Floats{0, -infinity, 2, infinity}));
        });
    row(
        "byte tokens with bad digits", "llama", "4 byte tokens are not written as",
        [](GgufWriter &w) {
            w.without("tokenizer.ggml.tokens")
                .strings("tokenizer.ggml.tokens", Strings{"<0x-1>", "<0xZZ>", "<0x4>", "<0x041>"});
            w.without("tokenizer.ggml.token_type")
                .integers("tokenizer.ggml.token_type", Integers{6, 6, 6, 6});
        },
        [](const VocabularyData &d) { QCOMPARE(d.kinds, std::vector<TokenKind>(4, TokenKind::Normal)); });
    row(
        "equal, empty, long and odd tokens", "llama", "",
        [](GgufWriter &w) {
            w.without("tokenizer.ggml.tokens")
                .strings("tokenizer.ggml.tokens",
                         Strings{"same", "same", "", std::string(100000, 'x') + std::string("\0\xFF", 2)});
            w.without("tokenizer.ggml.token_type")
                .integers("tokenizer.ggml.token_type", Integers{1, 1, 1, 1});
            w.boolean("tokenizer.ggml.add_bos_token", false);
        },
        [](const VocabularyData &d) {
            QCOMPARE(d.texts[3].size(), std::size_t(100002));
            QVERIFY(d.texts[2].empty());
        });
}

void TestVocabularyData::repairs()
{
    QFETCH(QString, model);
    QFETCH(Change, change);
    QFETCH(QString, warning);
    QFETCH(Expect, expect);
    GgufWriter writer = smallVocabulary(model.toLatin1().constData());
    change(writer);
    Strings warnings;
    const auto data = vocabularyOf(writer, warnings);
    QVERIFY2(data, data ? "" : data.error().text().c_str());
    if (warning.isEmpty()) {
        QVERIFY2(warnings.empty(), warnings.empty() ? "" : warnings[0].c_str());
    } else {
        QStringList all;
        for (const std::string &line : warnings)
            all << QString::fromStdString(line);
        QVERIFY2(all.join(QLatin1Char('\n')).contains(warning), qPrintable(all.join(QLatin1Char('\n'))));
    }
    expect(*data);
}

TOKENLOUPE_TEST_MAIN(TestVocabularyData)
#include "tst_vocabularydata.moc"
