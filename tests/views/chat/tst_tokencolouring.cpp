// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/models/records.h"
#include "tests/support/testmain.h"
#include "tests/theme/guiwarnings.h"
#include "widgets/theme/theme.h"
#include "widgets/views/chat/tokencolouring.h"

#include <QApplication>
#include <QTest>
#include <cmath>

using namespace tokenloupe;

class TestTokenColouring : public QObject
{
    Q_OBJECT

    static constexpr TokenColouring all[] = {TokenColouring::Surprise, TokenColouring::Probability,
                                             TokenColouring::Entropy, TokenColouring::Rank,
                                             TokenColouring::None};

private Q_SLOTS:
    void initTestCase() { Theme::instance().install(); }
    void init() { QTest::failOnWarning(test::anyWarning()); }
    void cleanup() { Theme::instance().setMode(ThemeMode::Light); }

    void strength_data()
    {
        QTest::addColumn<int>("colouring");
        QTest::addColumn<double>("pRaw");
        QTest::addColumn<double>("entropy");
        QTest::addColumn<int>("rank");
        QTest::addColumn<double>("strength");
        QTest::newRow("no surprise") << int(TokenColouring::Surprise) << 1.0 << 3.0 << 5 << 0.0;
        QTest::newRow("two bits") << int(TokenColouring::Surprise) << 0.25 << 3.0 << 5 << 0.25;
        QTest::newRow("eight bits") << int(TokenColouring::Surprise) << 1.0 / 256 << 3.0 << 5 << 1.0;
        QTest::newRow("more than that") << int(TokenColouring::Surprise) << 1e-9 << 3.0 << 5 << 1.0;
        QTest::newRow("impossible") << int(TokenColouring::Surprise) << 0.0 << 3.0 << 5 << 1.0;
        QTest::newRow("probability") << int(TokenColouring::Probability) << 0.3 << 3.0 << 5 << 0.3;
        QTest::newRow("entropy") << int(TokenColouring::Entropy) << 0.3 << 4.0 << 5 << 0.5;
        QTest::newRow("first rank") << int(TokenColouring::Rank) << 0.3 << 4.0 << 0 << 0.0;
        QTest::newRow("fourth rank") << int(TokenColouring::Rank) << 0.3 << 4.0 << 3 << 0.25;
        QTest::newRow("far down") << int(TokenColouring::Rank) << 0.3 << 4.0 << 40'000 << 1.0;
        QTest::newRow("none") << int(TokenColouring::None) << 0.3 << 4.0 << 3 << 0.0;
    }

    void strength()
    {
        QFETCH(int, colouring);
        QFETCH(double, pRaw);
        QFETCH(double, entropy);
        QFETCH(int, rank);
        QFETCH(double, strength);
        StepRecord record = test::stepRecord(0, 0, 1);
        record.pRaw = pRaw;
        record.entropyBits = entropy;
        record.rank = std::uint32_t(rank);
        QVERIFY(std::abs(tintStrength(static_cast<TokenColouring>(colouring), record) - strength) < 1e-9);
    }

    void textStaysReadableOnEveryTint_data()
    {
        QTest::addColumn<int>("mode");
        QTest::newRow("light") << int(ThemeMode::Light);
        QTest::newRow("dark") << int(ThemeMode::Dark);
    }

    void textStaysReadableOnEveryTint()
    {
        QFETCH(int, mode);
        Theme::instance().setMode(static_cast<ThemeMode>(mode));
        StepRecord record = test::stepRecord(0, 0, 1);
        for (const TokenColouring colouring : all) {
            for (int i = 0; i <= 20; ++i) {
                record.pRaw =
                    colouring == TokenColouring::Probability ? i / 20.0 : std::exp2(-8.0 * i / 20.0);
                record.entropyBits = 8.0 * i / 20.0;
                record.rank = std::uint32_t(1) << std::min(i / 2, 9);
                const QColor tint = tintColor(colouring, record);
                if (tint.isValid())
                    QVERIFY(contrastRatio(Theme::instance().colors().text, tint) >= 4.5);
            }
        }
    }

    void whatIsCertainHasNoTint()
    {
        StepRecord record = test::stepRecord(0, 0, 1);
        record.pRaw = 1.0;
        QVERIFY(!tintColor(TokenColouring::Surprise, record).isValid());
        QVERIFY(tintColor(TokenColouring::Probability, record).isValid());
        QVERIFY(!tintColor(TokenColouring::None, record).isValid());
    }

    void everyOneHasAName()
    {
        QStringList names;
        for (const TokenColouring colouring : all)
            names << colouringName(colouring);
        names.removeDuplicates();
        QCOMPARE(names.size(), 5);
        QVERIFY(!names.contains(QString()));
    }
};

TOKENLOUPE_GUI_TEST_MAIN(TestTokenColouring)
#include "tst_tokencolouring.moc"
