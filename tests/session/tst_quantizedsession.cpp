// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/packedweights.h"
#include "engine/memory/mappedpages.h"
#include "engine/model/quantizedweights.h"
#include "tests/session/sessionfixture.h"
#include "tests/support/testmain.h"
#include "tests/support/testpaths.h"

#include <QRegularExpression>
#include <cmath>

using namespace tokenloupe;
using namespace tokenloupe::test;

/// Sessions of models that were quantised at load.
class QuantizedSessionTest : public QObject
{
    Q_OBJECT

private slots:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }
    void planCountsWhatIsHeld();
    void precisionsTakeTurns();
    void packedRowsAreNotHeldTwice();
    void exactSessionBesideAFastOne();
    void realModelStaysClose();

private:
    std::shared_ptr<const LoadedModel> load(LoadQuantization quantization)
    {
        TinyModelOptions options;
        options.type = TinyType::F16;
        options.embedding = 256;
        options.feedForward = 1024;
        options.vocabulary = 2048;
        auto model =
            loadModel(writeTinyModel(m_folder.path().toStdString(), options), nullptr, {}, {quantization, 2});
        return model ? *model : nullptr;
    }
    static SessionSettings settings(Precision precision)
    {
        SessionSettings settings;
        settings.precision = precision;
        return settings;
    }
    static std::vector<float> logits(Session &session)
    {
        return session.prefill(SessionFixture::ids(24), 1) ? SessionFixture::row(session.currentLogits())
                                                           : std::vector<float>();
    }
    static std::uint64_t resident(const LoadedModel &model)
    {
        const auto memory = model.model->quantized()->memory();
        return residentBytes(memory.data(), memory.size()).value_or(0);
    }

    QTemporaryDir m_folder;
};

void QuantizedSessionTest::planCountsWhatIsHeld()
{
    const auto model = load(LoadQuantization::Q8_0);
    QVERIFY(model);
    QCOMPARE(model->options.quantization, LoadQuantization::Q8_0);
    const auto exact = sessionPlan(*model, settings(Precision::Exact));
    QVERIFY(exact);
    QCOMPARE(exact->bytesOf(MemoryPart::Weights), model->model->weightsBytes());
    const std::uint64_t quantized = model->model->quantized()->plan().bytes;
    QVERIFY(exact->items.front().how.starts_with(std::to_string(quantized) +
                                                 " bytes of tensors, quantised at load"));
    const PackingPlan packing = packingPlan(*model->model);
    QCOMPARE(quantizedBytesBeside(*model->model, packing), std::uint64_t(0));
    const auto fast = sessionPlan(*model, settings(Precision::Fast));
    QVERIFY(fast);
    QVERIFY(fast->items.front().how.find("quantised at load") == std::string::npos);
    QCOMPARE(fast->bytesOf(MemoryPart::Weights),
             model->model->weightsBytes() - packing.fileBytes + packing.packedBytes);
}

/// The quantised form goes when it is packed and comes back when it is wanted: every session computes what
/// the first one did.
void QuantizedSessionTest::precisionsTakeTurns()
{
    const auto model = load(LoadQuantization::Q8_0);
    QVERIFY(model);
    const auto session = SessionFixture::open(model, settings(Precision::Exact));
    QVERIFY(session);
    const std::vector<float> exact = logits(*session);
    QVERIFY(session->reconfigure(settings(Precision::Fast)));
    const std::vector<float> fast = logits(*session);
    QCOMPARE(fast.size(), exact.size());
    float largest = 0.0F;
    float difference = 0.0F;
    for (std::size_t i = 0; i < exact.size(); ++i) {
        largest = std::max(largest, std::abs(exact[i]));
        difference = std::max(difference, std::abs(exact[i] - fast[i]));
    }
    QVERIFY(difference > 0.0F && difference < 0.02F * largest);
    QVERIFY(session->reconfigure(settings(Precision::Exact)));
    QVERIFY(logits(*session) == exact);
    QVERIFY(session->reconfigure(settings(Precision::Fast)));
    QVERIFY(logits(*session) == fast);
}

void QuantizedSessionTest::packedRowsAreNotHeldTwice()
{
    const auto model = load(LoadQuantization::Q8_0);
    QVERIFY(model);
    const std::uint64_t all = model->model->quantized()->memory().size();
    if (resident(*model) == 0)
        QSKIP("this system does not tell which pages are resident");
    QVERIFY(resident(*model) > all * 9 / 10);
    auto session = SessionFixture::open(model, settings(Precision::Fast));
    QVERIFY(session);
    // Pages at the edges of pieces stay.
    QVERIFY2(resident(*model) < all / 10, qPrintable(QString::number(resident(*model))));
    QVERIFY(session->reconfigure(settings(Precision::Exact)));
    QVERIFY(resident(*model) > all * 9 / 10);
    QVERIFY(session->reconfigure(settings(Precision::Fast)));
    QVERIFY(resident(*model) < all / 10);
    session.reset();
    session = SessionFixture::open(model, settings(Precision::Fast)); // packed from the file again
    QVERIFY(session);
    QVERIFY(!logits(*session).empty());
}

void QuantizedSessionTest::exactSessionBesideAFastOne()
{
    const auto model = load(LoadQuantization::Q4_0);
    QVERIFY(model);
    const auto exact = SessionFixture::open(model, settings(Precision::Exact));
    const std::vector<float> first = logits(*exact);
    const auto fast = SessionFixture::open(model, settings(Precision::Fast));
    QVERIFY(fast);
    QVERIFY(!logits(*fast).empty());
    QVERIFY(logits(*exact) == first);
}

/// Q4_1 to Q4_0: some of what the finer type knew is lost, the text stays about as likely.
void QuantizedSessionTest::realModelStaysClose()
{
    TOKENLOUPE_NEED_SMOL(path);
    const std::string text = "The river had risen in the night, and by morning the lower meadow was a lake. "
                             "She stood at the gate with her coffee and counted the sheep on the far bank.";
    double nll[2] = {};
    for (const LoadQuantization quantization : {LoadQuantization::AsStored, LoadQuantization::Q4_0}) {
        const auto model = loadModel(path, nullptr, {}, {quantization, 2});
        QVERIFY(model);
        const auto session = SessionFixture::open(*model, settings(Precision::Fast));
        QVERIFY(session);
        const auto prompt = rawPrompt(**model, text);
        QVERIFY(prompt);
        const std::vector<TokenId> ids = prompt->ids();
        double sum = 0.0;
        QVERIFY(session->score(ids, [&](std::uint32_t position, std::span<const float> row) {
            if (position + 1 >= ids.size())
                return;
            double total = 0.0;
            for (const float logit : row)
                total += std::exp(double(logit));
            sum += std::log(total) - double(row[ids[position + 1].value()]);
        }));
        nll[quantization == LoadQuantization::Q4_0 ? 1 : 0] = sum / double(ids.size() - 1);
        if (quantization == LoadQuantization::Q4_0) {
            QCOMPARE((*model)->model->mainType(), std::string("Q4_0"));
            QVERIFY((*model)->model->weightsBytes() < 91'000'000);
        }
    }
    QVERIFY2(std::abs(nll[1] - nll[0]) < 0.25 && nll[1] != nll[0],
             qPrintable(QStringLiteral("%1 %2").arg(nll[0]).arg(nll[1])));
}

TOKENLOUPE_TEST_MAIN(QuantizedSessionTest)
#include "tst_quantizedsession.moc"
