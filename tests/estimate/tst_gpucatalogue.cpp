// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/estimate/gpucatalogue.h"
#include "engine/estimate/machineprobe.h"
#include "tests/support/testmain.h"

#include <QFile>
#include <QTemporaryDir>
#include <cmath>
#include <set>

using namespace tokenloupe;

namespace {

Gpu ownCard()
{
    Gpu gpu;
    gpu.name = "Prototype 7";
    gpu.maker = "Mine";
    gpu.kind = "desktop";
    gpu.memoryBytes = std::uint64_t(10) << 30;
    gpu.bandwidth = 123.5e9;
    gpu.halfFlops = 4.25e12;
    gpu.year = 2024;
    return gpu;
}

} // namespace

class TestGpuCatalogue : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase();
    void rowsAreSane();
    void lookupIsForgiving_data();
    void lookupIsForgiving();
    void unknownNamesTheNearest();
    void addReplaceSave();
    void refusesAbsurdCards_data();
    void refusesAbsurdCards();
    void badFiles_data();
    void badFiles();
    void thisMachineIsMeasured();

private:
    std::filesystem::path file(const QByteArray &content);
    QTemporaryDir m_folder;
    int m_files = 0;
    std::optional<GpuCatalogue> m_catalogue;
};

std::filesystem::path TestGpuCatalogue::file(const QByteArray &content)
{
    const QString path = m_folder.filePath(QStringLiteral("cards%1.json").arg(++m_files));
    QFile out(path);
    if (out.open(QIODevice::WriteOnly))
        out.write(content);
    return path.toStdString();
}

void TestGpuCatalogue::initTestCase()
{
    auto catalogue = GpuCatalogue::builtIn();
    QVERIFY2(catalogue, catalogue ? "" : catalogue.error().text().c_str());
    m_catalogue = std::move(*catalogue);
}

void TestGpuCatalogue::rowsAreSane()
{
    QVERIFY(m_catalogue->gpus().size() >= 90);
    std::set<std::string> names;
    std::set<std::string> makers;
    std::set<std::string> kinds;
    for (const Gpu &gpu : m_catalogue->gpus()) {
        const char *name = gpu.name.c_str();
        QVERIFY2(names.insert(gpu.name).second, name);
        makers.insert(gpu.maker);
        kinds.insert(gpu.kind);
        const double gib = static_cast<double>(gpu.memoryBytes) / (1 << 30);
        QVERIFY2(gib >= 4 && gib <= 512, name);
        QVERIFY2(gpu.year >= 2016 && gpu.year <= 2026, name);
        QVERIFY2(gpu.bandwidth >= 50e9 && gpu.bandwidth <= 10e12, name);
        QVERIFY2(gpu.halfFlops >= 1e12 && gpu.halfFlops <= 3e15, name);
        // A whole pass over memory takes between 7 ms and half a second; 10 to 800 operations a byte.
        const double seconds = static_cast<double>(gpu.memoryBytes) / gpu.bandwidth;
        QVERIFY2(seconds > 0.005 && seconds < 0.7, name);
        const double intensity = gpu.halfFlops / gpu.bandwidth;
        QVERIFY2(intensity > 10 && intensity < 800, name);
        QCOMPARE(gpu.isShared, gpu.kind == "integrated");
        // Every name finds itself.
        const auto found = m_catalogue->find(gpu.name);
        QVERIFY2(found, name);
        QCOMPARE(found->name, gpu.name);
    }
    for (const char *maker : {"NVIDIA", "AMD", "Intel", "Apple"})
        QVERIFY2(makers.contains(maker), maker);
    for (const char *kind : {"desktop", "laptop", "workstation", "data centre", "integrated"})
        QVERIFY2(kinds.contains(kind), kind);
}

void TestGpuCatalogue::lookupIsForgiving_data()
{
    QTest::addColumn<QString>("asked");
    QTest::addColumn<QString>("name");
    QTest::newRow("exact") << "RTX 4090"
                           << "RTX 4090";
    QTest::newRow("case and spaces") << "rtx4090"
                                     << "RTX 4090";
    QTest::newRow("maker and brand") << "NVIDIA GeForce RTX 4090"
                                     << "RTX 4090";
    QTest::newRow("number alone") << "4090"
                                  << "RTX 4090";
    QTest::newRow("laptop") << "GeForce RTX 4090 laptop GPU"
                            << "RTX 4090 Laptop";
    QTest::newRow("part") << "MI300X"
                          << "Instinct MI300X";
    QTest::newRow("brand") << "AMD Radeon RX 7900 XTX"
                           << "RX 7900 XTX";
    QTest::newRow("hyphen") << "h100-sxm"
                            << "H100 SXM";
    QTest::newRow("apple") << "Apple M4 Max"
                           << "M4 Max 128 GB";
}

void TestGpuCatalogue::lookupIsForgiving()
{
    QFETCH(QString, asked);
    QFETCH(QString, name);
    const auto found = m_catalogue->find(asked.toStdString());
    QVERIFY2(found, found ? "" : found.error().text().c_str());
    QCOMPARE(QString::fromStdString(found->name), name);
}

void TestGpuCatalogue::unknownNamesTheNearest()
{
    const auto several = m_catalogue->find("A100");
    QVERIFY(!several);
    QCOMPARE(several.error().code, ErrorCode::NotFound);
    QVERIFY2(several.error().message.find("A100") != std::string::npos, several.error().text().c_str());
    const auto unknown = m_catalogue->find("RTX 4099");
    QVERIFY(!unknown);
    QVERIFY2(unknown.error().message.find("RTX 4090") != std::string::npos, unknown.error().text().c_str());
    for (const char *nonsense : {"", "   ", "!!!"})
        QVERIFY(!m_catalogue->find(nonsense));
    QVERIFY(!m_catalogue->find(std::string(100000, 'x')));
}

void TestGpuCatalogue::addReplaceSave()
{
    GpuCatalogue catalogue = *m_catalogue;
    const std::size_t count = catalogue.gpus().size();
    QVERIFY(catalogue.add(ownCard()));
    QCOMPARE(catalogue.gpus().size(), count + 1);
    Gpu other = ownCard();
    other.name = "PROTOTYPE 7";
    other.memoryBytes = std::uint64_t(20) << 30;
    QVERIFY(catalogue.add(other)); // replaces
    QCOMPARE(catalogue.gpus().size(), count + 1);
    Gpu changed = *catalogue.find("RTX 4090");
    changed.memoryBytes = std::uint64_t(48) << 30;
    QVERIFY(catalogue.add(changed));

    const std::filesystem::path path = m_folder.filePath("a/b/gpus.json").toStdString();
    QVERIFY(catalogue.save(path));
    GpuCatalogue again = *m_catalogue;
    QVERIFY(again.addFile(path));
    QCOMPARE(again.gpus().size(), count + 1);
    const auto found = again.find("prototype7");
    QVERIFY(found);
    QCOMPARE(found->memoryBytes, std::uint64_t(20) << 30);
    QCOMPARE(found->bandwidth, 123.5e9);
    QCOMPARE(found->halfFlops, 4.25e12);
    QCOMPARE(found->year, 2024U);
    QCOMPARE(again.find("RTX 4090")->memoryBytes, std::uint64_t(48) << 30);
    // What was read can be saved again.
    const std::filesystem::path second = m_folder.filePath("second.json").toStdString();
    QVERIFY(again.save(second));
    GpuCatalogue third = *m_catalogue;
    QVERIFY(third.addFile(second));
    QCOMPARE(third.gpus().size(), count + 1);
    QVERIFY(!catalogue.save("/proc/no/such/gpus.json"));
}

void TestGpuCatalogue::refusesAbsurdCards_data()
{
    QTest::addColumn<QString>("field");
    QTest::addColumn<double>("value");
    QTest::newRow("no name") << "name" << 0.0;
    QTest::newRow("no memory") << "memory" << 0.0;
    QTest::newRow("exabytes") << "memory" << 1e19;
    QTest::newRow("no bandwidth") << "bandwidth" << 0.0;
    QTest::newRow("negative bandwidth") << "bandwidth" << -1e9;
    QTest::newRow("bandwidth is no number") << "bandwidth" << std::nan("");
    QTest::newRow("endless rate") << "flops" << HUGE_VAL;
}

void TestGpuCatalogue::refusesAbsurdCards()
{
    QFETCH(QString, field);
    QFETCH(double, value);
    Gpu gpu = ownCard();
    if (field == QLatin1String("name"))
        gpu.name = " - ";
    else if (field == QLatin1String("memory"))
        gpu.memoryBytes = static_cast<std::uint64_t>(value);
    else if (field == QLatin1String("bandwidth"))
        gpu.bandwidth = value;
    else
        gpu.halfFlops = value;
    GpuCatalogue catalogue = *m_catalogue;
    const std::size_t count = catalogue.gpus().size();
    const Status added = catalogue.add(gpu);
    QVERIFY(!added);
    QCOMPARE(added.error().code, ErrorCode::InvalidArgument);
    QCOMPARE(catalogue.gpus().size(), count);
}

void TestGpuCatalogue::badFiles_data()
{
    QTest::addColumn<QByteArray>("content");
    QTest::addColumn<QByteArray>("named");
    const QByteArray good = R"({"name":"A good one","memory_gib":8,"bandwidth_gbs":100,"fp16_tflops":10})";
    QTest::newRow("no JSON") << QByteArray("{") << QByteArray("list");
    QTest::newRow("no list") << QByteArray("3") << QByteArray("list");
    QTest::newRow("no object") << QByteArray("[" + good + ",3]") << QByteArray("card 2");
    QTest::newRow("no name") << QByteArray(R"([{"memory_gib":8,"bandwidth_gbs":100,"fp16_tflops":10}])")
                             << QByteArray("name");
    QTest::newRow("no memory") << QByteArray("[" + good +
                                             R"(,{"name":"x","bandwidth_gbs":1,"fp16_tflops":1}])")
                               << QByteArray("memory_gib");
    QTest::newRow("text for a number")
        << QByteArray(R"([{"name":"x","memory_gib":"8","bandwidth_gbs":1,"fp16_tflops":1}])")
        << QByteArray("memory_gib");
    QTest::newRow("negative") << QByteArray(
                                     R"([{"name":"x","memory_gib":8,"bandwidth_gbs":-1,"fp16_tflops":1}])")
                              << QByteArray("bandwidth_gbs");
    QTest::newRow("year")
        << QByteArray(R"([{"name":"x","memory_gib":8,"bandwidth_gbs":1,"fp16_tflops":1,"year":7}])")
        << QByteArray("year");
    QTest::newRow("shared")
        << QByteArray(R"([{"name":"x","memory_gib":8,"bandwidth_gbs":1,"fp16_tflops":1,"shared":1}])")
        << QByteArray("shared");
    QTest::newRow("twice") << QByteArray("[" + good + "," + good + "]") << QByteArray("twice");
}

void TestGpuCatalogue::badFiles()
{
    QFETCH(QByteArray, content);
    QFETCH(QByteArray, named);
    GpuCatalogue catalogue = *m_catalogue;
    const std::size_t count = catalogue.gpus().size();
    const Status added = catalogue.addFile(file(content));
    QVERIFY(!added);
    QCOMPARE(added.error().code, ErrorCode::BadFile);
    QVERIFY2(added.error().text().find(named.toStdString()) != std::string::npos,
             added.error().text().c_str());
    QCOMPARE(catalogue.gpus().size(), count); // nothing is taken over
    QCOMPARE(catalogue.addFile("/no/such/file.json").error().code, ErrorCode::NotFound);
}

void TestGpuCatalogue::thisMachineIsMeasured()
{
    const Gpu machine = thisMachine();
    QVERIFY(machine.memoryBytes > (std::uint64_t(64) << 20));
    QVERIFY2(machine.bandwidth > 1e8 && machine.bandwidth < 1e13, std::to_string(machine.bandwidth).c_str());
    QVERIFY2(machine.halfFlops > 1e7 && machine.halfFlops < 1e15, std::to_string(machine.halfFlops).c_str());
    QVERIFY(machine.isShared);
    // Measured once.
    const Gpu again = thisMachine();
    QCOMPARE(again.bandwidth, machine.bandwidth);
    QCOMPARE(again.halfFlops, machine.halfFlops);
}

TOKENLOUPE_TEST_MAIN(TestGpuCatalogue)
#include "tst_gpucatalogue.moc"
