// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/hf/safetensorsfile.h"
#include "tests/model/allocationcounter.h"
#include "tests/model/malformedinput.h"
#include "tests/support/ggufwriter.h"
#include "tests/support/safetensorswriter.h"
#include "tests/support/testmain.h"
#include "tests/support/testpaths.h"

#include <QRegularExpression>
#include <cstring>

using namespace tokenloupe;
using namespace tokenloupe::test;

using Bytes = std::vector<std::byte>;
Q_DECLARE_METATYPE(Bytes)
Q_DECLARE_METATYPE(std::filesystem::path)

namespace {

const std::vector<float> four = {1.0F, -2.0F, 3.5F, 0.25F};

SafetensorsWriter firstAndSecond()
{
    SafetensorsWriter writer;
    writer.tensor("first", {2, 2}, four).tensor("second", {4}, four, StoreAs::F16);
    return writer;
}

/// The header of firstAndSecond() with something else about the first tensor.
Bytes withFirst(const nlohmann::ordered_json &change)
{
    nlohmann::ordered_json header = firstAndSecond().header();
    header["first"].update(change);
    return firstAndSecond().bytes(header.dump());
}

} // namespace

class TestSafetensorsFile : public QObject
{
    Q_OBJECT

private slots:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void reads()
    {
        SafetensorsWriter writer = firstAndSecond();
        writer.raw("flags", "BOOL", {3}, Bytes(3))
            .raw("none", "I64", {0, 7}, {})
            .raw("one", "F64", {}, Bytes(8));
        const Bytes bytes = writer.bytes(writer.header().dump() + "   ");
        const auto file = SafetensorsFile::parse(bytes, "test");
        QVERIFY2(file, file ? "" : file.error().text().c_str());
        QCOMPARE((*file)->tensors().size(), std::size_t(5));
        QCOMPARE((*file)->metadata().at("format"), std::string("pt"));
        const SafetensorsTensor &first = (*file)->tensors()[0];
        QCOMPARE(first.name, std::string("first"));
        QCOMPARE(first.type->name, std::string_view("F32"));
        QCOMPARE(first.shape, (std::vector<std::uint64_t>{2, 2}));
        QCOMPARE(first.data.size(), std::size_t(16));
        QCOMPARE(std::memcmp(first.data.data(), four.data(), 16), 0);
        QCOMPARE(first.data.data(), bytes.data() + (*file)->dataOffset());
        QVERIFY(!safetensorsType("BOOL")->type);
        QVERIFY(!safetensorsType("F33"));
        QCOMPARE(*safetensorsType("BF16")->type, TensorType::BF16);
    }

    void ignoresFieldsOfOthers()
    {
        const Bytes bytes = withFirst({{"checksum", {{"a", {1, {2.5, nullptr, true, "x"}}}}}, {"note", "y"}});
        const auto file = SafetensorsFile::parse(bytes, "test");
        QVERIFY2(file, file ? "" : file.error().text().c_str());
    }

    void refuses_data()
    {
        QTest::addColumn<Bytes>("bytes");
        QTest::addColumn<QString>("says");
        const auto row = [](const char *name, Bytes bytes, const char *says) {
            QTest::newRow(name) << std::move(bytes) << QString::fromUtf8(says);
        };
        const auto length = [](std::uint64_t header, std::string_view text) {
            return ByteWriter().number(header).text(text).bytes();
        };
        const auto header = [](std::string_view text) { return firstAndSecond().bytes(text); };
        row("nothing", {}, "it has 0 bytes");
        row("seven bytes", Bytes(7), "it has 7 bytes");
        row("no header", length(0, ""), "the header is empty");
        row("a header past the end", length(40, "{}"), "found the length 40");
        row("a huge header", length(std::uint64_t(1) << 63, "{}"), "found the length 9223372036854775808");
        row("more than the format allows", length(100'000'001, "{}"), "found the length 100000001");
        row("a list", length(2, "[]"), "does not begin with a JSON object");
        row("half a JSON", length(8, "{\"a\": {"), "not JSON");
        row("bad UTF-8", length(12, "{\"\xff\xfe\": null}"), "not JSON");
        row("text behind the object", length(4, "{}{}"), "not JSON");
        row("two of a name",
            header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                   R"("a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})"),
            "\"a\" is there twice");
        row("a field twice",
            header(R"({"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})"),
            "\"dtype\" is there twice");
        row("a number for a tensor", header(R"({"a":7})"), "expected an object, found 7");
        row("a list for a tensor", header(R"({"a":[7]})"), "expected an object, found a list");
        row("no type", header(R"({"a":{"shape":[1],"data_offsets":[0,4]}})"), "\"dtype\" is missing");
        row("no shape", header(R"({"a":{"dtype":"F32","data_offsets":[0,4]}})"), "\"shape\" is missing");
        row("no offsets", header(R"({"a":{"dtype":"F32","shape":[1]}})"), "\"data_offsets\" is missing");
        row("another type", withFirst({{"dtype", "F33"}}), "found \"F33\"");
        row("a type that is no text", withFirst({{"dtype", 32}}), "expected a text, found 32");
        row("a negative extent", withFirst({{"shape", {2, -2}}}), "found -2");
        row("a fraction of an extent", withFirst({{"shape", {2, 2.5}}}), "found 2.5");
        row("a shape that is no list", withFirst({{"shape", 4}}), "expected a list, found 4");
        row("a shape in a shape", withFirst({{"shape", {{2}, 2}}}), "found a list");
        row("many dimensions", withFirst({{"shape", std::vector<int>(17, 1)}}), "more than 16 dimensions");
        row("extents that wrap", withFirst({{"shape", {1ULL << 33, 1ULL << 33}}}), "no size in bytes");
        row("extents that wrap to the size", withFirst({{"shape", {1ULL << 62, 4, 4}}}), "no size in bytes");
        row("one offset", withFirst({{"data_offsets", {0}}}), "expected two numbers, found 1");
        row("three offsets", withFirst({{"data_offsets", {0, 16, 24}}}), "expected two numbers, found more");
        row("a negative offset", withFirst({{"data_offsets", {-1, 16}}}), "found -1");
        row("an offset beyond 64 bits",
            header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,18446744073709551620]}})"),
            "found 18446744073709551620");
        row("offsets the wrong way", withFirst({{"data_offsets", {16, 0}}}), "bytes 16 to 0");
        row("data past the end", withFirst({{"data_offsets", {0, 32}}, {"shape", {2, 4}}}), "beyond the end");
        row("another size than the shape's", withFirst({{"shape", {5}}}), "expected 20 bytes");
        row("a size that is no whole bytes", SafetensorsWriter().raw("a", "F4", {3}, Bytes(2)).bytes(),
            "no size in bytes");
        row("an overlap", withFirst({{"data_offsets", {8, 24}}}), "overlaps");
        row("a hole", header(R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[8,24]}})"), "behind a hole");
        row("data of nobody", header(R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})"),
            "the file has 24 bytes of data, its tensors only 16");
        row("metadata that is no object", header(R"({"__metadata__":[]})"), "expected an object");
        row("metadata that is no text", header(R"({"__metadata__":{"a":1}})"), "expected a text, found 1");
        row("metadata twice", header(R"({"__metadata__":{},"__metadata__":{}})"), "twice");
        std::string deep(100000, '[');
        row("deep nesting", header(R"({"a":{"x":)" + deep), "nested too deep");
        row("deep nesting of objects",
            header(R"({"a":{"x":)" +
                   [] {
                       std::string text;
                       for (int i = 0; i < 1000; ++i)
                           text += "{\"a\":";
                       return text;
                   }()),
            "nested too deep");
    }

    void refuses()
    {
        QFETCH(Bytes, bytes);
        QFETCH(QString, says);
        const AllocationCounter counter;
        const auto file = SafetensorsFile::parse(bytes, "test");
        QVERIFY(counter.total() < allowedBytes(bytes.size()));
        QVERIFY(!file);
        const std::string text = file.error().text();
        QVERIFY2(isOneCleanLine(text), text.c_str());
        QVERIFY2(QString::fromStdString(text).contains(says), text.c_str());
        QCOMPARE(file.error().code, ErrorCode::BadFile);
    }

    /// Each byte of the header as something else, and each length: an answer, and no harm.
    void survivesEveryChange()
    {
        const Bytes good = firstAndSecond().bytes();
        for (std::size_t size = 0; size < good.size(); ++size) {
            const Bytes shorter(good.begin(), good.begin() + std::ptrdiff_t(size));
            QVERIFY(!SafetensorsFile::parse(shorter, "shorter"));
        }
        for (std::size_t place = 0; place + 24 < good.size(); ++place) {
            for (const int value :
                 std::initializer_list<int>{0, 1, '"', '[', '{', '}', ',', '9', '-', 0x80, 0xff}) {
                Bytes changed = good;
                changed[place] = std::byte(value);
                const auto file = SafetensorsFile::parse(changed, "changed");
                if (!file) {
                    QVERIFY(isOneCleanLine(file.error().text()));
                    continue;
                }
                for (const SafetensorsTensor &tensor : (*file)->tensors())
                    QVERIFY(tensor.data.empty() ||
                            (tensor.data.data() >= changed.data() &&
                             tensor.data.data() + tensor.data.size() <= changed.data() + changed.size()));
            }
        }
    }

    void referenceFiles_data()
    {
        QTest::addColumn<std::filesystem::path>("path");
        QTest::addColumn<QString>("verdict");
        const auto folder = sharedPath("malformed");
        if (!folder) {
            QTest::newRow("none") << std::filesystem::path() << QString();
            return;
        }
        const nlohmann::json list = readJson(*folder / "list.json");
        for (const nlohmann::json &entry : list["files"]) {
            const auto file = entry["file"].get<std::string>();
            if (file.starts_with("safetensors/"))
                QTest::newRow(file.c_str())
                    << *folder / file << QString::fromStdString(entry["verdict"].get<std::string>());
        }
    }

    void referenceFiles()
    {
        QFETCH(std::filesystem::path, path);
        QFETCH(QString, verdict);
        TOKENLOUPE_NEED_SHARED(folder, "malformed");
        const auto file = SafetensorsFile::open(path);
        if (verdict == QLatin1String("accept"))
            QVERIFY2(file, file ? "" : file.error().text().c_str());
        if (verdict == QLatin1String("reject"))
            QVERIFY(!file);
        if (!file)
            QVERIFY2(isOneCleanLine(file.error().text()), file.error().text().c_str());
    }
};

TOKENLOUPE_TEST_MAIN(TestSafetensorsFile)
#include "tst_safetensorsfile.moc"
