// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/ggufcontainer.h"
#include "engine/model/model.h"
#include "tests/support/ggufwriter.h"
#include "tests/support/testmain.h"
#include "tests/support/tinymodel.h"

#include <QRegularExpression>
#include <QTemporaryDir>
#include <cstring>

using namespace tokenloupe;
using namespace tokenloupe::test;

namespace {

constexpr std::uint16_t parts = 3;

std::string partName(std::size_t number)
{
    return "tiny-0000" + std::to_string(number + 1) + "-of-00003.gguf";
}

} // namespace

/// One model in three files.
class TestSplitGguf : public QObject
{
    Q_OBJECT

private slots:
    void init();
    void opensFromAnyPart();
    void runsFromItsParts();
    void refuses_data();
    void refuses();

private:
    std::filesystem::path at() const { return m_directory->path().toStdString(); }
    std::vector<GgufWriter> split() const;
    void write(const std::vector<GgufWriter> &files) const
    {
        for (std::size_t i = 0; i < files.size(); ++i)
            files[i].write(at() / partName(i));
    }

    std::unique_ptr<QTemporaryDir> m_directory;
};

void TestSplitGguf::init()
{
    QTest::failOnWarning(QRegularExpression(QStringLiteral(".")));
    m_directory = std::make_unique<QTemporaryDir>();
}

/// The keys in the first, the tensors one by one in turn.
std::vector<GgufWriter> TestSplitGguf::split() const
{
    const std::vector<std::byte> bytes = tinyModelBytes();
    const auto whole = *GgufFile::parse(bytes, "whole");
    std::vector<GgufWriter> files(parts);
    files[0] = tinyModel();
    for (const GgufTensor &tensor : whole->tensors())
        files[0].withoutTensor(tensor.name);
    std::size_t next = 0;
    for (const GgufTensor &tensor : whole->tensors()) {
        const std::vector<std::uint64_t> shape(tensor.shape.begin(),
                                               tensor.shape.begin() + tensor.dimensions);
        files[next++ % parts].tensor(tensor.name, shape, std::uint32_t(tensor.type), tensor.data);
    }
    for (std::uint16_t i = 0; i < parts; ++i)
        files[i]
            .u16("split.no", i)
            .u16("split.count", parts)
            .i32("split.tensors.count", std::int32_t(whole->tensors().size()));
    return files;
}

void TestSplitGguf::opensFromAnyPart()
{
    write(split());
    const std::vector<std::byte> bytes = tinyModelBytes();
    const auto whole = *GgufFile::parse(bytes, "whole");
    for (std::size_t i = 0; i < parts; ++i) {
        const auto file = GgufFile::openWhole(at() / partName(i));
        QVERIFY2(file, file ? "" : file.error().text().c_str());
        QCOMPARE((*file)->partNames().size(), std::size_t(parts));
        QCOMPARE((*file)->tensors().size(), whole->tensors().size());
        for (const GgufTensor &tensor : whole->tensors()) {
            const GgufTensor *found = (*file)->tensor(tensor.name);
            QVERIFY(found);
            QCOMPARE(found->bytes, tensor.bytes);
            QCOMPARE(std::memcmp(found->data.data(), tensor.data.data(), tensor.bytes), 0);
            // Where the list says that it lies, it lies.
            const auto stored = readBytes(at() / (*file)->partNames()[found->part]);
            QCOMPARE(std::memcmp(stored.data() + found->position, tensor.data.data(), tensor.bytes), 0);
        }
    }
}

void TestSplitGguf::runsFromItsParts()
{
    write(split());
    const auto model = Model::load(at() / partName(1));
    QVERIFY2(model, model ? "" : model.error().text().c_str());
    QVERIFY((*model)->warnings().empty());
    QCOMPARE((*model)->container().tensors()[1].file, std::string_view("tiny-00001-of-00003.gguf"));
    const auto bytes = tinyModelBytes();
    QCOMPARE((*model)->weightsBytes(), (*Model::fromFile(*GgufFile::parse(bytes, "whole")))->weightsBytes());
    (*model)->releasePages((*model)->weights().outputNorm.data);
    // One part alone is no model.
    const auto alone = Model::fromFile(*GgufFile::open(at() / partName(0)));
    QVERIFY(!alone);
    QCOMPARE(alone.error().code, ErrorCode::Unsupported);
}

void TestSplitGguf::refuses_data()
{
    QTest::addColumn<int>("which");
    QTest::addColumn<QString>("says");
    const char *const cases[][2] = {
        {"a missing part", "tiny-00002-of-00003.gguf"},
        {"a part of another count", "read tiny-00002-of-00003.gguf: key \"split.count\": expected 3"},
        {"a part with another number", "read tiny-00002-of-00003.gguf: key \"split.no\": expected 1"},
        {"a part without a number", "read tiny-00003-of-00003.gguf: key \"split.no\" is missing"},
        {"a number beyond the count", "key \"split.no\": expected a part below 3, found 7"},
        {"a tensor in two parts", "is in another part too"},
        {"another number of tensors", "read tiny-00003-of-00003.gguf: key \"split.tensors.count\""},
        {"another name", "a file name is expected that ends in -00001-of-00003.gguf"},
        {"a count that is no number", "key \"split.count\": expected an integer"},
        {"a count beyond all files", "key \"split.count\""},
        {"a broken part", "tiny-00002-of-00003.gguf"},
    };
    int which = 0;
    for (const auto &[name, says] : cases)
        QTest::newRow(name) << which++ << QString::fromUtf8(says);
}

void TestSplitGguf::refuses()
{
    QFETCH(int, which);
    QFETCH(QString, says);
    std::vector<GgufWriter> files = split();
    const auto replace = [&](std::size_t file, const char *key, std::uint32_t value) {
        files[file].without(key).u32(key, value);
    };
    std::filesystem::path given = at() / partName(0);
    if (which == 1)
        replace(1, "split.count", 4);
    if (which == 2)
        replace(1, "split.no", 2);
    if (which == 3)
        files[2].without("split.no");
    if (which == 4)
        replace(0, "split.no", 7);
    if (which == 5) {
        const auto bytes = tinyModelBytes();
        const std::string first = (*GgufFile::parse(bytes, "whole"))->tensors()[0].name;
        files[1].tensor(first, {2}, 0, std::vector<std::byte>(8));
    }
    if (which == 6)
        replace(2, "split.tensors.count", 5);
    if (which == 8)
        files[0].without("split.count").string("split.count", "3");
    if (which == 9)
        replace(0, "split.count", 4'000'000'000U);
    write(files);
    if (which == 0)
        std::filesystem::remove(at() / partName(1));
    if (which == 7) {
        std::filesystem::rename(given, at() / "other.gguf");
        given = at() / "other.gguf";
    }
    if (which == 10)
        writeBytes(at() / partName(1), ByteWriter().text("GGUF").bytes());
    const auto file = GgufFile::openWhole(given);
    QVERIFY(!file);
    QVERIFY2(QString::fromStdString(file.error().text()).contains(says), file.error().text().c_str());
    QVERIFY(!Model::load(given));
}

TOKENLOUPE_TEST_MAIN(TestSplitGguf)
#include "tst_splitgguf.moc"
