// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/gguffile.h"
#include "tests/support/ggufwriter.h"
#include "tests/support/testmain.h"
#include "tests/support/tinymodel.h"

#include <QRegularExpression>
#include <QTemporaryDir>
#include <limits>

using namespace tokenloupe;
using namespace tokenloupe::test;

namespace {

std::vector<std::byte> counted(std::size_t size)
{
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; ++i)
        bytes[i] = static_cast<std::byte>(i * 7 + 1);
    return bytes;
}

} // namespace

class TestGgufFile : public QObject
{
    Q_OBJECT

private slots:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void readsEveryType_data()
    {
        QTest::addColumn<std::uint32_t>("version");
        QTest::newRow("version 2") << 2U;
        QTest::newRow("version 3") << 3U;
    }

    void readsEveryType()
    {
        QFETCH(std::uint32_t, version);
        const std::vector<std::string> words = {"", "a", std::string("b\0c", 3), "\xFF\xFE"};
        const std::vector<float> floats = {1.5F, -2.0F, std::numeric_limits<float>::infinity()};
        const std::vector<std::int32_t> integers = {-1, 0, 7};
        GgufWriter writer(version);
        writer.u8("u8", 255).i8("i8", -128).u16("u16", 65535).i16("i16", -32768);
        writer.u32("u32", 4294967295U).i32("i32", -2147483647).f32("f32", 0.25F).boolean("yes", true);
        writer.boolean("no", false).u64("u64", ~0ULL).i64("i64", -5).f64("f64", 1e300);
        writer.string("text", std::string_view("z\0\xFF", 3)).strings("words", words);
        writer.floats("floats", floats).integers("integers", integers);
        const auto bytes = writer.bytes();
        const auto file = GgufFile::parse(bytes, "test");
        QVERIFY2(file, file ? "" : file.error().text().c_str());
        const GgufFile &gguf = **file;

        QCOMPARE(gguf.version(), version);
        QCOMPARE(gguf.metadata().size(), std::size_t(16));
        QCOMPARE(gguf.keyOrder().size(), std::size_t(16));
        QCOMPARE(gguf.keyOrder().front(), std::string("u8"));
        QCOMPARE(gguf.keyOrder().back(), std::string("integers"));
        QCOMPARE(*gguf.unsignedValue("u8"), std::uint64_t(255));
        QCOMPARE(std::get<std::int64_t>(gguf.find("i8")->value), std::int64_t(-128));
        QCOMPARE(*gguf.unsignedValue("u16"), std::uint64_t(65535));
        QCOMPARE(std::get<std::int64_t>(gguf.find("i16")->value), std::int64_t(-32768));
        QCOMPARE(*gguf.unsignedValue("u32"), std::uint64_t(4294967295));
        QCOMPARE(std::get<std::int64_t>(gguf.find("i32")->value), std::int64_t(-2147483647));
        QCOMPARE(*gguf.floatValue("f32"), 0.25);
        QCOMPARE(*gguf.boolValue("yes"), true);
        QCOMPARE(*gguf.boolValue("no"), false);
        QCOMPARE(*gguf.unsignedValue("u64"), ~std::uint64_t(0));
        QCOMPARE(*gguf.floatValue("f64"), 1e300);
        QCOMPARE(*gguf.stringValue("text"), std::string_view("z\0\xFF", 3));
        QCOMPARE(*gguf.stringArray("words"), words);
        QCOMPARE(*gguf.floatArray("floats"), floats);
        QCOMPARE(*gguf.integerArray("integers"), (std::vector<std::int64_t>{-1, 0, 7}));
        QVERIFY(!gguf.find("absent"));
        QVERIFY(!gguf.tensor("absent"));
    }

    void namesWhatIsWrongWithAKey_data()
    {
        QTest::addColumn<QString>("key");
        QTest::addColumn<QString>("read");
        QTest::addColumn<QString>("says");
        const auto row = [](const char *name, const char *key, const char *read, const char *says) {
            QTest::newRow(name) << QString::fromLatin1(key) << QString::fromLatin1(read)
                                << QString::fromLatin1(says);
        };
        row("missing", "absent", "unsigned", "key \"absent\" is missing");
        row("string for a number", "text", "unsigned", "expected an integer, found a value of type string");
        row("negative", "minus", "unsigned", "expected a number from 0, found -5");
        row("integer for a float", "minus", "float",
            "expected a floating-point number, found a value of type i64");
        row("string for a boolean", "text", "bool", "expected a boolean");
        row("number for a string", "minus", "string", "expected a string, found a value of type i64");
        row("array for a string", "list", "string", "expected a string, found an array of 2 i32");
        row("string for an array", "text", "strings", "expected an array of strings");
        row("numbers for strings", "list", "strings",
            "expected an array of strings, found an array of 2 i32");
        row("integers for floats", "list", "floats", "expected an array of floating-point numbers");
        row("strings for integers", "words", "integers",
            "expected an array of integers, found an array of 1 string");
    }

    void namesWhatIsWrongWithAKey()
    {
        QFETCH(QString, key);
        QFETCH(QString, read);
        QFETCH(QString, says);
        GgufWriter writer;
        writer.string("text", "x").i64("minus", -5).integers("list", std::vector<std::int32_t>{1, 2});
        writer.strings("words", std::vector<std::string>{"a"});
        const auto bytes = writer.bytes();
        const auto file = GgufFile::parse(bytes, "some.gguf");
        QVERIFY(file);
        const std::string name = key.toStdString();
        Error error;
        const auto note = [&error](const auto &result) {
            QVERIFY(!result);
            error = result.error();
        };
        if (read == QStringLiteral("unsigned"))
            note((*file)->unsignedValue(name));
        else if (read == QStringLiteral("float"))
            note((*file)->floatValue(name));
        else if (read == QStringLiteral("bool"))
            note((*file)->boolValue(name));
        else if (read == QStringLiteral("string"))
            note((*file)->stringValue(name));
        else if (read == QStringLiteral("strings"))
            note((*file)->stringArray(name));
        else if (read == QStringLiteral("floats"))
            note((*file)->floatArray(name));
        else
            note((*file)->integerArray(name));
        const QString text = QString::fromStdString(error.text());
        QCOMPARE(error.code, ErrorCode::BadFile);
        QVERIFY2(text.contains(says), qPrintable(text));
        QVERIFY2(text.contains(QStringLiteral("some.gguf")), qPrintable(text));
        QVERIFY2(text.contains(key), qPrintable(text));
    }

    void everyIntegerTypeOfAnArray()
    {
        const auto check = [](std::uint32_t typeId, auto low, auto high) {
            ByteWriter value;
            value.number(typeId).number(std::uint64_t{2}).number(low).number(high);
            GgufWriter writer;
            writer.rawValue("list", 9, value.bytes());
            const auto bytes = writer.bytes();
            const auto file = GgufFile::parse(bytes, "test");
            QVERIFY(file);
            const std::vector<std::int64_t> expected = {static_cast<std::int64_t>(low),
                                                        static_cast<std::int64_t>(high)};
            QCOMPARE(*(*file)->integerArray("list"), expected);
        };
        check(0, std::uint8_t{0}, std::uint8_t{255});
        check(1, std::int8_t{-128}, std::int8_t{127});
        check(2, std::uint16_t{0}, std::uint16_t{65535});
        check(3, std::int16_t{-32768}, std::int16_t{32767});
        check(4, std::uint32_t{0}, std::uint32_t{4294967295});
        check(5, std::int32_t{-2147483647}, std::int32_t{2147483647});
        check(10, std::uint64_t{0}, std::uint64_t{1} << 62);
        check(11, std::int64_t{-1}, std::numeric_limits<std::int64_t>::max());
    }

    void findsTensors_data()
    {
        QTest::addColumn<std::uint32_t>("alignment");
        for (const std::uint32_t alignment : {8U, 32U, 64U, 4096U})
            QTest::addRow("%u", alignment) << alignment;
    }

    void findsTensors()
    {
        QFETCH(std::uint32_t, alignment);
        GgufWriter writer;
        if (alignment != 32)
            writer.alignment(alignment);
        writer.tensor("vector", {3}, 0, counted(12));
        writer.tensor("matrix", {64, 3}, 3, counted(2 * 3 * 20));
        writer.tensor("four", {2, 3, 4, 5}, 1, counted(240));
        writer.tensor("scalar", {}, 28, counted(8));
        const auto bytes = writer.bytes();
        const auto file = GgufFile::parse(bytes, "test");
        QVERIFY2(file, file ? "" : file.error().text().c_str());
        QCOMPARE((*file)->alignment(), std::uint64_t(alignment));
        QCOMPARE((*file)->dataOffset() % alignment, std::uint64_t(0));
        QCOMPARE((*file)->tensors().size(), std::size_t(4));

        const GgufTensor *matrix = (*file)->tensor("matrix");
        QVERIFY(matrix);
        QCOMPARE(matrix->type, TensorType::Q4_1);
        QCOMPARE(matrix->dimensions, 2U);
        QCOMPARE(matrix->shape, (std::array<std::uint64_t, 4>{64, 3, 1, 1}));
        QCOMPARE(matrix->elements(), std::uint64_t(192));
        QCOMPARE(matrix->bytes, std::uint64_t(120));
        QCOMPARE(matrix->offset % alignment, std::uint64_t(0));
        const auto expected = counted(120);
        QVERIFY(std::equal(matrix->data.begin(), matrix->data.end(), expected.begin(), expected.end()));
        QCOMPARE((*file)->tensor("scalar")->elements(), std::uint64_t(1));
        QCOMPARE((*file)->tensor("four")->bytes, std::uint64_t(240));
    }

    void opensFiles()
    {
        QTemporaryDir folder;
        const auto path = writeTinyModel(folder.path().toStdString());
        const auto file = GgufFile::open(path);
        QVERIFY2(file, file ? "" : file.error().text().c_str());
        QCOMPARE((*file)->name(), std::string("tiny.gguf"));
        QCOMPARE(*(*file)->stringValue("general.architecture"), std::string_view("llama"));
        QVERIFY((*file)->tensor("token_embd.weight"));
        QVERIFY(!GgufFile::open(folder.path().toStdString()));
    }

    void headersOfHugeFilesOpenAtOnce()
    {
        // A sparse file of 100 GiB: opening must not read the data, or this test would not end.
        QTemporaryDir folder;
        GgufWriter writer;
        writer.string("general.architecture", "llama").tensor("huge", {1}, 0, counted(4));
        const std::uint64_t values = (100ULL << 30) / 4;
        writer.claimShape("huge", {values});
        const std::filesystem::path path = folder.path().toStdString() + "/huge.gguf";
        writer.write(path);
        std::error_code error;
        std::filesystem::resize_file(path, (100ULL << 30) + 4096, error);
        if (error)
            QSKIP("this file system has no sparse files of 100 GiB");
        const auto file = GgufFile::open(path);
        QVERIFY2(file, file ? "" : file.error().text().c_str());
        QCOMPARE((*file)->tensor("huge")->bytes, values * 4);
    }
};

TOKENLOUPE_TEST_MAIN(TestGgufFile)
#include "tst_gguffile.moc"
