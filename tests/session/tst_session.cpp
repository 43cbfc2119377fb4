// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/packedweights.h"
#include "tests/session/sessionfixture.h"
#include "tests/support/testmain.h"

#include <QRegularExpression>
#include <cmath>

using namespace tokenloupe;
using namespace tokenloupe::test;

class SessionTest : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }
    void settingsAreCompleted();
    void contextOfTheFileIsCapped();
    void absurdContextIsRefused();
    void fastPlansPackedWeights();
    void prefillReusesThePrefix();
    void batchesDoNotMatter();
    void recordIsComplete();
    void settingsSeedIsTheRuns();
    void stepsEqualFreshPrefills();
    void withoutCacheTheSame();
    void scoreRows();

private:
    SessionFixture m_fixture;
};

void SessionTest::settingsAreCompleted()
{
    const auto session = SessionFixture::open(m_fixture.load());
    QVERIFY(session);
    QCOMPARE(session->settings().contextTokens, 256U);
    QCOMPARE(session->settings().threads, 2);
    QVERIFY(session->plan().bytesOf(MemoryPart::KvCache) > 0);
    QCOMPARE(session->cache().contextTokens(), 256U);
    QVERIFY(session->activationBytes() > 0);
    QVERIFY(!session->run().isValid());
    QVERIFY(!session->step(SessionFixture::request()));
}

void SessionTest::contextOfTheFileIsCapped()
{
    TinyModelOptions options;
    options.context = 4294967295U;
    const auto model = m_fixture.load(options);
    QVERIFY(model);
    const auto session = SessionFixture::open(model);
    QVERIFY(session);
    QCOMPARE(session->settings().contextTokens, 8192U);
    SessionSettings asked;
    asked.contextTokens = 10000;
    const auto larger = SessionFixture::open(model, asked);
    QVERIFY(larger);
    QCOMPARE(larger->settings().contextTokens, 10000U);
}

void SessionTest::fastPlansPackedWeights()
{
    TinyModelOptions options;
    options.type = TinyType::Q4_0;
    const auto model = m_fixture.load(options);
    SessionSettings settings;
    settings.precision = Precision::Fast;
    const auto session = SessionFixture::open(model, settings);
    QVERIFY(session);
    QCOMPARE(session->settings().precision, Precision::Fast);
    const PackingPlan packing = packingPlan(*model->model);
    QVERIFY(packing.packedBytes > 0);
    const std::uint64_t rest = model->model->weightsBytes() - packing.fileBytes;
    QCOMPARE(session->plan().bytesOf(MemoryPart::Weights), rest + packing.packedBytes);
    QVERIFY(session->plan().items.front().how.starts_with(std::to_string(packing.packedBytes)));
    settings.precision = Precision::Exact;
    const auto exact = sessionPlan(*model, settings);
    QVERIFY(exact);
    QCOMPARE(exact->bytesOf(MemoryPart::Weights), model->model->weightsBytes());
    // And back, in the same session.
    QVERIFY(session->reconfigure(settings));
    QVERIFY(session->prefill(SessionFixture::ids(9), 1));
}

void SessionTest::absurdContextIsRefused()
{
    SessionSettings settings;
    settings.contextTokens = 4000000000U;
    const auto session = Session::create(m_fixture.load(), settings);
    QVERIFY(!session);
    QCOMPARE(session.error().code, ErrorCode::OutOfMemory);
    QVERIFY(session.error().text().find("4000000000") != std::string::npos);
}

void SessionTest::prefillReusesThePrefix()
{
    const auto model = m_fixture.load();
    const auto session = SessionFixture::open(model);
    QVERIFY(session);
    auto prompt = SessionFixture::ids(40);
    auto first = session->prefill(prompt, 1);
    QVERIFY(first);
    QCOMPARE(first->reusedTokens, 0U);
    QCOMPARE(first->prefilledTokens, 40U);
    QCOMPARE(first->run, RunId(0));
    QCOMPARE(first->prompt, prompt);
    const auto logits = SessionFixture::row(session->currentLogits());

    // The same again: all but the last token.
    Progress progress;
    const auto again = session->prefill(prompt, 1, &progress);
    QVERIFY(again);
    QCOMPARE(again->reusedTokens, 39U);
    QCOMPARE(again->run, RunId(1));
    QCOMPARE(progress.total.load(), 40U);
    QCOMPARE(progress.done.load(), 40U);
    QCOMPARE(SessionFixture::row(session->currentLogits()), logits);

    // Another end, and a shorter prompt: as from a fresh session, bit for bit.
    prompt[30] = TokenId(tinyFirstByte + 255);
    for (std::size_t size : {std::size_t(40), std::size_t(35), std::size_t(10)}) {
        const std::span<const TokenId> part(prompt.data(), size);
        const auto reused = session->prefill(part, 1);
        QVERIFY(reused);
        QCOMPARE(reused->reusedTokens,
                 static_cast<std::uint32_t>(std::min<std::size_t>(size - 1, size == 40 ? 30 : size - 1)));
        const auto fresh = SessionFixture::open(model);
        QVERIFY(fresh->prefill(part, 1));
        QCOMPARE(SessionFixture::row(session->currentLogits()), SessionFixture::row(fresh->currentLogits()));
        QCOMPARE(session->cachedTokens(), static_cast<std::uint32_t>(size));
    }
}

void SessionTest::batchesDoNotMatter()
{
    const auto model = m_fixture.load();
    const auto prompt = SessionFixture::ids(50);
    std::vector<float> expected;
    for (std::uint32_t batch : {64U, 1U, 7U, 50U, 16U}) {
        SessionSettings settings;
        settings.batchTokens = batch;
        const auto session = SessionFixture::open(model, settings);
        QVERIFY(session && session->prefill(prompt, 1));
        if (expected.empty())
            expected = SessionFixture::row(session->currentLogits());
        QCOMPARE(SessionFixture::row(session->currentLogits()), expected);
    }
}

void SessionTest::recordIsComplete()
{
    const auto session = SessionFixture::open(m_fixture.load());
    const auto prompt = SessionFixture::ids(20);
    QVERIFY(session->prefill(prompt, 5));
    const auto request = SessionFixture::request();
    for (std::uint32_t k = 0; k < 20; ++k) {
        const auto history = std::vector<TokenId>(session->history().begin(), session->history().end());
        const auto record = session->step(request);
        QVERIFY(record);
        QCOMPARE(record->ref, (StepRef{session->run(), StepIndex(k)}));
        QCOMPARE(record->origin, TokenOrigin::Drawn);
        QCOMPARE(record->position, 20 + k);
        QCOMPARE(record->kvTokens, 20 + k);
        QCOMPARE(record->kvBlocks, (20 + k + 15) / 16);
        QCOMPARE(record->kvBytes, session->kvBytes());
        QCOMPARE(record->forwardMs > 0.0, k > 0);
        QVERIFY(record->sampleMs > 0.0);
        QCOMPARE(record->residentBytes > 0, k % 16 == 0);
        QCOMPARE(session->steps(), k + 1);
        QCOMPARE(session->history().back(), record->token);

        // Statistics by plain sums over the logits.
        const auto logits = session->currentLogits();
        double sum = 0.0;
        for (float logit : logits)
            sum += std::exp(static_cast<double>(logit));
        double entropy = 0.0;
        std::uint32_t rank = 0;
        const float own = logits[record->token.value()];
        for (std::size_t i = 0; i < logits.size(); ++i) {
            const double p = std::exp(static_cast<double>(logits[i])) / sum;
            entropy -= p > 0.0 ? p * std::log2(p) : 0.0;
            rank += logits[i] > own || (logits[i] == own && i < record->token.value()) ? 1 : 0;
        }
        QCOMPARE(record->logit, own);
        QVERIFY(std::abs(record->logSumExp - std::log(sum)) < 1e-6);
        QVERIFY(std::abs(record->entropyBits - entropy) < 1e-5);
        QVERIFY(std::abs(record->pRaw - std::exp(static_cast<double>(own)) / sum) < 1e-8);
        QCOMPARE(record->rank, rank);
        QVERIFY(rank < 40);

        // The logits are kept, and the chain run again over the causes draws the same.
        const auto kept = session->logits()->get(record->ref);
        QVERIFY(kept);
        QCOMPARE(*kept, SessionFixture::row(logits));
        const auto drawn = SamplerChain(record->settings).run(*kept, {history, k});
        QVERIFY(drawn);
        QCOMPARE(drawn->token, record->token);
        QCOMPARE(drawn->u, record->u);
        QCOMPARE(drawn->probability, record->p);
    }
}

void SessionTest::settingsSeedIsTheRuns()
{
    const auto session = SessionFixture::open(m_fixture.load());
    const auto request = SessionFixture::request();
    QVERIFY(session->prefill(SessionFixture::ids(5), 42));
    const auto first = session->step(request);
    const auto second = session->step(request);
    QVERIFY(first && second);
    QCOMPARE(first->settings->seed, 42U);
    QCOMPARE(first->settings, second->settings); // one value, shared
    QVERIFY(session->prefill(SessionFixture::ids(5), 43));
    const auto other = session->step(request);
    QVERIFY(other);
    QCOMPARE(other->settings->seed, 43U);
    QVERIFY(other->u != first->u);
}

void SessionTest::stepsEqualFreshPrefills()
{
    const auto model = m_fixture.load();
    const auto session = SessionFixture::open(model);
    QVERIFY(session->prefill(SessionFixture::ids(17), 3));
    for (int k = 0; k < 12; ++k) {
        const std::vector<TokenId> history(session->history().begin(), session->history().end());
        QVERIFY(session->step(SessionFixture::request(1.5F)));
        const auto fresh = SessionFixture::open(model);
        QVERIFY(fresh->prefill(history, 3));
        QCOMPARE(SessionFixture::row(session->currentLogits()), SessionFixture::row(fresh->currentLogits()));
    }
}

void SessionTest::withoutCacheTheSame()
{
    const auto model = m_fixture.load();
    SessionSettings settings;
    settings.cacheUse = CacheUse::Recompute;
    settings.batchTokens = 8;
    const auto kept = SessionFixture::open(model);
    const auto recomputed = SessionFixture::open(model, settings);
    const auto prompt = SessionFixture::ids(21);
    QVERIFY(kept->prefill(prompt, 9));
    QVERIFY(recomputed->prefill(prompt, 9));
    for (int k = 0; k < 15; ++k) {
        const auto a = kept->step(SessionFixture::request());
        const auto b = recomputed->step(SessionFixture::request());
        QVERIFY(a && b);
        QCOMPARE(a->token, b->token);
        QCOMPARE(SessionFixture::row(kept->currentLogits()),
                 SessionFixture::row(recomputed->currentLogits()));
        QCOMPARE(a->kvTokens, b->kvTokens);
    }
    const auto again = recomputed->prefill(prompt, 9);
    QVERIFY(again);
    QCOMPARE(again->reusedTokens, 0U);
}

void SessionTest::scoreRows()
{
    const auto model = m_fixture.load();
    const auto session = SessionFixture::open(model);
    const auto ids = SessionFixture::ids(30);
    QVERIFY(session->prefill(SessionFixture::ids(9, 4), 1));
    std::vector<std::vector<float>> rows;
    QVERIFY(session->score(ids, [&](std::uint32_t position, std::span<const float> row) {
        QCOMPARE(position, static_cast<std::uint32_t>(rows.size()));
        rows.push_back(SessionFixture::row(row));
    }));
    QCOMPARE(rows.size(), ids.size());
    QVERIFY(!session->run().isValid());
    for (std::size_t count : {std::size_t(1), std::size_t(12), std::size_t(30)}) {
        const auto fresh = SessionFixture::open(model);
        QVERIFY(fresh->prefill(std::span(ids.data(), count), 1));
        QCOMPARE(rows[count - 1], SessionFixture::row(fresh->currentLogits()));
    }
    QVERIFY(!session->score(SessionFixture::ids(257), [](std::uint32_t, std::span<const float>) {}));
}

TOKENLOUPE_TEST_MAIN(SessionTest)
#include "tst_session.moc"
