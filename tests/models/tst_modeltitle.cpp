// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "widgets/models/modeltitle.h"

#include <QRegularExpression>
#include <QTest>

using namespace tokenloupe;

class TestModelTitle : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void leavesEndingAndWeightTypeAway_data()
    {
        QTest::addColumn<QString>("file");
        QTest::addColumn<QString>("title");
        QTest::newRow("dot") << "SmolLM2-135M-Instruct.Q4_1.gguf"
                             << "SmolLM2-135M-Instruct";
        QTest::newRow("dash, long type") << "Llama-3.2-1B-Q4_K_M.gguf"
                                         << "Llama-3.2-1B";
        QTest::newRow("importance type") << "a-iq2_xxs.gguf"
                                         << "a";
        QTest::newRow("half") << "qwen-F16.gguf"
                              << "qwen";
        QTest::newRow("bfloat") << "qwen_bf16.GGUF"
                                << "qwen";
        QTest::newRow("four bit floats") << "gpt-oss-mxfp4.gguf"
                                         << "gpt-oss";
        QTest::newRow("no type") << "stories260K.gguf"
                                 << "stories260K";
        QTest::newRow("another ending") << "model.bin"
                                        << "model.bin";
        QTest::newRow("folders") << "/models/some.q8/tiny-Q8_0.gguf"
                                 << "tiny";
        QTest::newRow("a size is no type") << "Phi-3-4k.gguf"
                                           << "Phi-3-4k";
        QTest::newRow("nothing but a type") << "-Q4_0.gguf"
                                            << "-Q4_0";
    }

    void leavesEndingAndWeightTypeAway()
    {
        QFETCH(QString, file);
        QFETCH(QString, title);
        QCOMPARE(modelTitle(file), title);
    }
};

TOKENLOUPE_TEST_MAIN(TestModelTitle)
#include "tst_modeltitle.moc"
