// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/testmain.h"
#include "tests/support/testpaths.h"
#include "tests/support/tinymodel.h"
#include "tests/transformer/runmodel.h"

#include <QTemporaryDir>
#include <cstring>

using namespace tokenloupe;
using namespace tokenloupe::test;
using nlohmann::json;

namespace {

using Ids = std::vector<std::uint32_t>;

Ids someIds(std::uint32_t count)
{
    Ids ids{tinyBos};
    for (std::uint32_t i = 1; i < count; ++i)
        ids.push_back(tinyFirstByte + i * 37 % 256);
    return ids;
}

RunOptions fast(int threads, std::uint32_t batch)
{
    RunOptions options;
    options.threads = threads;
    options.batch = batch;
    options.precision = Precision::Fast;
    return options;
}

bool sameBits(const std::vector<float> &a, const std::vector<float> &b)
{
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

} // namespace

/// Whole forward passes of the fast precision.
class TestFastPrecision : public QObject
{
    Q_OBJECT

private slots:
    void isCloseToExact_data() { addTypes(); }
    void isCloseToExact();
    void splitsAndThreadsDoNotMatter_data() { addTypes(); }
    void splitsAndThreadsDoNotMatter();
    void tapsAndTimesChangeNothing_data() { addTypes(); }
    void tapsAndTimesChangeNothing();
    void storiesStayClose_data();
    void storiesStayClose();

private:
    static void addTypes()
    {
        QTest::addColumn<int>("type");
        for (const TinyType type :
             {TinyType::F32, TinyType::Q4_0, TinyType::Q4_1, TinyType::Q5_0, TinyType::Q5_1, TinyType::Q8_0})
            QTest::newRow(traitsOf(TensorType(type)).name) << int(type);
    }
    std::shared_ptr<const Model> model(TinyType type)
    {
        TinyModelOptions options;
        options.type = type;
        options.bias = TinyBias::Attention;
        options.feedForward = 160;
        auto loaded = Model::load(writeTinyModel(m_folder.path().toStdString(), options));
        return loaded ? *loaded : nullptr;
    }

    QTemporaryDir m_folder;
};

void TestFastPrecision::isCloseToExact()
{
    QFETCH(int, type);
    const auto tiny = model(TinyType(type));
    QVERIFY(tiny);
    const Ids ids = someIds(40);
    RunModel exact(tiny, {});
    RunModel rounded(tiny, fast(2, 64));
    const std::vector<float> reference = exact.feedAll(ids);
    const std::vector<float> logits = rounded.feedAll(ids);
    const double divergence = meanDivergence(reference, logits, exact.vocabulary());
    QVERIFY2(std::abs(divergence) < 1e-6, qPrintable(QString::number(divergence)));
    // Types without a fast kernel are computed as ever; the others are rounded.
    QCOMPARE(sameBits(reference, logits), TinyType(type) == TinyType::F32);
}

void TestFastPrecision::splitsAndThreadsDoNotMatter()
{
    QFETCH(int, type);
    const auto tiny = model(TinyType(type));
    QVERIFY(tiny);
    const Ids ids = someIds(50);
    const std::vector<float> expected = RunModel(tiny, fast(1, 64)).feedAll(ids);
    for (const int threads : {1, 2, 3}) {
        for (const std::uint32_t batch : {1U, 3U, 9U, 17U, 50U}) {
            const std::vector<float> logits = RunModel(tiny, fast(threads, 64)).feedAll(ids, batch);
            QVERIFY2(sameBits(logits, expected),
                     qPrintable(QStringLiteral("%1 threads, batches of %2").arg(threads).arg(batch)));
        }
    }
}

void TestFastPrecision::tapsAndTimesChangeNothing()
{
    QFETCH(int, type);
    const auto tiny = model(TinyType(type));
    QVERIFY(tiny);
    const Ids ids = someIds(40);
    for (const int threads : {1, 2}) {
        for (const std::uint32_t batch : {1U, 13U}) {
            RunModel plain(tiny, fast(threads, 64));
            RunModel watched(tiny, fast(threads, 64));
            watched.backend().measureOperations(Measuring::On);
            CollectingTap tap;
            QVERIFY(sameBits(plain.feed(ids, batch), watched.feed(ids, batch, &tap)));
            for (const std::uint32_t id : Ids{5, 6, 7}) { // as decoding goes
                const std::vector<float> logits = plain.feed({id});
                QVERIFY(sameBits(logits, watched.feed({id}, 0, &tap)));
                const std::vector<float> &seen = tap.taken[{TapPoint::Logits, {}}];
                QVERIFY(sameBits(logits, {seen.end() - std::ptrdiff_t(logits.size()), seen.end()}));
            }
            QVERIFY(watched.backend().takeOperationTimes().isMeasured());
        }
    }
}

void TestFastPrecision::storiesStayClose_data()
{
    QTest::addColumn<QString>("type");
    for (const char *type : {"q4_0", "q4_1", "q5_0", "q5_1", "q8_0"})
        QTest::newRow(type) << QString::fromLatin1(type);
}

void TestFastPrecision::storiesStayClose()
{
    QFETCH(QString, type);
    TOKENLOUPE_NEED_SHARED(folder, "models/stories260K");
    const std::filesystem::path path = folder / ("stories260K-" + type.toStdString() + ".gguf");
    if (!std::filesystem::exists(path))
        QSKIP("there is no file of this type");
    const json golden = readJson(folder / "golden_trace_once_upon_a_time.json");
    const Ids ids = golden["ids"];
    RunModel exact(path);
    RunModel rounded(exact.sharedModel(), fast(2, 64));
    const double divergence = meanDivergence(exact.feedAll(ids), rounded.feedAll(ids), exact.vocabulary());
    QVERIFY2(std::abs(divergence) < 1e-5, qPrintable(QString::number(divergence)));
}

TOKENLOUPE_TEST_MAIN(TestFastPrecision)
#include "tst_fastprecision.moc"
