// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compare/precisioncomparison.h"
#include "tests/compare/plaindivergence.h"
#include "tests/session/sessionfixture.h"
#include "tests/support/testmain.h"
#include "tests/support/testpaths.h"

using namespace tokenloupe;
using namespace tokenloupe::test;

class TestPrecisionComparison : public QObject
{
    Q_OBJECT

    static TinyModelOptions packable()
    {
        TinyModelOptions options;
        options.type = TinyType::Q8_0;
        return options;
    }
    static std::vector<std::vector<float>> rowsOf(const std::shared_ptr<const LoadedModel> &model,
                                                  Precision precision, std::span<const TokenId> ids,
                                                  KvType type = KvType::F32)
    {
        SessionSettings settings;
        settings.precision = precision;
        settings.keyType = settings.valueType = type;
        const auto session = SessionFixture::open(model, settings);
        std::vector<std::vector<float>> rows;
        if (session) {
            [[maybe_unused]] const Status scored =
                session->score(ids, [&](std::uint32_t, std::span<const float> row) {
                    rows.emplace_back(row.begin(), row.end());
                });
        }
        return rows;
    }

private Q_SLOTS:
    void everyPosition_data();
    void everyPosition();
    void theLastPosition();
    void aKeptRowSparesAPass();
    void aRowOfADeviceIsNotTaken();
    void otherSessionsAreNotTouched();
    void withoutPackedWeightsNothingDiffers();
    void keysAsTheRunStoresThem();
    void isCancelled();
    void whatCannotBe();
    void saysWhatItTakes();
    void onARealModel();
};

void TestPrecisionComparison::everyPosition_data()
{
    QTest::addColumn<int>("tokens");
    QTest::addColumn<int>("type");
    QTest::newRow("one token") << 1 << int(KvType::F32);
    QTest::newRow("one batch") << 40 << int(KvType::F32);
    QTest::newRow("several batches") << 150 << int(KvType::F32);
    QTest::newRow("half-precision cache") << 70 << int(KvType::F16);
}

void TestPrecisionComparison::everyPosition()
{
    QFETCH(int, tokens);
    QFETCH(int, type);
    SessionFixture fixture;
    const auto model = fixture.load(packable());
    QVERIFY(model);
    const auto ids = SessionFixture::ids(std::uint32_t(tokens));
    const auto exact = rowsOf(model, Precision::Exact, ids, KvType(type));
    const auto fast = rowsOf(model, Precision::Fast, ids, KvType(type));
    QCOMPARE(exact.size(), ids.size());
    QCOMPARE(fast.size(), ids.size());
    RunArithmetic arithmetic;
    arithmetic.keyType = arithmetic.valueType = KvType(type);
    const PrecisionComparison comparison(model, arithmetic, Precision::Exact, 2);
    Progress progress;
    std::uint32_t expected = 0;
    bool differs = false;
    const Status done = comparison.all(
        ids,
        [&](std::uint32_t position, const PositionComparison &compared) {
            QCOMPARE(position, expected++);
            QVERIFY(std::abs(compared.divergence.kl - plainKl(exact[position], fast[position])) < 1e-12);
            QVERIFY(std::abs(compared.divergence.klBack - plainKl(fast[position], exact[position])) < 1e-12);
            differs = differs || compared.divergence.largestDifference > 0.0F;
        },
        &progress);
    QVERIFY(done);
    QCOMPARE(expected, std::uint32_t(tokens));
    QVERIFY(differs);
    QCOMPARE(progress.total.load(), std::uint64_t(tokens) * 2);
    QCOMPARE(progress.done.load(), progress.total.load());
}

void TestPrecisionComparison::theLastPosition()
{
    SessionFixture fixture;
    const auto model = fixture.load(packable());
    QVERIFY(model);
    const auto ids = SessionFixture::ids(130);
    for (const Precision loaded : {Precision::Exact, Precision::Fast}) {
        const PrecisionComparison comparison(model, {}, loaded, 2);
        std::vector<PositionComparison> positions;
        QVERIFY(comparison.all(
            ids, [&](std::uint32_t, PositionComparison p) { positions.push_back(std::move(p)); }));
        for (const std::uint32_t count : {1U, 64U, 65U, 130U}) {
            Progress progress;
            const auto last = comparison.last(std::span(ids).first(count), {}, &progress);
            QVERIFY(last);
            QCOMPARE(last->divergence.kl, positions[count - 1].divergence.kl);
            QCOMPARE(last->candidates.size(), positions[count - 1].candidates.size());
            QCOMPARE(last->candidates[0].fastLogit, positions[count - 1].candidates[0].fastLogit);
            QCOMPARE(progress.total.load(), std::uint64_t(count) * 2);
            QCOMPARE(progress.done.load(), progress.total.load());
        }
    }
}

void TestPrecisionComparison::aKeptRowSparesAPass()
{
    SessionFixture fixture;
    const auto model = fixture.load(packable());
    QVERIFY(model);
    const auto ids = SessionFixture::ids(50);
    for (const Precision own : {Precision::Exact, Precision::Fast}) {
        RunArithmetic arithmetic;
        arithmetic.precision = own;
        const PrecisionComparison comparison(model, arithmetic, own, 2);
        const auto both = comparison.last(ids);
        const auto kept = rowsOf(model, own, ids).back();
        Progress progress;
        const auto one = comparison.last(ids, kept, &progress);
        QVERIFY(both && one);
        QCOMPARE(one->divergence.kl, both->divergence.kl);
        QCOMPARE(one->divergence.largestAt, both->divergence.largestAt);
        QCOMPARE(progress.total.load(), std::uint64_t(50));
        QCOMPARE(progress.done.load(), std::uint64_t(50));
    }
}

/// Its rows differ from the CPU's, and not by the precision: both passes are the CPU's.
void TestPrecisionComparison::aRowOfADeviceIsNotTaken()
{
    SessionFixture fixture;
    const auto model = fixture.load(packable());
    QVERIFY(model);
    const auto ids = SessionFixture::ids(20);
    RunArithmetic arithmetic;
    const auto both = PrecisionComparison(model, arithmetic, Precision::Exact, 2).last(ids);
    auto kept = rowsOf(model, Precision::Exact, ids).back();
    kept[3] += 0.5F;
    arithmetic.device = "a device";
    for (const std::optional<std::uint32_t> layers : {std::optional<std::uint32_t>(), std::optional(1U)}) {
        arithmetic.deviceLayers = layers;
        Progress progress;
        const auto one =
            PrecisionComparison(model, arithmetic, Precision::Exact, 2).last(ids, kept, &progress);
        QVERIFY(both && one);
        QCOMPARE(one->divergence.kl, both->divergence.kl);
        QCOMPARE(one->divergence.largestDifference, both->divergence.largestDifference);
        QCOMPARE(progress.done.load(), std::uint64_t(2 * ids.size()));
    }
}

void TestPrecisionComparison::otherSessionsAreNotTouched()
{
    SessionFixture fixture;
    const auto model = fixture.load(packable());
    QVERIFY(model);
    const auto ids = SessionFixture::ids(40);
    for (const Precision own : {Precision::Exact, Precision::Fast}) {
        SessionSettings settings;
        settings.precision = own;
        const auto twin = SessionFixture::open(model, settings);
        const auto session = SessionFixture::open(model, settings);
        QVERIFY(twin && session);
        for (Session *each : {twin.get(), session.get()}) {
            QVERIFY(each->prefill(ids, 9));
            QVERIFY(each->step(SessionFixture::request()));
        }
        const RunId run = session->run();
        const std::vector<TokenId> history(session->history().begin(), session->history().end());
        const std::uint64_t bytes = session->kvBytes();
        RunArithmetic arithmetic;
        arithmetic.precision = own;
        const PrecisionComparison comparison(model, arithmetic, own, 2);
        QVERIFY(comparison.last(history));
        QVERIFY(comparison.all(history, [](std::uint32_t, const PositionComparison &) {}));
        QCOMPARE(session->run(), run);
        QCOMPARE(session->kvBytes(), bytes);
        QVERIFY(std::equal(history.begin(), history.end(), session->history().begin()));
        // It goes on as if nothing had been: the same tokens from the same logits, bit for bit.
        for (int i = 0; i < 5; ++i) {
            const auto one = session->step(SessionFixture::request());
            const auto other = twin->step(SessionFixture::request());
            QVERIFY(one && other);
            QCOMPARE(one->token, other->token);
            QCOMPARE(one->logit, other->logit);
        }
    }
}

void TestPrecisionComparison::withoutPackedWeightsNothingDiffers()
{
    SessionFixture fixture;
    const auto model = fixture.load(); // float32: there is no kernel of integers for it
    QVERIFY(model);
    const PrecisionComparison comparison(model, {}, Precision::Fast, 2);
    const auto last = comparison.last(SessionFixture::ids(20));
    QVERIFY(last);
    QCOMPARE(last->divergence.kl, 0.0);
    QCOMPARE(last->divergence.largestDifference, 0.0F);
    QCOMPARE(last->overlap, PositionComparison::topTokens);
    const auto memory = comparison.memoryOfLast(20, Precision::Exact);
    QVERIFY(memory);
    QCOMPARE(memory->weightBytes, std::uint64_t(0));
}

void TestPrecisionComparison::keysAsTheRunStoresThem()
{
    // A streaming run stores keys before their rotation: its rows are found again only when the comparison
    // does too.
    SessionFixture fixture;
    const auto model = fixture.load(packable());
    QVERIFY(model);
    SessionSettings settings;
    settings.precision = Precision::Fast;
    settings.overflow = OverflowPolicy::Streaming;
    const auto session = SessionFixture::open(model, settings);
    QVERIFY(session);
    const auto ids = SessionFixture::ids(20);
    const auto run = session->prefill(ids, 1);
    QVERIFY(run);
    QCOMPARE(run->arithmetic.precision, Precision::Fast);
    QCOMPARE(run->arithmetic.keyPhase, KeyPhase::Unrotated);
    const auto kept = SessionFixture::row(session->currentLogits());
    const PrecisionComparison comparison(model, run->arithmetic, Precision::Fast, 2);
    const auto both = comparison.last(ids);
    const auto one = comparison.last(ids, kept);
    QVERIFY(both && one);
    QCOMPARE(one->divergence.kl, both->divergence.kl);
    QCOMPARE(one->candidates[0].fastLogit, both->candidates[0].fastLogit);
}

void TestPrecisionComparison::isCancelled()
{
    SessionFixture fixture;
    const auto model = fixture.load(packable());
    QVERIFY(model);
    const auto ids = SessionFixture::ids(150);
    const PrecisionComparison comparison(model, {}, Precision::Fast, 2);
    std::stop_source stop;
    std::uint32_t taken = 0;
    const Status done = comparison.all(
        ids,
        [&](std::uint32_t, const PositionComparison &) {
            if (++taken == 3)
                stop.request_stop();
        },
        nullptr, stop.get_token());
    QVERIFY(!done);
    QCOMPARE(done.error().code, ErrorCode::Cancelled);
    QVERIFY(taken < ids.size());
    const auto last = comparison.last(ids, {}, nullptr, stop.get_token());
    QVERIFY(!last);
    QCOMPARE(last.error().code, ErrorCode::Cancelled);
}

void TestPrecisionComparison::whatCannotBe()
{
    SessionFixture fixture;
    const auto model = fixture.load(packable());
    QVERIFY(model);
    const PrecisionComparison comparison(model, {}, Precision::Fast, 2);
    QCOMPARE(comparison.last({}).error().code, ErrorCode::InvalidArgument);
    QCOMPARE(comparison.all({}, [](std::uint32_t, const PositionComparison &) {}).error().code,
             ErrorCode::InvalidArgument);
    const std::vector<TokenId> unknown{TokenId(999'999)};
    QCOMPARE(comparison.last(unknown).error().code, ErrorCode::InvalidArgument);
    // A kept row of another vocabulary.
    const std::vector<float> wrong(3);
    QCOMPARE(comparison.last(SessionFixture::ids(4), wrong).error().code, ErrorCode::InvalidArgument);
}

void TestPrecisionComparison::saysWhatItTakes()
{
    SessionFixture fixture;
    const auto model = fixture.load(packable());
    QVERIFY(model);
    const PrecisionComparison fromFast(model, {}, Precision::Fast, 2);
    const PrecisionComparison fromExact(model, {}, Precision::Exact, 2);
    const auto own = fromFast.memoryOfLast(100, Precision::Fast);
    const auto file = fromFast.memoryOfLast(100, Precision::Exact);
    const auto packed = fromExact.memoryOfLast(100, Precision::Fast);
    const auto all = fromFast.memoryOfAll(100);
    QVERIFY(own && file && packed && all);
    QCOMPARE(own->weightBytes, std::uint64_t(0)); // they are there
    QVERIFY(file->weightBytes > 0);
    QVERIFY(packed->weightBytes >= file->weightBytes);              // whole stripes
    QVERIFY(file->runBytes > 100 * 2 * 2 * 2 * 16 * sizeof(float)); // keys and values alone
    QCOMPARE(all->weightBytes, file->weightBytes);
    QCOMPARE(all->runBytes, own->runBytes + file->runBytes);
    QCOMPARE(all->total(), all->weightBytes + all->runBytes);
}

void TestPrecisionComparison::onARealModel()
{
    TOKENLOUPE_NEED_SMOL(path);
    const auto model = loadModel(path);
    QVERIFY(model);
    const auto prompt = rawPrompt(**model, "The sky is blue because the air scatters short waves more.");
    QVERIFY(prompt);
    const auto ids = prompt->ids();
    const PrecisionComparison comparison(*model, {}, Precision::Fast, 2);
    DivergenceTotals totals;
    QVERIFY(
        comparison.all(ids, [&](std::uint32_t, const PositionComparison &p) { totals.add(p.divergence); }));
    QCOMPARE(totals.positions(), ids.size());
    // The bound that the documentation states, with room for a short text.
    QVERIFY2(totals.meanKl() > 1e-9 && totals.meanKl() < 5e-5, qPrintable(QString::number(totals.meanKl())));
    QCOMPARE(totals.argmaxEqualShare(), 1.0);
}

TOKENLOUPE_TEST_MAIN(TestPrecisionComparison)
#include "tst_precisioncomparison.moc"
