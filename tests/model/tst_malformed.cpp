// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/model/allocationcounter.h"
#include "tests/model/modelcheck.h"
#include "tests/support/ggufwriter.h"
#include "tests/support/testmain.h"
#include "tests/support/testpaths.h"
#include "tests/support/tinymodel.h"

#include <QRegularExpression>
#include <algorithm>
#include <cctype>
#include <functional>
#include <random>

using namespace tokenloupe;
using namespace tokenloupe::test;

using Bytes = std::vector<std::byte>;
Q_DECLARE_METATYPE(Bytes)
Q_DECLARE_METATYPE(std::filesystem::path)

namespace {

/// Everything that reading a model may ask for, as a multiple of the file: strings and map nodes are larger
/// than what they come from, by a bounded factor. A number that the file merely claims goes far beyond.
std::size_t allowedBytes(std::size_t fileBytes)
{
    return 80 * fileBytes + 65536;
}

TinyModelOptions smallModel()
{
    TinyModelOptions options;
    options.layers = 1;
    options.embedding = 8;
    options.heads = 2;
    options.kvHeads = 1;
    options.feedForward = 12;
    options.bias = TinyBias::Attention;
    options.chatTemplate = "{{ messages }}";
    options.ropeFrequencyFactors = {1.0F, 2.0F};
    return options;
}

GgufWriter twoTensors()
{
    GgufWriter writer;
    writer.string("general.architecture", "llama");
    writer.tensor("first", {8}, 0, Bytes(32, std::byte{1})).tensor("second", {8}, 0, Bytes(32, std::byte{2}));
    return writer;
}

bool isOneCleanLine(const std::string &text)
{
    return std::none_of(text.begin(), text.end(),
                        [](char c) { return std::iscntrl(static_cast<unsigned char>(c)); }) &&
           text.size() < 1000;
}

} // namespace

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

    void faultsOfAModel_data();
    void faultsOfAModel();

    void everyTruncation_data() { controls(); }

    void everyTruncation()
    {
        QFETCH(Bytes, bytes);
        QFETCH(int, header);
        for (std::size_t size = 0; size < bytes.size();
             size += size < std::size_t(header) + 64 ? 1 : 1 + bytes.size() / 500) {
            // A copy of its own, so that a sanitizer sees reads beyond it.
            const Bytes cut(bytes.begin(), bytes.begin() + std::ptrdiff_t(size));
            const AllocationCounter counter;
            const ModelCheck check = checkModelBytes(cut);
            QVERIFY2(counter.total() <= allowedBytes(bytes.size()), qPrintable(QString::number(size)));
            QVERIFY2(check.broken.empty(), check.broken.c_str());
            QVERIFY2(!check.loaded, qPrintable(QString::number(size)));
        }
    }

    void changedBytes_data() { controls(); }

    void changedBytes()
    {
        QFETCH(Bytes, bytes);
        QFETCH(int, header);
        std::mt19937 random(20240605);
        Bytes changed = bytes;
        int refused = 0;
        constexpr int rounds = 1500;
        for (int round = 0; round < rounds; ++round) {
            // Mostly the header, where structure is; some in the data, where any value is fine.
            const std::size_t place = random() % (round % 8 == 0 ? bytes.size() : std::size_t(header));
            const std::byte before = changed[place];
            constexpr std::array<unsigned, 6> favourites = {0x00, 0x01, 0x7F, 0x80, 0xFE, 0xFF};
            changed[place] = static_cast<std::byte>(round % 3 == 0 ? random() : favourites[random() % 6]);
            const AllocationCounter counter;
            const ModelCheck check = checkModelBytes(changed);
            const QString where = QStringLiteral("byte %1 = %2").arg(place).arg(int(changed[place]));
            QVERIFY2(counter.total() <= allowedBytes(bytes.size()), qPrintable(where));
            QVERIFY2(check.broken.empty(), qPrintable(where + QString::fromStdString(check.broken)));
            if (check.error) {
                QVERIFY2(isOneCleanLine(check.error->text()), check.error->text().c_str());
                ++refused;
            }
            changed[place] = before;
        }
        QVERIFY(refused > rounds / 20);
        QVERIFY(changed == bytes);
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

    void controls()
    {
        QTest::addColumn<Bytes>("bytes");
        QTest::addColumn<int>("header");
        const auto row = [](const char *name, Bytes bytes) {
            const auto file = GgufFile::parse(bytes, name);
            const int header = int(file ? (*file)->dataOffset() : bytes.size());
            QTest::newRow(name) << std::move(bytes) << header;
        };
        GgufWriter types(2);
        types.u8("a", 1).i8("b", 1).u16("c", 1).i16("d", 1).u32("e", 1).i32("f", 1).f32("g", 1).boolean("h",
                                                                                                        true);
        types.u64("i", 1).i64("j", 1).f64("k", 1).string("l", "text");
        types.strings("m", std::vector<std::string>{"x", "yz"}).floats("n", std::vector<float>{1, 2});
        types.tensor("o", {2, 3}, 1, Bytes(12)).tensor("p", {32}, 8, Bytes(34));
        row("own: every type", types.bytes());
        row("own: two tensors", twoTensors().bytes());
        row("own: tiny model", tinyModelBytes(smallModel()));
        for (const char *name : {"gguf/ok_minimal.gguf", "gguf/ok_all_value_types.gguf",
                                 "gguf_model/ok_tiny_random_llama.gguf"}) {
            if (const auto path = sharedPath(std::string("malformed/") + name))
                row(name, readBytes(*path));
        }
    }

    int m_bad = 0;
};

using Change = std::function<void(GgufWriter &)>;
Q_DECLARE_METATYPE(Change)

void TestMalformed::faultsOfAModel_data()
{
    QTest::addColumn<Change>("change");
    QTest::addColumn<int>("code");
    QTest::addColumn<QString>("says");
    const auto row = [](const char *name, ErrorCode code, const char *says, Change change) {
        QTest::newRow(name) << std::move(change) << int(code) << QString::fromUtf8(says);
    };
    const auto number = [](const char *key, std::uint32_t value) {
        return [key, value](GgufWriter &w) { w.without(key).u32(key, value); };
    };
    const auto missing = [](const char *key) { return [key](GgufWriter &w) { w.without(key); }; };
    const auto lost = [](const char *name) { return [name](GgufWriter &w) { w.withoutTensor(name); }; };
    const auto shape = [](const char *name, std::vector<std::uint64_t> extents) {
        return [name, extents](GgufWriter &w) { w.claimShape(name, extents); };
    };
    constexpr auto bad = ErrorCode::BadFile;
    constexpr auto unsupported = ErrorCode::Unsupported;

    row("no architecture", bad, "key \"general.architecture\" is missing", missing("general.architecture"));
    row("other architecture", unsupported, "\"gemma9\\x00\" is not one that this program runs (llama)",
        [](GgufWriter &w) {
            w.without("general.architecture").string("general.architecture", std::string_view("gemma9\0", 7));
        });
    row("architecture is a number", bad, "expected a string",
        [](GgufWriter &w) { w.without("general.architecture").u32("general.architecture", 7); });
    for (const char *key : {"block_count", "embedding_length", "context_length", "feed_forward_length",
                            "attention.head_count"}) {
        const std::string full = std::string("llama.") + key;
        const std::string none = "key \"" + full + "\" is missing";
        const std::string zero = "key \"" + full + "\": expected 1 to";
        row(("missing " + full).c_str(), bad, none.c_str(), [full](GgufWriter &w) { w.without(full); });
        row(("zero " + full).c_str(), bad, zero.c_str(),
            [full](GgufWriter &w) { w.without(full).u32(full, 0); });
        row(("huge " + full).c_str(), bad, "expected 1 to",
            [full](GgufWriter &w) { w.without(full).u64(full, ~0ULL); });
        row(("negative " + full).c_str(), bad, "expected a number from 0, found -1",
            [full](GgufWriter &w) { w.without(full).i32(full, -1); });
        row(("text " + full).c_str(), bad, "expected an integer, found a value of type string",
            [full](GgufWriter &w) { w.without(full).string(full, "8"); });
    }
    row("no epsilon", bad, "layer_norm_rms_epsilon\" is missing",
        missing("llama.attention.layer_norm_rms_epsilon"));
    row("epsilon is not a number", bad, "expected a finite number", [](GgufWriter &w) {
        w.without("llama.attention.layer_norm_rms_epsilon")
            .f32("llama.attention.layer_norm_rms_epsilon", NAN);
    });
    row("4e9 layers", bad, "found 4000000000 layers", number("llama.block_count", 4000000000U));
    row("513 layers", bad, "found 513 layers", number("llama.block_count", 513));
    row("a layer more", bad, "tensor \"blk.1.attn_norm.weight\" is missing", number("llama.block_count", 2));
    row("3 heads of width 8", bad, "expected a divisor of the width 8, found 3",
        number("llama.attention.head_count", 3));
    row("KV heads do not divide", bad, "expected a divisor of the 2 heads, found 3",
        number("llama.attention.head_count_kv", 3));
    row("KV heads 0", bad, "head_count_kv\": expected 1 to", number("llama.attention.head_count_kv", 0));
    row("KV heads for 3 layers", bad, "expected one number for each layer (1), found 3", [](GgufWriter &w) {
        w.without("llama.attention.head_count_kv")
            .integers("llama.attention.head_count_kv", std::vector<std::int32_t>{1, 1, 1});
    });
    row("negative KV heads of a layer", bad, "head_count_kv\": expected 1 to", [](GgufWriter &w) {
        w.without("llama.attention.head_count_kv")
            .integers("llama.attention.head_count_kv", std::vector<std::int32_t>{-1});
    });
    row("odd rotation", bad, "expected an even number", number("llama.rope.dimension_count", 3));
    row("rotation beyond the head", bad, "up to the head size 4, found 6",
        number("llama.rope.dimension_count", 6));
    row("rotation base 0", bad, "rope.freq_base\": expected a number above 0",
        [](GgufWriter &w) { w.without("llama.rope.freq_base").f32("llama.rope.freq_base", 0.0F); });
    row("scaling factor below the smallest float", bad, "rope.scaling.factor\": expected a number above 0",
        [](GgufWriter &w) { w.f64("llama.rope.scaling.factor", 1e-300); });
    row("YaRN", unsupported, "expected none or linear, found \"yarn\"",
        [](GgufWriter &w) { w.string("llama.rope.scaling.type", "yarn"); });
    row("experts", unsupported, "models with experts (8) are not supported",
        [](GgufWriter &w) { w.u32("llama.expert_count", 8); });
    row("split", unsupported, "split into 3 files", [](GgufWriter &w) { w.u16("split.count", 3); });

    row("no tokens", bad, "key \"tokenizer.ggml.tokens\" is missing", missing("tokenizer.ggml.tokens"));
    row("tokens are numbers", bad, "expected an array of strings", [](GgufWriter &w) {
        w.without("tokenizer.ggml.tokens").integers("tokenizer.ggml.tokens", std::vector<std::int32_t>{1, 2});
    });
    row("an empty list of tokens", bad, "expected at least one token", [](GgufWriter &w) {
        w.without("tokenizer.ggml.tokens").strings("tokenizer.ggml.tokens", std::vector<std::string>());
    });
    row("no kind of tokenizer", bad, "key \"tokenizer.ggml.model\" is missing",
        missing("tokenizer.ggml.model"));
    row("fewer rows than tokens", bad,
        "tensor \"token_embd.weight\": expected 384 × 8 (rows × columns), found 300 × 8",
        shape("token_embd.weight", {8, 300}));

    row("no embedding", bad, "tensor \"token_embd.weight\" is missing", lost("token_embd.weight"));
    row("no last norm", bad, "tensor \"output_norm.weight\" is missing", lost("output_norm.weight"));
    row("no down projection", bad, "tensor \"blk.0.ffn_down.weight\" is missing",
        lost("blk.0.ffn_down.weight"));
    row("transposed", bad, "expected 8 × 12 (rows × columns), found 12 × 8",
        shape("blk.0.ffn_down.weight", {8, 12}));
    row("short norm", bad, "tensor \"blk.0.attn_norm.weight\": expected 1 × 8",
        shape("blk.0.attn_norm.weight", {4}));
    row("short bias", bad, "tensor \"blk.0.attn_q.bias\": expected 1 × 8", shape("blk.0.attn_q.bias", {4}));
    row("third dimension", bad, "found 2 × 4 × 2 × 1", shape("blk.0.attn_k.weight", {4, 2, 2}));
    row("norm of halves", unsupported, "expected the type F32, found F16",
        [](GgufWriter &w) { w.claimType("blk.0.attn_norm.weight", 1); });
    row("matrix of integers", unsupported, "has the type I8; supported are F32, F16, Q4_0",
        [](GgufWriter &w) { w.claimType("blk.0.ffn_up.weight", 24); });
    row("frequency factor 0", bad, "tensor \"rope_freqs.weight\": expected numbers above 0, found 0",
        [](GgufWriter &w) {
            w.withoutTensor("rope_freqs.weight");
            w.tensor("rope_freqs.weight", {2}, 0, Bytes(8));
        });
    row("a bias that nobody adds", unsupported, "tensor \"blk.0.ffn_up.bias\" is no part of a llama block",
        [](GgufWriter &w) { w.tensor("blk.0.ffn_up.bias", {12}, 0, Bytes(48)); });
}

void TestMalformed::faultsOfAModel()
{
    QFETCH(Change, change);
    QFETCH(int, code);
    QFETCH(QString, says);
    QVERIFY(checkModelBytes(tinyModelBytes(smallModel())).loaded);
    GgufWriter writer = tinyModel(smallModel());
    change(writer);
    const Bytes bytes = writer.bytes();
    ModelCheck check;
    std::size_t allocated = 0;
    {
        const AllocationCounter counter;
        check = checkModelBytes(bytes);
        allocated = counter.total();
    }
    QVERIFY(!check.loaded);
    const QString text = QString::fromStdString(check.error->text());
    QVERIFY2(check.parsed, qPrintable(text));
    QVERIFY2(text.contains(says), qPrintable(text));
    QVERIFY2(text.contains(QStringLiteral("test.gguf")), qPrintable(text));
    QCOMPARE(int(check.error->code), code);
    QVERIFY2(isOneCleanLine(check.error->text()), qPrintable(text));
    QVERIFY2(allocated <= allowedBytes(bytes.size()), qPrintable(QString::number(allocated)));
}

TOKENLOUPE_TEST_MAIN(TestMalformed)
#include "tst_malformed.moc"
