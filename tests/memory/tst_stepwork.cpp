// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/memory/stepwork.h"
#include "tests/support/testmain.h"

#include <QTest>

using namespace tokenloupe;

class TestStepWork : public QObject
{
    Q_OBJECT

    static ModelConfig config(std::vector<std::uint32_t> windows)
    {
        ModelConfig config;
        config.layers = 3;
        config.embedding = 32;
        config.heads = 4;
        config.kvHeads = {2, 1, 4};
        config.headSize = 8;
        config.valueHeadSize = 6;
        config.feedForward = 40;
        config.vocabulary = 100;
        config.windows = std::move(windows);
        return config;
    }

    /// Counted token by token and position by position, as the passes go.
    static double counted(const ModelConfig &c, std::uint64_t first, std::uint64_t tokens)
    {
        const std::uint64_t matrices =
            (c.spec.activation == Activation::GeluTanh ? 2U : 3U) * (c.experts > 0 ? c.expertsUsed : 1U);
        std::uint64_t sum = std::uint64_t(c.embedding) * c.vocabulary;
        for (std::uint32_t layer = 0; layer < c.layers; ++layer) {
            for (std::uint64_t t = 0; t < tokens; ++t) {
                const bool leadsOn = layer + 1 < c.layers || t + 1 == tokens;
                sum += std::uint64_t(c.embedding) * c.heads * c.headSize;               // q
                sum += std::uint64_t(c.embedding) * c.kvHeads[layer] * c.headSize;      // k
                sum += std::uint64_t(c.embedding) * c.kvHeads[layer] * c.valueHeadSize; // v
                if (!leadsOn)
                    continue;
                sum += std::uint64_t(c.embedding) * c.heads * c.valueHeadSize; // o
                sum += matrices * c.embedding * (c.experts > 0 ? c.expertFeedForward : c.feedForward);
                sum += std::uint64_t(c.embedding) * c.experts; // the router
                for (std::uint64_t p = 0; p <= first + t; ++p) {
                    if (c.windowOf(layer) == 0 || p + c.windowOf(layer) > first + t)
                        sum += std::uint64_t(c.heads) * (c.headSize + c.valueHeadSize);
                }
            }
        }
        return double(sum);
    }

private Q_SLOTS:
    void equalsTheCount_data()
    {
        QTest::addColumn<std::vector<std::uint32_t>>("windows");
        QTest::addColumn<int>("first");
        QTest::addColumn<int>("tokens");
        for (const auto &[name, windows] : {std::pair{"no windows", std::vector<std::uint32_t>{}},
                                            std::pair{"windows", std::vector<std::uint32_t>{5, 0, 12}}}) {
            for (const auto &[first, tokens] :
                 {std::pair{0, 1}, {0, 7}, {3, 1}, {3, 9}, {40, 1}, {40, 13}, {11, 1}, {12, 2}})
                QTest::addRow("%s, %d after %d", name, tokens, first) << windows << first << tokens;
        }
    }

    void equalsTheCount()
    {
        QFETCH(std::vector<std::uint32_t>, windows);
        QFETCH(int, first);
        QFETCH(int, tokens);
        const ModelConfig model = config(windows);
        QCOMPARE(stepWork(model, std::uint64_t(first), std::uint64_t(tokens)).total(),
                 counted(model, std::uint64_t(first), std::uint64_t(tokens)));
        ModelConfig ungated = model;
        ungated.spec.activation = Activation::GeluTanh;
        QCOMPARE(stepWork(ungated, std::uint64_t(first), std::uint64_t(tokens)).total(),
                 counted(ungated, std::uint64_t(first), std::uint64_t(tokens)));
        ModelConfig experts = model;
        experts.experts = 9;
        experts.expertsUsed = 4;
        experts.expertFeedForward = 11;
        QCOMPARE(stepWork(experts, std::uint64_t(first), std::uint64_t(tokens)).total(),
                 counted(experts, std::uint64_t(first), std::uint64_t(tokens)));
    }
};

TOKENLOUPE_TEST_MAIN(TestStepWork)
#include "tst_stepwork.moc"
