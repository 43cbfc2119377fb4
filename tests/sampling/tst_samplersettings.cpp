// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/sampling/samplersettings.h"
#include "tests/support/testmain.h"

#include <QRegularExpression>
#include <cmath>
#include <limits>
#include <set>

using namespace tokenloupe;

Q_DECLARE_METATYPE(tokenloupe::StageSettings)

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float notANumber = std::numeric_limits<float>::quiet_NaN();

StageSettings off(StageSettings stage)
{
    stage.state = StageSwitch::Off;
    return stage;
}

} // namespace

class TestSamplerSettings : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void namesMatchTheKinds()
    {
        const SamplerSettings settings = SamplerSettings::defaults();
        QCOMPARE(settings.stages.size(), stageKindCount);
        std::set<std::string_view> names, titles;
        for (std::size_t i = 0; i < stageKindCount; ++i) {
            const auto kind = static_cast<StageKind>(i);
            QVERIFY(settings.stages[i].kind() == kind);
            names.insert(stageName(kind));
            titles.insert(stageTitle(kind));
            const Result<StageKind> back = stageKindOf(stageName(kind));
            QVERIFY(back && *back == kind);
        }
        QCOMPARE(names.size(), stageKindCount);
        QCOMPARE(titles.size(), stageKindCount);
        QVERIFY(stageName(StageKind::TopK) == "top_k");
        QVERIFY(stageTitle(StageKind::TopK) == "Top-k");
        QVERIFY(stageFamily(StageKind::TopK) == StageFamily::CountCut);
        QVERIFY(stageFamily(StageKind::MinP) == StageFamily::MassCut);
        QVERIFY(stageFamily(StageKind::Temperature) == StageFamily::Temperature);
    }

    void aliases_data()
    {
        QTest::addColumn<QString>("name");
        QTest::addColumn<int>("kind"); // -1: unknown
        const auto row = [](const char *name, StageKind kind) {
            QTest::newRow(name) << name << static_cast<int>(kind);
        };
        row("top-k", StageKind::TopK);
        row("topk", StageKind::TopK);
        row("Top-K", StageKind::TopK);
        row("top-p", StageKind::TopP);
        row("nucleus", StageKind::TopP);
        row("min-p", StageKind::MinP);
        row("minp", StageKind::MinP);
        row("temp", StageKind::Temperature);
        row("temperature", StageKind::Temperature);
        row("penalties", StageKind::Penalties);
        row("logit-bias", StageKind::LogitBias);
        QTest::newRow("unknown") << "xtc" << -1;
        QTest::newRow("empty") << "" << -1;
        QTest::newRow("part") << "top" << -1;
    }
    void aliases()
    {
        QFETCH(QString, name);
        QFETCH(int, kind);
        const Result<StageKind> result = stageKindOf(name.toStdString());
        QCOMPARE(result.has_value(), kind >= 0);
        if (result) {
            QCOMPARE(static_cast<int>(*result), kind);
        } else {
            QVERIFY(result.error().code == ErrorCode::InvalidArgument);
            QVERIFY(QString::fromStdString(result.error().text()).contains(name));
        }
    }

    void activity_data()
    {
        QTest::addColumn<StageSettings>("stage");
        QTest::addColumn<bool>("active");
        const auto row = [](const char *name, const StageSettings &stage, bool active) {
            QTest::newRow(name) << stage << active;
        };
        row("top-k", {TopKParams{40}}, true);
        row("top-k switched off", off({TopKParams{40}}), false);
        row("top-k 0", {TopKParams{0}}, false);
        row("top-k negative", {TopKParams{-1}}, false);
        row("top-p", {TopPParams{0.95F}}, true);
        row("top-p 0", {TopPParams{0.0F}}, true);
        row("top-p 1", {TopPParams{1.0F}}, false);
        row("min-p", {MinPParams{0.05F}}, true);
        row("min-p 0", {MinPParams{0.0F}}, false);
        row("temperature", {TemperatureParams{0.8F}}, true);
        row("temperature 0", {TemperatureParams{0.0F}}, true);
        row("temperature 1", {TemperatureParams{1.0F}}, false);
        row("temperature NaN", {TemperatureParams{notANumber}}, false);
        row("penalties by default", {PenaltiesParams()}, false);
        row("penalties repeat", {PenaltiesParams{64, 1.1F, 0.0F, 0.0F}}, true);
        row("penalties presence", {PenaltiesParams{64, 1.0F, 0.1F, 0.0F}}, true);
        row("penalties frequency", {PenaltiesParams{-1, 1.0F, 0.0F, -0.1F}}, true);
        row("penalties without a window", {PenaltiesParams{0, 1.1F, 0.5F, 0.5F}}, false);
        row("bias", {LogitBiasParams{{{TokenId(3), 1.0F}}}}, true);
        row("no bias", {LogitBiasParams()}, false);
    }
    void activity()
    {
        QFETCH(StageSettings, stage);
        QFETCH(bool, active);
        QCOMPARE(stage.isActive(), active);
        QCOMPARE(stageSummary(stage) == "off", !active);
    }

    void texts_data()
    {
        QTest::addColumn<StageSettings>("stage");
        QTest::addColumn<QString>("summary");
        QTest::addColumn<QString>("label");
        const auto row = [](const StageSettings &stage, const char *summary, const char *label) {
            QTest::newRow(summary) << stage << QString::fromUtf8(summary) << QString::fromUtf8(label);
        };
        row({TopKParams{40}}, "k = 40", "top-k 40");
        row({TopPParams{0.95F}}, "p = 0.95", "top-p 0.95");
        row({TopPParams{0.5F}}, "p = 0.50", "top-p 0.50");
        row({MinPParams{0.005F}}, "p = 0.005", "min-p 0.005");
        row({MinPParams{1e-10F}}, "p = 1e-10", "min-p 1e-10");
        row({TemperatureParams{0.7F}}, "T = 0.70", "temp 0.70");
        row({TemperatureParams{2.0F}}, "T = 2.00", "temp 2.00");
        row({TemperatureParams{0.0F}}, "greedy", "temp 0.00");
        row({PenaltiesParams{64, 1.1F, 0.0F, 0.0F}}, "repeat 1.10 · last 64", "penalties");
        row({PenaltiesParams{-1, 1.0F, 0.5F, 0.25F}}, "presence 0.50 · frequency 0.25 · whole context",
            "penalties");
        row({LogitBiasParams{{{TokenId(3), 1.0F}}}}, "1 token", "logit bias");
        row({LogitBiasParams{{{TokenId(3), 1.0F}, {TokenId(4), 1.0F}}}}, "2 tokens", "logit bias");
        row(off({TopKParams{40}}), "off", "top-k 40");
    }
    void texts()
    {
        QFETCH(StageSettings, stage);
        QFETCH(QString, summary);
        QFETCH(QString, label);
        QCOMPARE(QString::fromStdString(stageSummary(stage)), summary);
        QCOMPARE(QString::fromStdString(stageLabel(stage)), label);
    }

    void validation_data()
    {
        QTest::addColumn<StageSettings>("stage");
        QTest::addColumn<QString>("named"); // in the message; empty: valid
        const auto good = [](const char *name, const StageSettings &stage) {
            QTest::newRow(name) << stage << QString();
        };
        const auto bad = [](const char *name, const StageSettings &stage, const char *named) {
            QTest::newRow(name) << stage << named;
        };
        for (const StageSettings &stage : SamplerSettings::defaults().stages)
            good(stageName(stage.kind()).data(), stage);
        good("top-k off", {TopKParams{-5}});
        good("top-p edges", {TopPParams{0.0F}});
        good("greedy", {TemperatureParams{0.0F}});
        good("whole context", {PenaltiesParams{-1, 1.1F, -2.0F, 2.0F}});
        good("ban", {LogitBiasParams{{{TokenId(3), -infinity}}}});
        bad("top-p above 1", {TopPParams{1.5F}}, "1.5");
        bad("top-p below 0", {TopPParams{-0.1F}}, "from 0 to 1");
        bad("top-p NaN", {TopPParams{notANumber}}, "p must be");
        bad("min-p above 1", {MinPParams{2.0F}}, "Min-p");
        bad("temperature below 0", {TemperatureParams{-1.0F}}, "temperature");
        bad("temperature infinite", {TemperatureParams{infinity}}, "temperature");
        bad("repeat 0", {PenaltiesParams{64, 0.0F, 0.0F, 0.0F}}, "repeat");
        bad("repeat infinite", {PenaltiesParams{64, infinity, 0.0F, 0.0F}}, "repeat");
        bad("presence NaN", {PenaltiesParams{64, 1.0F, notANumber, 0.0F}}, "presence");
        bad("frequency infinite", {PenaltiesParams{64, 1.0F, 0.0F, infinity}}, "frequency");
        bad("window", {PenaltiesParams{-2, 1.0F, 0.0F, 0.0F}}, "last n");
        bad("bias NaN", {LogitBiasParams{{{TokenId(3), notANumber}}}}, "token 3");
        bad("bias +inf", {LogitBiasParams{{{TokenId(3), infinity}}}}, "token 3");
        bad("bias of no token", {LogitBiasParams{{{TokenId(), 1.0F}}}}, "no token");
    }
    void validation()
    {
        QFETCH(StageSettings, stage);
        QFETCH(QString, named);
        const Status status = validateStage(stage);
        QCOMPARE(status.has_value(), named.isEmpty());
        if (!status) {
            QVERIFY(status.error().code == ErrorCode::InvalidArgument);
            const QString text = QString::fromStdString(status.error().text());
            QVERIFY2(text.contains(named), qPrintable(text));
            QVERIFY(text.startsWith(QLatin1StringView(stageTitle(stage.kind()).data())));
        }
    }

    void defaultsAndFind()
    {
        SamplerSettings settings = SamplerSettings::defaults();
        QCOMPARE(std::get<TopKParams>(settings.find(StageKind::TopK)->params).k, 40);
        QCOMPARE(std::get<TopPParams>(settings.find(StageKind::TopP)->params).p, 0.95F);
        QCOMPARE(std::get<MinPParams>(settings.find(StageKind::MinP)->params).p, 0.05F);
        QCOMPARE(std::get<TemperatureParams>(settings.find(StageKind::Temperature)->params).temperature,
                 0.8F);
        QVERIFY(!settings.find(StageKind::Penalties)->isActive());

        settings.find(StageKind::TopK)->params = TopKParams{7};
        QVERIFY(settings != SamplerSettings::defaults());
        QCOMPARE(std::get<TopKParams>(std::as_const(settings).find(StageKind::TopK)->params).k, 7);
        settings.stages.clear();
        QVERIFY(!settings.find(StageKind::TopK));
        QVERIFY(!std::as_const(settings).find(StageKind::Temperature));
    }
};

TOKENLOUPE_TEST_MAIN(TestSamplerSettings)
#include "tst_samplersettings.moc"
