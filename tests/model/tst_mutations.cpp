// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/model/allocationcounter.h"
#include "tests/model/malformedinput.h"
#include "tests/model/modelcheck.h"
#include "tests/support/testmain.h"
#include "tests/support/testpaths.h"
#include "tests/support/tinyarchitecture.h"

#include <QRegularExpression>
#include <random>

using namespace tokenloupe;
using namespace tokenloupe::test;

using Bytes = std::vector<std::byte>;
Q_DECLARE_METATYPE(Bytes)

/// Valid files cut short and changed: nothing may crash, hang, take memory by a false number or break a
/// promise.
class TestMutations : public QObject
{
    Q_OBJECT

private slots:
    void init() { QTest::failOnWarning(QRegularExpression(QStringLiteral("."))); }

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
        for (const char *name : {"qwen3moe", "gemma3", "phi3 longrope, long", "bloom"}) {
            TinyArchitecture model = tinyArchitectureNamed(name);
            model.layers = 1;
            model.width = 6;
            model.inner = 5;
            row(name, tinyArchitecture(model, tinyTensors(model)).bytes());
        }
        for (const char *name : {"gguf/ok_minimal.gguf", "gguf/ok_all_value_types.gguf",
                                 "gguf_model/ok_tiny_random_llama.gguf"}) {
            if (const auto path = sharedPath(std::string("malformed/") + name))
                row(name, readBytes(*path));
        }
    }
};

TOKENLOUPE_TEST_MAIN(TestMutations)
#include "tst_mutations.moc"
