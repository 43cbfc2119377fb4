// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/cuda/makecuda.h"
#include "tests/compute/cuda/cudafixture.h"
#include "tests/support/testmain.h"

using namespace tokenloupe;
using namespace tokenloupe::test;

/// What is found of devices, and why there is none.
class TestCudaDevice : public QObject
{
    Q_OBJECT

private slots:
    void init() { cudahost::reset(); }
    void cleanup() { TOKENLOUPE_NO_DEVICE_FAULTS(); }
    void isDescribed();
    void reasons_data();
    void reasons();
    void versions();
    void capabilities();
    void backendSaysWhatItIs();
    void notPartOfEveryProgram();
};

void TestCudaDevice::isDescribed()
{
    cudahost::Settings settings;
    settings.cardBytes = std::size_t(3) << 30;
    settings.computeMajor = 8;
    settings.computeMinor = 6;
    cudahost::reset(settings);
    const Result<CudaDevice> device = findCudaDevice();
    QVERIFY(device);
    QVERIFY(!device->name.empty());
    QCOMPARE(device->capability(), std::string("8.6"));
    QVERIFY(device->hasTensorCores());
    QCOMPARE(device->totalBytes, std::uint64_t(3) << 30);
    QVERIFY(device->freeBytes > 0 && device->freeBytes <= device->totalBytes);
    QVERIFY(device->multiprocessors > 0);
    QVERIFY(device->bytesPerSecond > 1e9);
    QCOMPARE(device->driver.text(), std::string("13.0"));
}

void TestCudaDevice::reasons_data()
{
    QTest::addColumn<int>("driver");
    QTest::addColumn<int>("devices");
    QTest::addColumn<int>("major");
    QTest::addColumn<int>("minor");
    QTest::addColumn<QByteArray>("reason");
    QTest::newRow("no driver") << 0 << 1 << 9 << 0 << QByteArray("no NVIDIA driver");
    QTest::newRow("old driver") << 12020 << 1 << 9 << 0 << QByteArray("driver too old: 12.2, 13.0 needed");
    QTest::newRow("no device") << 13000 << 0 << 9 << 0 << QByteArray("no device");
    QTest::newRow("old device") << 13000 << 1 << 6 << 1
                                << QByteArray("compute capability 6.1 is not supported");
    QTest::newRow("nearly new enough")
        << 13000 << 1 << 7 << 0 << QByteArray("compute capability 7.0 is not supported");
}

void TestCudaDevice::reasons()
{
    QFETCH(int, driver);
    QFETCH(int, devices);
    QFETCH(int, major);
    QFETCH(int, minor);
    QFETCH(QByteArray, reason);
    cudahost::Settings settings;
    settings.driverVersion = driver;
    settings.devices = devices;
    settings.computeMajor = major;
    settings.computeMinor = minor;
    cudahost::reset(settings);
    const auto backend = makeCudaBackend();
    QVERIFY(!backend);
    QCOMPARE(backend.error().code, ErrorCode::Unsupported);
    QVERIFY2(QByteArray::fromStdString(backend.error().text()).contains(reason),
             backend.error().text().c_str());
    QVERIFY(!QByteArray::fromStdString(backend.error().text()).contains('\n'));
}

void TestCudaDevice::versions()
{
    QCOMPARE(driverProblem({13000}, {13000}), std::string());
    QCOMPARE(driverProblem({13020}, {13000}), std::string());
    QCOMPARE(driverProblem({13000}, {13020}), std::string()); // the same major version is enough
    QCOMPARE(driverProblem({14000}, {13000}), std::string());
    QCOMPARE(driverProblem({12090}, {13000}), std::string("driver too old: 12.9, 13.0 needed"));
    QCOMPARE(driverProblem({0}, {13000}), std::string("no NVIDIA driver"));
}

void TestCudaDevice::capabilities()
{
    QVERIFY(deviceProblem("x", 7, 5).empty());
    QVERIFY(deviceProblem("x", 12, 0).empty());
    QVERIFY(!deviceProblem("x", 7, 4).empty());
    QVERIFY(deviceProblem("Old Card", 6, 1).find("Old Card") != std::string::npos);
}

void TestCudaDevice::backendSaysWhatItIs()
{
    const auto made = makeCudaBackend();
    QVERIFY(made);
    QCOMPARE((*made)->name(), std::string("CUDA"));
    QCOMPARE((*made)->isa(), std::string("compute capability 9.0"));
    QVERIFY(!(*made)->deviceName().empty());
    QVERIFY(!(*made)->isLost());
    QVERIFY((*made)->bytesPerSecond() > 1e9);
}

void TestCudaDevice::notPartOfEveryProgram()
{
    QCOMPARE(backendKindOf("cuda"), std::optional(BackendKind::Cuda));
    QCOMPARE(backendKindOf("cpu"), std::optional(BackendKind::Cpu));
    QVERIFY(!backendKindOf("gpu"));
}

TOKENLOUPE_TEST_MAIN(TestCudaDevice)
#include "tst_cudadevice.moc"
