// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/packedweights.h"

#include "engine/compute/backend.h"
#include "kernels/cpu/fastkernels.h"
#include "tests/support/testmain.h"
#include "tests/support/tinymodel.h"

#include <QTemporaryDir>
#include <cstring>
#include <limits>
#include <set>

using namespace tokenloupe;
using namespace tokenloupe::test;

class TestPackedWeights : public QObject
{
    Q_OBJECT

private slots:
    void planIsWhatIsHeld_data() { addTypes(); }
    void planIsWhatIsHeld();
    void everyMatrixIsThere_data() { addTypes(); }
    void everyMatrixIsThere();
    void oneCopyForAll();
    void partsHoldTheirLayers();
    void isCancelled();
    void embeddingsStayExact_data() { addTypes(); }
    void embeddingsStayExact();
    void onlyPackedModelsSayFast();
    void typesAndTheirKernels_data() { addTypes(); }
    void typesAndTheirKernels();

private:
    static void addTypes()
    {
        QTest::addColumn<int>("type");
        for (const TinyType type : {TinyType::F32, TinyType::F16, TinyType::Q4_0, TinyType::Q4_1,
                                    TinyType::Q5_0, TinyType::Q5_1, TinyType::Q8_0, TinyType::BF16})
            QTest::newRow(traitsOf(TensorType(type)).name) << int(type);
    }
    std::shared_ptr<const Model> model(TinyType type)
    {
        TinyModelOptions options;
        options.type = type;
        options.feedForward = 160;
        options.vocabulary = 391; // no whole stripe at the end
        auto loaded = Model::load(writeTinyModel(m_folder.path().toStdString(), options));
        return loaded ? *loaded : nullptr;
    }

    QTemporaryDir m_folder;
};

void TestPackedWeights::planIsWhatIsHeld()
{
    QFETCH(int, type);
    const auto tiny = model(TinyType(type));
    QVERIFY(tiny);
    const PackingPlan plan = packingPlan(*tiny);
    auto pool = WorkerPool::create(2);
    QVERIFY(pool);
    Progress progress;
    const auto packed = PackedWeights::of(tiny, {}, **pool, &progress);
    QVERIFY(packed);
    QCOMPARE((*packed)->bytes(), plan.packedBytes);
    if (!isPackable(TensorType(type))) {
        QVERIFY(plan.matrices.empty());
        QCOMPARE(plan.packedBytes, std::uint64_t(0));
        return;
    }
    QCOMPARE(plan.matrices.size(), std::size_t(2 * 7 + 1));
    // Whole stripes and lines, no more.
    std::uint64_t bytes = 0;
    for (const Weight *weight : plan.matrices) {
        const std::uint64_t rows = (static_cast<std::uint64_t>(weight->rows) + 15) / 16 * 16;
        const std::uint64_t rowBytes = weight->data.size() / static_cast<std::uint64_t>(weight->rows);
        bytes += rows * rowBytes;
    }
    QVERIFY(plan.packedBytes >= bytes && plan.packedBytes <= bytes + bytes / 8);
    QVERIFY(plan.fileBytes <= bytes);
}

void TestPackedWeights::everyMatrixIsThere()
{
    QFETCH(int, type);
    const auto tiny = model(TinyType(type));
    QVERIFY(tiny);
    auto pool = WorkerPool::create(3);
    const auto packed = PackedWeights::of(tiny, {}, **pool);
    QVERIFY(packed);
    for (const Weight *weight : packingPlan(*tiny).matrices) {
        const PackedMatrix *matrix = (*packed)->find(*weight);
        QVERIFY(matrix);
        QCOMPARE(matrix->rows, weight->rows);
        QCOMPARE(matrix->columns, weight->columns);
        QCOMPARE(reinterpret_cast<std::uintptr_t>(matrix->data) % 64, std::uintptr_t(0));
        const std::size_t rowBytes = weight->data.size() / static_cast<std::size_t>(weight->rows);
        std::vector<std::byte> row(rowBytes);
        for (std::int64_t r = 0; r < weight->rows; ++r) {
            unpackRow(*matrix, r, row.data());
            QVERIFY(std::memcmp(row.data(), weight->data.data() + static_cast<std::size_t>(r) * rowBytes,
                                rowBytes) == 0);
        }
    }
    QVERIFY(!(*packed)->find(tiny->weights().outputNorm));
}

void TestPackedWeights::oneCopyForAll()
{
    const auto tiny = model(TinyType::Q4_1);
    auto pool = WorkerPool::create(1);
    auto first = PackedWeights::of(tiny, {}, **pool);
    const auto second = PackedWeights::of(tiny, {}, **pool);
    QVERIFY(first && second);
    QCOMPARE(first->get(), second->get());
    const auto other = PackedWeights::of(model(TinyType::Q4_1), {}, **pool);
    QVERIFY(other);
    QVERIFY(other->get() != second->get());
}

void TestPackedWeights::partsHoldTheirLayers()
{
    const auto tiny = model(TinyType::Q4_1);
    auto pool = WorkerPool::create(1);
    const auto whole = PackedWeights::of(tiny, {}, **pool);
    const auto rest = PackedWeights::of(tiny, ModelPart::from(1), **pool);
    const auto before = PackedWeights::of(tiny, ModelPart::before(1), **pool);
    QVERIFY(whole && rest && before);
    const std::vector<LayerWeights> &layers = tiny->weights().layers;
    QVERIFY(!(*rest)->find(layers[0].query) && (*rest)->find(layers[1].query));
    QVERIFY((*before)->find(layers[0].query) && !(*before)->find(layers[1].query));
    QVERIFY((*rest)->find(tiny->weights().outputHead));
    QVERIFY(!(*before)->find(tiny->weights().outputHead));
    QCOMPARE((*rest)->bytes() + (*before)->bytes(), (*whole)->bytes());
    QCOMPARE((*rest)->bytes(), packingPlan(*tiny, ModelPart::from(1)).packedBytes);
    QCOMPARE(PackedWeights::of(tiny, ModelPart::from(1), **pool)->get(), rest->get());
}

void TestPackedWeights::isCancelled()
{
    const auto tiny = model(TinyType::Q8_0);
    auto pool = WorkerPool::create(2);
    std::stop_source source;
    source.request_stop();
    const auto packed = PackedWeights::of(tiny, {}, **pool, nullptr, source.get_token());
    QVERIFY(!packed);
    QCOMPARE(packed.error().code, ErrorCode::Cancelled);
    QVERIFY(PackedWeights::of(tiny, {}, **pool)); // nothing half done is remembered
}

/// The tied table is looked up in its packed form: the same numbers.
void TestPackedWeights::embeddingsStayExact()
{
    QFETCH(int, type);
    const auto tiny = model(TinyType(type));
    const Weight &table = tiny->weights().tokenEmbedding;
    const std::vector<TokenId> ids = {TokenId(390), TokenId(0), TokenId(17), TokenId(16), TokenId(15)};
    std::vector<std::vector<float>> rows;
    for (const Precision precision : {Precision::Exact, Precision::Fast}) {
        const auto backend = makeCpuBackend(2);
        QVERIFY(backend);
        QVERIFY((*backend)->prepare(tiny, precision));
        std::vector<float> out(ids.size() * static_cast<std::size_t>(table.columns));
        QVERIFY((*backend)->embed(table, ids,
                                  {out.data(), static_cast<std::int64_t>(ids.size()), table.columns}));
        rows.push_back(out);
    }
    QVERIFY(std::memcmp(rows[0].data(), rows[1].data(), rows[0].size() * sizeof(float)) == 0);
}

void TestPackedWeights::onlyPackedModelsSayFast()
{
    QCOMPARE(precisionName(Precision::Fast), std::string_view("fast"));
    QCOMPARE(precisionOf("fast"), std::optional(Precision::Fast));
    QCOMPARE(precisionOf("exact"), std::optional(Precision::Exact));
    QVERIFY(!precisionOf("half"));
    const auto backend = makeCpuBackend(1);
    QVERIFY(backend);
    const std::string exact = (*backend)->isa();
    const auto tiny = model(TinyType::Q4_0);
    QVERIFY((*backend)->prepare(tiny, Precision::Fast));
    QCOMPARE((*backend)->isa(), std::string(fastKernels().name));
    QVERIFY((*backend)->prepare(model(TinyType::F16), Precision::Fast));
    QCOMPARE((*backend)->isa(), exact);
    QVERIFY((*backend)->prepare(tiny, Precision::Exact));
    QCOMPARE((*backend)->isa(), exact);
}

void TestPackedWeights::typesAndTheirKernels()
{
    QFETCH(int, type);
    const auto tiny = model(TinyType(type));
    QVERIFY(tiny);
    const auto uses = weightTypeUses(*tiny);
    std::uint64_t packable = 0;
    std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();
    std::set<TensorType> seen;
    for (const WeightTypeUse &use : uses) {
        QVERIFY(seen.insert(use.type).second);
        QVERIFY(use.bytes > 0 && use.bytes <= largest);
        largest = use.bytes;
        QCOMPARE(use.isPackable, isPackable(use.type));
        packable += use.isPackable ? use.bytes : 0;
    }
    QVERIFY(seen.count(TensorType(type)) == 1);
    QCOMPARE(packable, packingPlan(*tiny).fileBytes);
    // The file's form can be given back at any time: it is read again.
    std::vector<std::byte> before(tiny->weights().outputHead.data.begin(),
                                  tiny->weights().outputHead.data.end());
    releaseFileForm(*tiny);
    QVERIFY(std::equal(before.begin(), before.end(), tiny->weights().outputHead.data.begin()));
}

TOKENLOUPE_TEST_MAIN(TestPackedWeights)
#include "tst_packedweights.moc"
