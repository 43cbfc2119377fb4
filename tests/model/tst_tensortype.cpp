// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/formats/tensortype.h"
#include "tests/support/testmain.h"
#include "tests/support/testpaths.h"

#include <QRegularExpression>
#include <algorithm>
#include <set>
#include <string>

using namespace tokenloupe;

class TestTensorType : public QObject
{
    Q_OBJECT

private slots:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void sizes_data()
    {
        QTest::addColumn<std::uint32_t>("id");
        QTest::addColumn<QString>("name");
        QTest::addColumn<int>("values");
        QTest::addColumn<int>("bytes");
        const auto row = [](std::uint32_t id, const char *name, int values, int bytes) {
            QTest::newRow(name) << id << QString::fromLatin1(name) << values << bytes;
        };
        // Bytes worked out from each layout: scales, minima, then the packed values.
        row(0, "F32", 1, 4);
        row(1, "F16", 1, 2);
        row(2, "Q4_0", 32, 2 + 16);
        row(3, "Q4_1", 32, 2 + 2 + 16);
        row(6, "Q5_0", 32, 2 + 4 + 16);
        row(7, "Q5_1", 32, 2 + 2 + 4 + 16);
        row(8, "Q8_0", 32, 2 + 32);
        row(9, "Q8_1", 32, 2 + 2 + 32);
        row(10, "Q2_K", 256, 16 + 64 + 2 + 2);
        row(11, "Q3_K", 256, 32 + 64 + 12 + 2);
        row(12, "Q4_K", 256, 2 + 2 + 12 + 128);
        row(13, "Q5_K", 256, 2 + 2 + 12 + 32 + 128);
        row(14, "Q6_K", 256, 128 + 64 + 16 + 2);
        row(15, "Q8_K", 256, 4 + 256 + 32);
        row(20, "IQ4_NL", 32, 2 + 16);
        row(23, "IQ4_XS", 256, 2 + 2 + 4 + 128);
        row(24, "I8", 1, 1);
        row(25, "I16", 1, 2);
        row(26, "I32", 1, 4);
        row(27, "I64", 1, 8);
        row(28, "F64", 1, 8);
        row(30, "BF16", 1, 2);
        row(35, "TQ2_0", 256, 64 + 2);
        row(39, "MXFP4", 32, 1 + 16);
        row(40, "NVFP4", 64, 4 + 32);
    }

    void sizes()
    {
        QFETCH(std::uint32_t, id);
        QFETCH(QString, name);
        QFETCH(int, values);
        QFETCH(int, bytes);
        const TensorTypeTraits *traits = tensorTypeTraits(id);
        QVERIFY(traits);
        QCOMPARE(QString::fromLatin1(traits->name), name);
        QCOMPARE(int(traits->blockValues), values);
        QCOMPARE(int(traits->blockBytes), bytes);
        QCOMPARE(&traitsOf(TensorType{id}), traits);
    }

    void idsThatMustNotBeRead()
    {
        for (const std::uint32_t id :
             {4U, 5U, 31U, 32U, 33U, 36U, 37U, 38U, 41U, 77U, 0x7FFFFFFFU, 0xFFFFFFFFU})
            QVERIFY2(!tensorTypeTraits(id), std::to_string(id).c_str());
    }

    void noTypeHasEmptyBlocks()
    {
        for (std::uint32_t id = 0; id < 1000; ++id) {
            if (const TensorTypeTraits *traits = tensorTypeTraits(id))
                QVERIFY(traits->blockValues > 0 && traits->blockBytes > 0);
        }
    }

    // What weights are stored as can be multiplied; numbers that are none, and sums for integer products,
    // not.
    void everyWeightTypeIsComputable()
    {
        const std::set<std::string> others = {"Q8_1", "I8", "I16", "I32", "I64", "F64"};
        for (std::uint32_t id = 0; id < 1000; ++id) {
            if (const TensorTypeTraits *traits = tensorTypeTraits(id))
                QVERIFY2(traits->computable == !others.contains(traits->name), traits->name);
        }
    }

    void agreesWithReferenceBlocks()
    {
        TOKENLOUPE_NEED_SHARED(path, "quants/dequant_cases.json");
        const auto cases = test::readJson(path)["cases"];
        QVERIFY(cases.size() > 20);
        for (const auto &block : cases) {
            const TensorTypeTraits *traits = tensorTypeTraits(block["ggml_type_id"].get<std::uint32_t>());
            QVERIFY2(traits, block["type"].get<std::string>().c_str());
            QCOMPARE(std::string(traits->name), block["type"].get<std::string>());
            QCOMPARE(traits->blockValues, block["block_elems"].get<std::uint32_t>());
            QCOMPARE(traits->blockBytes, block["block_bytes"].get<std::uint32_t>());
        }
    }
};

TOKENLOUPE_TEST_MAIN(TestTensorType)
#include "tst_tensortype.moc"
