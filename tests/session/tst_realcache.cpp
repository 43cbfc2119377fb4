// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/session/session.h"
#include "tests/support/testmain.h"
#include "tests/support/testpaths.h"

#include <QRegularExpression>
#include <QTest>

using namespace tokenloupe;

namespace {

using Row = std::vector<float>;

StepRequest drawing()
{
    auto settings = std::make_shared<SamplerSettings>();
    settings->stages = {StageSettings{TopKParams{40}}, StageSettings{TemperatureParams{0.9F}}};
    StepRequest request;
    request.settings = settings;
    return request;
}

Row rowOf(std::span<const float> logits)
{
    return {logits.begin(), logits.end()};
}

std::unique_ptr<Session> open(const std::shared_ptr<const LoadedModel> &model, SessionSettings settings = {})
{
    settings.contextTokens = 256;
    auto session = Session::create(model, settings);
    return session ? std::move(*session) : nullptr;
}

} // namespace

/// Shared blocks of trained models: every run as one that has a session to itself.
class TestRealCache : public QObject
{
    Q_OBJECT

    static std::shared_ptr<const LoadedModel> load(const std::filesystem::path &path)
    {
        auto model = loadModel(path);
        return model ? *model : nullptr;
    }

    /// Prefix reuse after another prompt, two branches in turns, and the first run without a cache: token by
    /// token and logit by logit.
    static void compare(const std::shared_ptr<const LoadedModel> &model)
    {
        QVERIFY(model);
        const auto first =
            rawPrompt(*model, "Once upon a time there was a little girl who lived by the sea.");
        const auto second = rawPrompt(*model, "Once upon a time there was a very old clock.");
        QVERIFY(first && second);
        const auto session = open(model);
        QVERIFY(session && session->prefill(first->ids(), 7) && session->prefill(second->ids(), 7));
        const auto again = session->prefill(first->ids(), 7);
        QVERIFY(again);
        QCOMPARE(again->reusedTokens, static_cast<std::uint32_t>(first->ids().size()) - 1);

        SessionSettings uncached;
        uncached.cacheUse = CacheUse::Recompute;
        const auto fresh = open(model);
        const auto anew = open(model, uncached);
        QVERIFY(fresh && anew && fresh->prefill(first->ids(), 7) && anew->prefill(first->ids(), 7));
        for (int k = 0; k < 10; ++k) {
            const auto a = session->step(drawing());
            const auto b = fresh->step(drawing());
            const auto c = anew->step(drawing());
            QVERIFY(a && b && c);
            QCOMPARE(a->token, b->token);
            QCOMPARE(c->token, b->token);
            QCOMPARE(rowOf(session->currentLogits()), rowOf(fresh->currentLogits()));
            QCOMPARE(rowOf(anew->currentLogits()), rowOf(fresh->currentLogits()));
        }

        const RunId parent = session->run();
        const auto branch = session->fork(StepIndex(4), 8);
        QVERIFY(branch);
        const auto other = open(model); // the branch's history, prefilled
        QVERIFY(other && other->prefill(session->history(), 8));
        QCOMPARE(rowOf(session->currentLogits()), rowOf(other->currentLogits()));
        for (int k = 0; k < 6; ++k) {
            QVERIFY(session->activate(branch->run) && session->step(drawing()));
            const Row ofBranch = rowOf(session->currentLogits());
            QVERIFY(session->activate(parent) && session->step(drawing()));
            QVERIFY(fresh->step(drawing()));
            QCOMPARE(rowOf(session->currentLogits()), rowOf(fresh->currentLogits()));
            if (k == 0)
                continue; // drawn from the logits compared above, at another step of another run
            QVERIFY(session->activate(branch->run));
            const auto ids = session->history();
            const auto alone = open(model);
            QVERIFY(alone && alone->prefill(ids.first(ids.size() - 1), 8));
            QCOMPARE(ofBranch, rowOf(alone->currentLogits()));
        }
        QVERIFY(session->cacheSnapshot()->counters.copiedBlocks > 0);
    }

private Q_SLOTS:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void stories()
    {
        TOKENLOUPE_NEED_SHARED(path, "models/stories260K/stories260K-f32.gguf");
        compare(load(path));
    }

    void smol()
    {
        TOKENLOUPE_NEED_SMOL(path);
        compare(load(path));
    }
};

TOKENLOUPE_TEST_MAIN(TestRealCache)
#include "tst_realcache.moc"
