// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/estimate/modelshape.h"
#include "engine/estimate/weighttypes.h"
#include "tests/support/testmain.h"
#include "tests/support/testpaths.h"

#include <QRegularExpression>
#include <fstream>

using namespace tokenloupe;
using namespace tokenloupe::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

/// Values of all tensors in a safetensors file: 8 bytes of length, then the header as JSON.
std::uint64_t storedParameters(const fs::path &path)
{
    std::ifstream stream(path, std::ios::binary);
    std::uint64_t length = 0;
    stream.read(reinterpret_cast<char *>(&length), sizeof length);
    std::string text(length, '\0');
    stream.read(text.data(), static_cast<std::streamsize>(length));
    std::uint64_t sum = 0;
    const json header = json::parse(text);
    for (const auto &[name, tensor] : header.items()) {
        if (name == "__metadata__")
            continue;
        std::uint64_t values = 1;
        for (const json &size : tensor["shape"])
            values *= size.get<std::uint64_t>();
        sum += values;
    }
    return sum;
}

std::uint64_t storedParameters(const GgufFile &file)
{
    std::uint64_t sum = 0;
    for (const GgufTensor &tensor : file.tensors())
        sum += tensor.elements();
    return sum;
}

std::string textOf(const Result<ModelShape> &shape)
{
    return shape ? std::string() : shape.error().text();
}

} // namespace

/// Shapes of real files against what the files hold.
class TestShapeFiles : public QObject
{
    Q_OBJECT

private slots:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void countsConfigs_data()
    {
        TOKENLOUPE_NEED_SHARED(folder, "models/tiny_hf");
        QTest::addColumn<QString>("path");
        for (const auto &entry : fs::directory_iterator(folder))
            QTest::addRow("%s", entry.path().filename().c_str())
                << QString::fromStdString(entry.path().string());
    }
    void countsConfigs()
    {
        QFETCH(QString, path);
        const fs::path folder = path.toStdString();
        const auto shape = readModelShape(folder);
        QVERIFY2(shape, textOf(shape).c_str());
        QCOMPARE(shape->parameters(), storedParameters(folder / "model.safetensors"));
        QCOMPARE(shape->name, folder.filename().string());
        QCOMPARE(shape->source, std::string("config.json"));
    }

    void agreesWithGguf_data()
    {
        TOKENLOUPE_NEED_SHARED(folder, "models/tiny_gguf");
        QTest::addColumn<QString>("path");
        for (const auto &entry : fs::directory_iterator(folder)) {
            if (entry.path().extension() == ".gguf")
                QTest::addRow("%s", entry.path().stem().c_str())
                    << QString::fromStdString(entry.path().string());
        }
    }
    /// The same model as a GGUF file and as a config: one shape.
    void agreesWithGguf()
    {
        QFETCH(QString, path);
        const fs::path gguf = path.toStdString();
        const auto file = GgufFile::open(gguf);
        QVERIFY(file);
        const auto shape = readModelShape(gguf);
        QVERIFY2(shape, textOf(shape).c_str());
        QCOMPARE(shape->parameters(), storedParameters(**file));
        const auto config = readModelShape(gguf.parent_path().parent_path() / "tiny_hf" / gguf.stem());
        QVERIFY2(config, textOf(config).c_str());
        QCOMPARE(shape->architecture, config->architecture);
        QCOMPARE(shape->layers, config->layers);
        QCOMPARE(shape->embedding, config->embedding);
        QCOMPARE(shape->heads, config->heads);
        QCOMPARE(shape->headSize, config->headSize);
        QCOMPARE(shape->vocabulary, config->vocabulary);
        QCOMPARE(shape->experts, config->experts);
        QCOMPARE(shape->expertsUsed, config->expertsUsed);
        QCOMPARE(shape->kvLayers.size(), config->kvLayers.size());
        for (std::size_t layer = 0; layer < shape->kvLayers.size(); ++layer)
            QCOMPARE(shape->kvLayers[layer], config->kvLayers[layer]);
        if (gguf.stem() == "gpt2")
            return; // written from a model with a wider feed-forward than the folder's
        const double ratio = shape->activeParameters() / config->activeParameters();
        QVERIFY2(std::abs(ratio - 1.0) < 0.01, std::to_string(ratio).c_str());
        std::map<std::string, std::uint64_t> roles;
        for (const ShapeTensor &tensor : config->tensors)
            roles[tensor.role] += tensor.values();
        for (const ShapeTensor &tensor : shape->tensors) {
            if (tensor.role != "rope_freqs" && tensor.role != "rope_factors_long" &&
                tensor.role != "rope_factors_short")
                QVERIFY2(roles[tensor.role] == tensor.values(), tensor.role.c_str());
        }
    }
};

TOKENLOUPE_TEST_MAIN(TestShapeFiles)
#include "tst_shapefiles.moc"
