// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/model/allocationcounter.h"
#include "tests/model/malformedinput.h"
#include "tests/model/modelcheck.h"
#include "tests/support/testmain.h"
#include "tests/support/testpaths.h"

#include <QRegularExpression>
#include <functional>

using namespace tokenloupe;
using namespace tokenloupe::test;

using Bytes = std::vector<std::byte>;
Q_DECLARE_METATYPE(Bytes)
Q_DECLARE_METATYPE(std::filesystem::path)

/// Files that are wrong as containers, and the reference set of wrong files.
class TestMalformed : public QObject
{
    Q_OBJECT

private slots:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

    void refuses_data()
    {
        QTest::addColumn<Bytes>("bytes");
        QTest::addColumn<int>("code");
        QTest::addColumn<QString>("says");
        m_bad = int(ErrorCode::BadFile);
        const Bytes good = twoTensors().bytes();
        const int unsupported = int(ErrorCode::Unsupported);
        const auto row = [](const char *name, Bytes bytes, int code, const char *says) {
            QTest::newRow(name) << std::move(bytes) << code << QString::fromUtf8(says);
        };
        const auto header = [](std::string_view magic, std::uint32_t version) {
            return ByteWriter()
                .text(magic)
                .number(version)
                .number(std::uint64_t{0})
                .number(std::uint64_t{0})
                .bytes();
        };
        row("nothing", {}, m_bad, "found only 0 bytes");
        row("three bytes", ByteWriter().text("GGU").bytes(), m_bad, "found only 3 bytes");
        row("magic alone", ByteWriter().text("GGUF").bytes(), m_bad, "ends inside the version");
        row("half a header", Bytes(good.begin(), good.begin() + 20), m_bad, "ends inside the header");
        row("other magic", header("GGUX", 3), m_bad, "\"GGUX\"");
        row("control characters for magic", header("\x1b[2J", 3), m_bad, "\\x1b[2J");
        row("GGML", header("lmgg", 3), unsupported, "old GGML format");
        row("GGMF", header("fmgg", 1), unsupported, "old GGMF format");
        row("GGJT", header("tjgg", 3), unsupported, "old GGJT format");
        row("GGLA", header("algg", 1), unsupported, "old GGLA format");
        row("ZIP", header("PK\x03\x04", 1), unsupported, "ZIP archive");
        row("LFS pointer", ByteWriter().text("version https://git-lfs.github.com/spec/v1\n").bytes(),
            unsupported, "not downloaded");
        row("web page", ByteWriter().text("<!DOCTYPE html><html>").bytes(), unsupported, "web page");
        row("safetensors", ByteWriter().number(std::uint64_t{40}).text("{\"a\":{\"dtype\":").bytes(),
            unsupported, "safetensors");
        row("version 0", header("GGUF", 0), m_bad, "version: expected 2 or 3, found 0");
        row("version 1", header("GGUF", 1), unsupported, "found 1");
        row("version 4", header("GGUF", 4), unsupported, "found 4");
        row("big-endian", header("GGUF", 0x03000000), unsupported, "big-endian");
        row("no model inside", header("GGUF", 3), m_bad, "holds no model");
        addCountRows(row);
        addKeyRows(row);
        addTensorRows(row);
    }

    void refuses()
    {
        QFETCH(Bytes, bytes);
        QFETCH(int, code);
        QFETCH(QString, says);
        ModelCheck check;
        std::size_t allocated = 0;
        {
            const AllocationCounter counter;
            check = checkModelBytes(bytes);
            allocated = counter.total();
        }
        QVERIFY(check.error);
        const QString text = QString::fromStdString(check.error->text());
        QVERIFY2(text.contains(says), qPrintable(text));
        QVERIFY2(text.contains(QStringLiteral("test.gguf")), qPrintable(text));
        QCOMPARE(int(check.error->code), code);
        QVERIFY2(isOneCleanLine(check.error->text()), qPrintable(text));
        QVERIFY2(allocated <= allowedBytes(bytes.size()), qPrintable(QString::number(allocated)));
        QVERIFY2(check.broken.empty(), check.broken.c_str());
    }

    void accepts_data()
    {
        QTest::addColumn<Bytes>("bytes");
        QTest::newRow("two tensors") << twoTensors().bytes();
        QTest::newRow("larger alignment")
            << GgufWriter().alignment(64).tensor("t", {8}, 0, Bytes(32)).bytes();
        QTest::newRow("version 2") << GgufWriter(2).u8("k", 1).bytes();
        QTest::newRow("NUL and bad UTF-8")
            << GgufWriter().string(std::string("a\0\xFF", 3), std::string_view("\0\xC0", 2)).bytes();
        // An array of arrays, three deep.
        ByteWriter nested;
        nested.number(std::uint32_t{9}).number(std::uint64_t{1});
        nested.number(std::uint32_t{9}).number(std::uint64_t{2});
        for (int i = 0; i < 2; ++i)
            nested.number(std::uint32_t{4}).number(std::uint64_t{1}).number(std::uint32_t{7});
        QTest::newRow("nested arrays") << GgufWriter().rawValue("k", 9, nested.bytes()).bytes();
        QTest::newRow("boolean 2") << GgufWriter().rawValue("k", 7, Bytes(1, std::byte{2})).bytes();
    }

    void accepts()
    {
        QFETCH(Bytes, bytes);
        const ModelCheck check = checkModelBytes(bytes);
        QVERIFY2(check.parsed, check.error ? check.error->text().c_str() : "");
        QVERIFY2(check.broken.empty(), check.broken.c_str());
    }

    void referenceFiles_data()
    {
        QTest::addColumn<std::filesystem::path>("path");
        QTest::addColumn<QString>("verdict");
        QTest::addColumn<bool>("model");
        const auto list = sharedPath("malformed/list.json");
        if (!list)
            return;
        const auto files = readJson(*list)["files"];
        for (const auto &entry : files) {
            const auto name = entry["file"].get<std::string>();
            if (!name.starts_with("gguf"))
                continue;
            QTest::newRow(name.c_str())
                << list->parent_path() / name << QString::fromStdString(entry["verdict"].get<std::string>())
                << name.starts_with("gguf_model/");
        }
    }

    void referenceFiles()
    {
        TOKENLOUPE_NEED_SHARED(list, "malformed/list.json");
        QFETCH(std::filesystem::path, path);
        QFETCH(QString, verdict);
        QFETCH(bool, model);
        const Bytes bytes = readBytes(path);
        ModelCheck check;
        std::size_t allocated = 0;
        {
            const AllocationCounter counter;
            check = checkModelBytes(bytes);
            allocated = counter.total();
        }
        QVERIFY2(check.broken.empty(), check.broken.c_str());
        QVERIFY2(allocated <= allowedBytes(bytes.size()), qPrintable(QString::number(allocated)));
        const bool accepted = model ? check.loaded : check.parsed;
        const QByteArray text(check.error ? check.error->text().c_str() : "accepted");
        if (qEnvironmentVariableIsSet("TOKENLOUPE_SHOW_MESSAGES"))
            qInfo("%s", text.constData());
        if (check.error)
            QVERIFY2(isOneCleanLine(check.error->text()), text.constData());
        if (verdict == QStringLiteral("accept"))
            QVERIFY2(accepted, text.constData());
        else if (verdict == QStringLiteral("reject"))
            QVERIFY(!accepted);
        else if (verdict == QStringLiteral("reject or warn"))
            QVERIFY2(!accepted || check.warnings > 0, text.constData());
    }

private:
    using AddRow = std::function<void(const char *, Bytes, int, const char *)>;

    void addCountRows(const AddRow &row)
    {
        row("keys 2^64 - 1", twoTensors().claimKeys(~0ULL).bytes(), m_bad,
            "key count: found 18446744073709551615");
        row("tensors 2^64 - 1", twoTensors().claimTensors(~0ULL).bytes(), m_bad, "tensor count");
        row("a million tensors", twoTensors().claimTensors(1000000).bytes(), m_bad,
            "tensor count: found 1000000");
        row("a key more", twoTensors().claimKeys(2).bytes(), m_bad, "test.gguf");
        row("a tensor more", twoTensors().claimTensors(3).bytes(), m_bad, "test.gguf");
        // Enough bytes for the claim, so that reading begins: memory must still grow only with what is read.
        GgufWriter padded;
        padded.tensor("t", {25000}, 0, Bytes(100000)).claimKeys(7000);
        row("thousands of keys", padded.bytes(), m_bad, "key");
    }

    void addKeyRows(const AddRow &row)
    {
        const auto rawKey = [](std::uint64_t nameLength, std::string_view name, const Bytes &rest) {
            ByteWriter file;
            file.text("GGUF").number(std::uint32_t{3}).number(std::uint64_t{0}).number(std::uint64_t{1});
            return file.number(nameLength).text(name).raw(rest).bytes();
        };
        row("name length 2^64 - 1", rawKey(~0ULL, "name", Bytes(20)), m_bad, "the name of key 1 of 1");
        row("name length 1 GiB", rawKey(1ULL << 30, "name", Bytes(20)), m_bad, "the name of key 1 of 1");
        row("empty name", rawKey(0, "", Bytes(20)), m_bad, "expected a name of 1 to 65535 bytes, found 0");
        row("name of 70 kB", rawKey(70000, std::string(70000, 'k'), Bytes(20)), m_bad, "found 70000");
        row("key twice", GgufWriter().u8("twin", 1).u32("twin", 2).bytes(), m_bad, "\"twin\" is there twice");
        row("hostile name twice", GgufWriter().u8("\x1b]0;\n", 1).u8("\x1b]0;\n", 2).bytes(), m_bad,
            "\"\\x1b]0;\\n\" is there twice");
        row("type 13", GgufWriter().rawValue("k", 13, Bytes(8)).bytes(), m_bad, "from 0 to 12, found 13");
        row("type -1", GgufWriter().rawValue("k", ~0U, Bytes(8)).bytes(), m_bad, "found 4294967295");
        row("half a number", GgufWriter().rawValue("k", 10, Bytes(4)).dataAlignment(1).bytes(), m_bad,
            "ends inside the value of key \"k\"");
        row("string past the end",
            GgufWriter()
                .rawValue("k", 8, ByteWriter().number(std::uint64_t{500}).text("abc").bytes())
                .bytes(),
            m_bad, "ends inside the string of key \"k\"");
        const auto array = [](std::uint32_t type, std::uint64_t count, const Bytes &rest) {
            return GgufWriter()
                .rawValue("k", 9, ByteWriter().number(type).number(count).raw(rest).bytes())
                .dataAlignment(1)
                .bytes();
        };
        row("array that wraps", array(4, (1ULL << 62) + 1, Bytes(4)), m_bad, "4611686018427387905 elements");
        row("array of 2^64 - 1 bytes", array(0, ~0ULL, Bytes(4)), m_bad,
            "ends inside the array of key \"k\"");
        row("array of 2^61 strings", array(8, 1ULL << 61, Bytes(40)), m_bad,
            "ends inside the array of key \"k\"");
        row("array of strings past the end", array(8, 3, Bytes(16)), m_bad,
            "ends inside the array of key \"k\"");
        row("array of type 77", array(77, 1, Bytes(8)), m_bad,
            "expected an element type from 0 to 12, found 77");
        ByteWriter deep;
        for (int depth = 0; depth < 100000; ++depth)
            deep.number(std::uint32_t{9}).number(std::uint64_t{1});
        row("arrays 100000 deep", GgufWriter().rawValue("k", 9, deep.bytes()).bytes(), m_bad,
            "arrays inside arrays");
        row("alignment 0", twoTensors().u32("general.alignment", 0).bytes(), m_bad,
            "a power of two from 8, found 0");
        row("alignment 13", twoTensors().u32("general.alignment", 13).bytes(), m_bad, "found 13");
        row("alignment 4", twoTensors().u32("general.alignment", 4).bytes(), m_bad, "found 4");
        row("alignment 2 GiB", twoTensors().u32("general.alignment", 1U << 31).bytes(), m_bad,
            "ends before the tensor data");
        row("alignment of another type", twoTensors().i32("general.alignment", 32).bytes(), m_bad,
            "expected a u32, found i32");
    }

    void addTensorRows(const AddRow &row)
    {
        const auto shaped = [](std::vector<std::uint64_t> shape) {
            return twoTensors().claimShape("first", std::move(shape)).bytes();
        };
        row("tensor twice", GgufWriter().tensor("t", {1}, 0, Bytes(4)).tensor("t", {1}, 0, Bytes(4)).bytes(),
            m_bad, "tensor \"t\" is there twice");
        row("tensor without a name", GgufWriter().tensor("", {1}, 0, Bytes(4)).bytes(), m_bad,
            "tensor 1 of 1");
        row("5 dimensions", shaped({1, 1, 1, 1, 1}), m_bad, "expected at most 4 dimensions, found 5");
        row("2^32 - 1 dimensions", twoTensors().claimDimensions("first", ~0U).bytes(), m_bad,
            "found 4294967295");
        row("dimension 0", shaped({0}), m_bad, "dimension 1: expected 1 to 2^63 - 1, found 0");
        row("dimension -1", shaped({8, ~0ULL}), m_bad, "dimension 2");
        row("product wraps to 0", shaped({4, 1ULL << 62}), m_bad, "does not fit 63 bits");
        row("product wraps to 1", shaped({(1ULL << 63) - 1, (1ULL << 63) - 1}), m_bad,
            "does not fit 63 bits");
        row("bytes wrap", shaped({1ULL << 62}), m_bad, "its size in bytes does not fit 64 bits");
        row("padding wraps", shaped({(1ULL << 62) - 1}), m_bad, "beyond the end of the file");
        row("type -1", twoTensors().claimType("first", ~0U).bytes(), m_bad,
            "its type id 4294967295 does not exist");
        row("type 36", twoTensors().claimType("first", 36).bytes(), m_bad, "type id 36");
        row("type 4", twoTensors().claimType("first", 4).bytes(), m_bad, "type id 4");
        row("part of a block", twoTensors().claimType("first", 2).bytes(), m_bad,
            "expected rows of whole Q4_0 blocks (32 values), found rows of 8");
        row("unaligned", twoTensors().claimOffset("first", 4).bytes(), m_bad, "a multiple of 32, found 4");
        row("past the end", twoTensors().claimOffset("first", 1U << 20).bytes(), m_bad,
            "beyond the end of the file");
        row("offset wraps", twoTensors().claimOffset("first", ~0ULL - 31).bytes(), m_bad, "beyond the end");
        row("too much data", shaped({1000}), m_bad, "(4000 bytes at offset 0)");
        row("same place", twoTensors().claimOffset("second", 0).bytes(), m_bad, "overlap");
        row("one inside the other", twoTensors().claimShape("first", {16}).bytes(), m_bad, "overlap");
        Bytes cut = twoTensors().bytes();
        cut.resize(cut.size() - 1);
        row("a byte short", cut, m_bad, "tensor \"second\"");
        GgufWriter exact;
        exact.dataAlignment(1).tensor("t", {8}, 0, {});
        row("no data section", exact.bytes(), m_bad, "ends before the tensor data");
    }

    int m_bad = 0;
};

TOKENLOUPE_TEST_MAIN(TestMalformed)
#include "tst_malformed.moc"
