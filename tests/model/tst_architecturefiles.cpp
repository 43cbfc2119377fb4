// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/model/malformedinput.h"
#include "tests/model/modelcheck.h"
#include "tests/support/testmain.h"
#include "tests/support/tinyarchitecture.h"

#include <QRegularExpression>

using namespace tokenloupe;
using namespace tokenloupe::test;

Q_DECLARE_METATYPE(tokenloupe::test::TinyArchitecture)

namespace {

std::vector<std::string> tensorNames(std::span<const std::byte> bytes)
{
    std::vector<std::string> names;
    const auto file = GgufFile::parse(bytes, "names.gguf");
    for (const GgufTensor &tensor : (*file)->tensors())
        names.push_back(tensor.name);
    return names;
}

/// What a file may lack: it then counts as a model without.
bool mayBeMissing(const TinyArchitecture &model, const std::string &name)
{
    const bool needsNormBias = model.normBias;
    const bool isNormBias = name.ends_with("norm.bias") || name.ends_with("norm_2.bias");
    if (name == "output.weight" || name == "rope_freqs.weight")
        return true;
    if (model.architecture == "falcon" && name.ends_with("attn_norm_2.weight"))
        return true;
    if (model.architecture == "mpt" && (name.ends_with("_q_norm.weight") || name.ends_with("_k_norm.weight")))
        return true;
    if (!name.ends_with(".bias"))
        return false;
    if (isNormBias)
        return !needsNormBias || model.architecture == "mpt";
    const bool isQkv = name.find("attn_q.") != std::string::npos ||
                       name.find("attn_k.") != std::string::npos || name.find("attn_v.") != std::string::npos;
    if (model.architecture == "qwen2" && isQkv)
        return false;
    return model.architecture != "gpt2" && model.architecture != "bloom";
}

} // namespace

/// Files of every architecture that lack a tensor, or have one of another shape.
class TestArchitectureFiles : public QObject
{
    Q_OBJECT

private slots:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void wholeFilesLoad_data() { addModels(); }
    void wholeFilesLoad();
    void eachTensorIsNeeded_data() { addModels(); }
    void eachTensorIsNeeded();
    void eachShapeIsChecked_data() { addModels(); }
    void eachShapeIsChecked();
    void eachKeyIsChecked_data() { addModels(); }
    void eachKeyIsChecked();

private:
    static void addModels()
    {
        QTest::addColumn<TinyArchitecture>("model");
        for (TinyArchitecture model : tinyArchitectures()) {
            model.layers = 2;
            model.width = 12;
            model.heads = model.kvHeads == model.heads ? 4 : 4;
            model.kvHeads = model.kvHeads > 2 ? 4 : model.kvHeads;
            model.inner = 9;
            model.expertInner = model.experts > 0 ? 9 : 0;
            QTest::newRow(model.name.c_str()) << model;
        }
    }
};

void TestArchitectureFiles::wholeFilesLoad()
{
    QFETCH(TinyArchitecture, model);
    const auto bytes = tinyArchitecture(model, tinyTensors(model)).bytes();
    const ModelCheck check = checkModelBytes(bytes);
    QVERIFY2(check.loaded, check.error ? check.error->text().c_str() : "");
    QVERIFY2(check.broken.empty(), check.broken.c_str());
    QCOMPARE(check.warnings, std::size_t(0)); // no tensor is left over
}

void TestArchitectureFiles::eachTensorIsNeeded()
{
    QFETCH(TinyArchitecture, model);
    const TinyTensors tensors = tinyTensors(model);
    for (const std::string &name : tensorNames(tinyArchitecture(model, tensors).bytes())) {
        const ModelCheck check =
            checkModelBytes(tinyArchitecture(model, tensors).withoutTensor(name).bytes());
        QVERIFY2(check.broken.empty(), check.broken.c_str());
        if (mayBeMissing(model, name)) {
            const bool isLoaded = check.loaded || check.error->code == ErrorCode::Unsupported;
            QVERIFY2(isLoaded, name.c_str());
            continue;
        }
        QVERIFY2(!check.loaded, name.c_str());
        const std::string text = check.error->text();
        QVERIFY2(text.find("is missing") != std::string::npos, text.c_str());
        QVERIFY2(isOneCleanLine(text), text.c_str());
        // One that may also be stored in parts, or in one tensor, goes by the name of the first part.
        const bool hasOtherForm = name.find("attn_qkv") != std::string::npos ||
                                  name.find("_exps") != std::string::npos || model.expertsApart;
        if (!hasOtherForm)
            QVERIFY2(text.find('"' + name + '"') != std::string::npos, text.c_str());
    }
}

void TestArchitectureFiles::eachShapeIsChecked()
{
    QFETCH(TinyArchitecture, model);
    const TinyTensors tensors = tinyTensors(model);
    const auto bytes = tinyArchitecture(model, tensors).bytes();
    const auto file = GgufFile::parse(bytes, "shapes.gguf");
    QVERIFY(file);
    for (const GgufTensor &tensor : (*file)->tensors()) {
        std::vector<std::uint64_t> shape(tensor.shape.begin(), tensor.shape.begin() + tensor.dimensions);
        --shape.back(); // a row, an expert or a value less
        if (shape.back() == 0)
            continue;
        const ModelCheck check =
            checkModelBytes(tinyArchitecture(model, tensors).claimShape(tensor.name, shape).bytes());
        QVERIFY2(!check.loaded && check.broken.empty(), tensor.name.c_str());
        const std::string text = check.error->text();
        QVERIFY2(text.find("tensor \"" + tensor.name + "\": expected") != std::string::npos, text.c_str());
    }
}

void TestArchitectureFiles::eachKeyIsChecked()
{
    QFETCH(TinyArchitecture, model);
    const TinyTensors tensors = tinyTensors(model);
    const auto bytes = tinyArchitecture(model, tensors).bytes();
    const auto file = GgufFile::parse(bytes, "keys.gguf");
    QVERIFY(file);
    for (const std::string &key : (*file)->keyOrder()) {
        if (!key.starts_with(model.architecture + "."))
            continue;
        GgufWriter writer = tinyArchitecture(model, tensors);
        writer.without(key).strings(key, std::vector<std::string>{"not", "a", "number"});
        const ModelCheck check = checkModelBytes(writer.bytes());
        QVERIFY2(!check.loaded && check.broken.empty(), key.c_str());
        QVERIFY2(check.error->text().find(key) != std::string::npos, check.error->text().c_str());
        QVERIFY2(isOneCleanLine(check.error->text()), check.error->text().c_str());
    }
}

TOKENLOUPE_TEST_MAIN(TestArchitectureFiles)
#include "tst_architecturefiles.moc"
