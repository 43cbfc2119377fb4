// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/quantizedweights.h"
#include "kernels/cpu/cpukernels.h"
#include "tests/support/testmain.h"
#include "tests/support/tinyarchitecture.h"
#include "tests/support/tinymodel.h"

#include <QRegularExpression>
#include <QTemporaryDir>
#include <algorithm>
#include <cstring>
#include <filesystem>

using namespace tokenloupe;
using namespace tokenloupe::test;

namespace {

using Q = LoadQuantization;

/// Rows of whole blocks of 256.
TinyModelOptions wide(TinyType type)
{
    TinyModelOptions options;
    options.type = type;
    options.layers = 2;
    options.embedding = 256;
    options.heads = 4;
    options.kvHeads = 2;
    options.feedForward = 512;
    return options;
}

/// Row by row, as it should have been done.
std::vector<std::byte> converted(const Weight &stored, TensorType type)
{
    const CpuKernels &kernels = cpuKernels();
    const TensorTypeTraits &traits = traitsOf(type);
    const std::size_t rowBytes = std::size_t(stored.columns) / traits.blockValues * traits.blockBytes;
    std::vector<std::byte> bytes(rowBytes * std::size_t(stored.rows));
    std::vector<float> row(static_cast<std::size_t>(stored.columns));
    for (std::int64_t r = 0; r < stored.rows; ++r) {
        kernels.dequantizeRow({stored.type, stored.rows, stored.columns, stored.data.data()}, r, row.data());
        kernels.quantizeWeights(type, row.data(), stored.columns, bytes.data() + std::size_t(r) * rowBytes);
    }
    return bytes;
}

bool sameBytes(std::span<const std::byte> a, std::span<const std::byte> b)
{
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

std::vector<Weight *> matricesOf(ModelWeights &weights)
{
    std::vector<Weight *> list;
    forEachMatrix(weights, [&](Weight &weight, std::string_view, std::uint32_t) {
        if (weight.isPresent())
            list.push_back(&weight);
    });
    return list;
}

} // namespace

class TestLoadQuantization : public QObject
{
    Q_OBJECT

private slots:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }
    void namesAreUnderstood();
    void everyMatrixIsConverted_data();
    void everyMatrixIsConverted();
    void mixturesGiveMoreToSome();
    void bytesAreCounted_data() { everyMatrixIsConverted_data(); }
    void bytesAreCounted();
    void smallerTypesStay();
    void shortRowsFallBack();
    void oddRowsBecomeHalves();
    void expertsAndFusedMatrices_data();
    void expertsAndFusedMatrices();
    void progressCountsTheFile();
    void isCancelled();
    void aFileThatShrankIsAnError();
    void releasedRowsComeBack();
    void holdsKeepRows();
    void holdsOfAPart();
    void planOfALoadedModel();

private:
    std::shared_ptr<const Model> load(const TinyModelOptions &options, Q quantization)
    {
        ModelLoadOptions load;
        load.quantization = quantization;
        load.threads = 2;
        auto model = Model::load(writeTinyModel(m_folder.path().toStdString(), options), nullptr, {}, load);
        return model ? *model : nullptr;
    }

    QTemporaryDir m_folder;
};

void TestLoadQuantization::namesAreUnderstood()
{
    for (const Q quantization : loadQuantizations()) {
        QCOMPARE(loadQuantizationOf(loadQuantizationName(quantization)), std::optional(quantization));
        QCOMPARE(mixtureOf(quantization).empty(), quantization == Q::AsStored);
    }
    QCOMPARE(loadQuantizationOf("Q4_K_M"), std::optional(Q::Q4_K));
    QCOMPARE(loadQuantizationOf("q8-0"), std::optional(Q::Q8_0));
    QCOMPARE(loadQuantizationOf("STORED"), std::optional(Q::AsStored));
    for (const char *name : {"", "q4", "q4_k_s", "q6_k_m", "q8_0_m", "f16"})
        QVERIFY2(!loadQuantizationOf(name), name);
}

void TestLoadQuantization::everyMatrixIsConverted_data()
{
    QTest::addColumn<int>("stored");
    QTest::addColumn<int>("quantization");
    for (const TinyType stored : {TinyType::F32, TinyType::F16, TinyType::BF16}) {
        for (const Q quantization : loadQuantizations().subspan(1))
            QTest::addRow("%s to %s", traitsOf(TensorType(stored)).name,
                          loadQuantizationTitle(quantization).data())
                << int(stored) << int(quantization);
    }
    QTest::newRow("Q8_0 to Q4_K") << int(TinyType::Q8_0) << int(Q::Q4_K);
    QTest::newRow("Q6_K to Q4_0") << int(TinyType::Q6_K) << int(Q::Q4_0);
}

void TestLoadQuantization::everyMatrixIsConverted()
{
    QFETCH(int, stored);
    QFETCH(int, quantization);
    for (const TinyOutput output : {TinyOutput::Tied, TinyOutput::Separate}) {
        TinyModelOptions options = wide(TinyType(stored));
        options.output = output;
        const auto plain = load(options, Q::AsStored);
        const auto model = load(options, Q(quantization));
        QVERIFY(plain && model && model->quantized());
        QVERIFY(!plain->quantized());
        ModelWeights before = plain->weights();
        ModelWeights after = model->weights();
        const auto from = matricesOf(before);
        const auto to = matricesOf(after);
        QCOMPARE(to.size(), from.size());
        for (std::size_t i = 0; i < to.size(); ++i) {
            QCOMPARE(to[i]->rows, from[i]->rows);
            QCOMPARE(to[i]->columns, from[i]->columns);
            if (!model->quantized()->contains(to[i]->data)) { // no smaller than it was
                QCOMPARE(to[i]->type, from[i]->type);
                continue;
            }
            QVERIFY(to[i]->type != from[i]->type);
            QVERIFY(to[i]->data.size() < from[i]->data.size());
            QCOMPARE(reinterpret_cast<std::uintptr_t>(to[i]->data.data()) % 64, std::uintptr_t(0));
            QVERIFY(sameBytes(to[i]->data, converted(*from[i], to[i]->type)));
            QVERIFY(sameBytes(model->quantized()->storedOf(*to[i])->data, from[i]->data));
        }
        const bool isTied = output == TinyOutput::Tied;
        QCOMPARE(model->weights().outputHead.data.data() == model->weights().tokenEmbedding.data.data(),
                 isTied);
        // What is no matrix of the kind stays in the file.
        QVERIFY(!model->quantized()->contains(model->weights().outputNorm.data));
        QVERIFY(sameBytes(model->weights().layers[1].feedForwardNorm.data,
                          plain->weights().layers[1].feedForwardNorm.data));
    }
}

void TestLoadQuantization::mixturesGiveMoreToSome()
{
    TinyModelOptions options = wide(TinyType::F16);
    options.layers = 8;
    options.output = TinyOutput::Separate;
    const auto fine = load(options, Q::Q4_K);
    QVERIFY(fine);
    QVERIFY(fine->warnings().empty());
    const ModelWeights &weights = fine->weights();
    QCOMPARE(weights.outputHead.type, TensorType::Q6_K);
    QCOMPARE(weights.tokenEmbedding.type, TensorType::Q4_K);
    // Of eight layers the first, the last, and every third between them.
    for (std::size_t i = 0; i < 8; ++i) {
        const bool isFine = i == 0 || i == 3 || i == 6 || i == 7;
        QCOMPARE(weights.layers[i].value.type, isFine ? TensorType::Q6_K : TensorType::Q4_K);
        QCOMPARE(weights.layers[i].down.type, isFine ? TensorType::Q6_K : TensorType::Q4_K);
        QCOMPARE(weights.layers[i].query.type, TensorType::Q4_K);
        QCOMPARE(weights.layers[i].up.type, TensorType::Q4_K);
    }
    const auto coarse = load(options, Q::Q4_0);
    QCOMPARE(coarse->weights().outputHead.type, TensorType::Q6_K);
    QCOMPARE(coarse->weights().layers[0].down.type, TensorType::Q4_0);
    options.output = TinyOutput::Tied;
    QCOMPARE(load(options, Q::Q4_0)->weights().tokenEmbedding.type, TensorType::Q6_K);
    QCOMPARE(load(options, Q::Q8_0)->weights().tokenEmbedding.type, TensorType::Q8_0);
}

void TestLoadQuantization::bytesAreCounted()
{
    QFETCH(int, stored);
    QFETCH(int, quantization);
    const auto plain = load(wide(TinyType(stored)), Q::AsStored);
    const auto model = load(wide(TinyType(stored)), Q(quantization));
    QVERIFY(plain && model);
    const QuantizationPlan &plan = model->quantized()->plan();
    std::uint64_t storedBytes = 0;
    std::uint64_t bytes = 0;
    for (const MatrixConversion &matrix : plan.matrices) {
        storedBytes += matrix.stored.data.size();
        bytes += matrix.bytes;
    }
    QCOMPARE(plan.storedBytes, storedBytes);
    QCOMPARE(plan.bytes, bytes);
    QCOMPARE(model->weightsBytes(), plain->weightsBytes() - storedBytes + bytes);
    std::uint64_t sum = 0;
    for (const auto &[type, size] : model->typeBytes()) {
        QVERIFY(size > 0);
        sum += size;
    }
    QCOMPARE(sum, model->weightsBytes());
    QCOMPARE(weightsBytesAs(*plain, Q(quantization)), model->weightsBytes());
    QVERIFY(plain->mainType() != model->mainType());
    // Norms are a few values; all else is of the new types or was small already.
    QVERIFY(model->weightsBytes() < plain->weightsBytes());
}

void TestLoadQuantization::smallerTypesStay()
{
    const auto model = load(wide(TinyType::Q4_0), Q::Q8_0);
    QVERIFY(model);
    QVERIFY(!model->quantized());
    QCOMPARE(model->mainType(), std::string("Q4_0"));
    QCOMPARE(model->warnings().size(), std::size_t(1));
    QVERIFY(model->warnings()[0].find("nothing was quantised to Q8_0") != std::string::npos);
}

void TestLoadQuantization::shortRowsFallBack()
{
    TinyModelOptions options;
    options.type = TinyType::F16;
    options.feedForward = 96;
    const auto model = load(options, Q::Q4_K);
    QVERIFY(model);
    const LayerWeights &layer = model->weights().layers[0];
    QCOMPARE(layer.query.type, TensorType::Q5_0);
    QCOMPARE(layer.up.type, TensorType::Q5_0);
    QCOMPARE(model->weights().tokenEmbedding.type, TensorType::Q8_0);
    const auto says = [&](const char *text) {
        return std::any_of(model->warnings().begin(), model->warnings().end(),
                           [text](const std::string &line) { return line.find(text) != std::string::npos; });
    };
    QVERIFY(says("of 64 columns, no whole blocks of Q4_K: Q5_0 instead"));
    // The head, and the last layer's values.
    QVERIFY(says("2 matrices of 64 columns, no whole blocks of Q6_K: Q8_0 instead"));
    QVERIFY(says("1 matrix of 96 columns, no whole blocks of Q6_K: Q8_0 instead"));
}

void TestLoadQuantization::oddRowsBecomeHalves()
{
    TinyModelOptions options;
    options.type = TinyType::F32;
    options.feedForward = 100;
    const auto model = load(options, Q::Q8_0);
    QVERIFY(model);
    QCOMPARE(model->weights().layers[0].down.type, TensorType::F16);
    QCOMPARE(model->weights().layers[0].up.type, TensorType::Q8_0);
    QCOMPARE(model->warnings().size(), std::size_t(1));
    options.type = TinyType::F16;
    const auto half = load(options, Q::Q8_0);
    QCOMPARE(half->weights().layers[0].down.type, TensorType::F16);
    QVERIFY(!half->quantized()->contains(half->weights().layers[0].down.data));
    QVERIFY(half->warnings()[0].find("kept as stored") != std::string::npos);
}

void TestLoadQuantization::expertsAndFusedMatrices_data()
{
    QTest::addColumn<QString>("name");
    for (const TinyArchitecture &model : tinyArchitectures())
        QTest::newRow(model.name.c_str()) << QString::fromStdString(model.name);
}

/// Every architecture, with rows of whole blocks: fused tensors are taken apart, experts come one by one,
/// routers and tables of positions stay.
void TestLoadQuantization::expertsAndFusedMatrices()
{
    QFETCH(QString, name);
    TinyArchitecture tiny = tinyArchitectureNamed(name.toStdString());
    tiny.width = 64;
    tiny.heads = 6;
    tiny.headSize = 32;
    tiny.rotated = std::min(tiny.rotated, 32U);
    tiny.inner = 96;
    tiny.expertInner = tiny.experts > 0 ? 32 : 0;
    const std::vector<std::byte> bytes = tinyArchitecture(tiny, tinyTensors(tiny)).bytes();
    const auto file = GgufFile::parse(bytes, "test");
    QVERIFY(file);
    const auto plain = Model::fromFile(*file);
    ModelLoadOptions options{Q::Q8_0, 1};
    const auto model = Model::fromFile(*file, {}, nullptr, {}, options);
    if (!plain)
        QSKIP("these sizes do not go with this architecture");
    QVERIFY2(model, model ? "" : model.error().text().c_str());
    ModelWeights before = (*plain)->weights();
    ModelWeights after = (*model)->weights();
    const auto from = matricesOf(before);
    const auto to = matricesOf(after);
    for (std::size_t i = 0; i < to.size(); ++i) {
        QCOMPARE(to[i]->type, TensorType::Q8_0);
        QVERIFY(sameBytes(to[i]->data, converted(*from[i], TensorType::Q8_0)));
    }
    for (std::size_t i = 0; i < after.layers.size(); ++i)
        QVERIFY(after.layers[i].router.data.data() == before.layers[i].router.data.data());
    QVERIFY(after.positionEmbedding.data.data() == before.positionEmbedding.data.data());
    // Nothing of the file is brought into memory twice: what is outside is what was not converted.
    std::uint64_t outside = 0;
    std::uint64_t all = 0;
    for (const GgufTensor &tensor : (*file)->tensors()) {
        all += tensor.bytes;
        for (const auto part : (*model)->quantized()->partsOutside(tensor.data))
            outside += part.size();
    }
    QCOMPARE(outside, all - (*model)->quantized()->plan().storedBytes);
}

void TestLoadQuantization::progressCountsTheFile()
{
    const TinyModelOptions options = wide(TinyType::F16);
    const auto path = writeTinyModel(m_folder.path().toStdString(), options);
    const auto plain = load(options, Q::AsStored);
    Progress progress;
    const auto model = Model::load(path, &progress, {}, {Q::Q4_0, 2});
    QVERIFY(model);
    QCOMPARE(progress.total.load(), plain->weightsBytes());
    QCOMPARE(progress.done.load(), plain->weightsBytes());
}

void TestLoadQuantization::isCancelled()
{
    const auto path = writeTinyModel(m_folder.path().toStdString(), wide(TinyType::F16));
    std::stop_source source;
    source.request_stop();
    Progress progress;
    const auto model = Model::load(path, &progress, source.get_token(), {Q::Q4_K, 2});
    QVERIFY(!model);
    QCOMPARE(model.error().code, ErrorCode::Cancelled);
    QCOMPARE(progress.done.load(), std::uint64_t(0));
}

void TestLoadQuantization::aFileThatShrankIsAnError()
{
    TinyModelOptions options = wide(TinyType::F32);
    options.name = "shrinks";
    const auto path = writeTinyModel(m_folder.path().toStdString(), options);
    const auto file = GgufFile::open(path);
    QVERIFY(file);
    std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
    const auto model = Model::fromFile(*file, path, nullptr, {}, {Q::Q8_0, 2});
    QVERIFY(!model);
    QCOMPARE(model.error().code, ErrorCode::IoError);
    QVERIFY(model.error().text().find("shrinks.gguf") != std::string::npos);
}

void TestLoadQuantization::releasedRowsComeBack()
{
    const auto model = load(wide(TinyType::F16), Q::Q8_0);
    QVERIFY(model);
    const auto pool = WorkerPool::create(2);
    const Weight &weight = model->weights().layers[1].up; // 512 × 256 in Q8_0: 34 pages
    const std::vector<std::byte> before(weight.data.begin(), weight.data.end());
    const std::size_t rowBytes = weight.data.size() / 512;
    model->releasePages(weight.data.subspan(0, 256 * rowBytes));
    model->releasePages(weight.data.subspan(256 * rowBytes, 200 * rowBytes));
    QVERIFY(!sameBytes(weight.data, before));
    QVERIFY(sameBytes(weight.data.subspan(456 * rowBytes), std::span(before).subspan(456 * rowBytes)));
    // A part, then the rest.
    QVERIFY(model->restorePages(weight.data.subspan(0, 300 * rowBytes), **pool));
    QVERIFY(sameBytes(weight.data.subspan(0, 300 * rowBytes), std::span(before).subspan(0, 300 * rowBytes)));
    QVERIFY(model->restorePages(weight.data, **pool));
    QVERIFY(sameBytes(weight.data, before));
    // Rows of the file are none of this.
    model->releasePages(model->weights().outputNorm.data);
    QVERIFY(model->restorePages(model->weights().outputNorm.data, **pool));
}

void TestLoadQuantization::holdsKeepRows()
{
    const auto model = load(wide(TinyType::F16), Q::Q4_K);
    QVERIFY(model);
    const auto pool = WorkerPool::create(2);
    const Weight &weight = model->weights().layers[1].gate;
    const std::vector<std::byte> before(weight.data.begin(), weight.data.end());
    model->releasePages(weight.data);
    QVERIFY(!sameBytes(weight.data, before));
    Progress progress;
    auto hold = model->keepInPlace({}, **pool, &progress);
    QVERIFY(hold && *hold);
    QVERIFY(sameBytes(weight.data, before));
    QCOMPARE(progress.done.load(), progress.total.load());
    QVERIFY(progress.total.load() > 0);
    auto second = model->keepInPlace({}, **pool);
    model->releasePages(weight.data);
    QVERIFY(sameBytes(weight.data, before));
    hold->reset();
    QVERIFY(sameBytes(weight.data, before));
    second->reset(); // now nobody reads them
    QVERIFY(!sameBytes(weight.data, before));
    std::stop_source source;
    source.request_stop();
    const auto stopped = model->keepInPlace({}, **pool, nullptr, source.get_token());
    QVERIFY(!stopped);
    QCOMPARE(stopped.error().code, ErrorCode::Cancelled);
    QVERIFY(model->keepInPlace({}, **pool));
    QVERIFY(sameBytes(weight.data, before));
}

/// Who reads some layers keeps those, and the others may go.
void TestLoadQuantization::holdsOfAPart()
{
    const auto model = load(wide(TinyType::F16), Q::Q4_K);
    QVERIFY(model);
    const auto pool = WorkerPool::create(2);
    const Weight &outside = model->weights().layers[0].up;
    const Weight &inside = model->weights().layers[1].up;
    const std::vector<std::byte> first(outside.data.begin(), outside.data.end());
    const std::vector<std::byte> second(inside.data.begin(), inside.data.end());
    model->releasePages(inside.data);
    auto hold = model->keepInPlace(ModelPart::from(1), **pool);
    QVERIFY(hold && *hold);
    QVERIFY(sameBytes(inside.data, second));
    model->releasePages(outside.data);
    model->releasePages(inside.data);
    QVERIFY(!sameBytes(outside.data, first));
    QVERIFY(sameBytes(inside.data, second));
    // The whole beside it: all is there until both are gone.
    auto whole = model->keepInPlace({}, **pool);
    QVERIFY(sameBytes(outside.data, first));
    model->releasePages(outside.data);
    model->releasePages(inside.data);
    hold->reset();
    QVERIFY(sameBytes(outside.data, first) && sameBytes(inside.data, second));
    whole->reset();
    QVERIFY(!sameBytes(outside.data, first) && !sameBytes(inside.data, second));
}

void TestLoadQuantization::planOfALoadedModel()
{
    const TinyModelOptions options = wide(TinyType::F16);
    const auto plain = load(options, Q::AsStored);
    const auto small = load(options, Q::Q4_0);
    QVERIFY(plain && small);
    for (const Q quantization : loadQuantizations()) {
        QCOMPARE(weightsBytesAs(*small, quantization), weightsBytesAs(*plain, quantization));
        QCOMPARE(planQuantization(*small, quantization).matrices.size(),
                 planQuantization(*plain, quantization).matrices.size());
    }
    QCOMPARE(weightsBytesAs(*small, Q::AsStored), plain->weightsBytes());
}

TOKENLOUPE_TEST_MAIN(TestLoadQuantization)
#include "tst_loadquantization.moc"
