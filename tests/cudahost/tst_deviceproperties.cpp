// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cudahost/cudahost.h"
#include "tests/support/testmain.h"

#include <cuda_runtime.h>

/// What a program learns of the devices that there are.
class TstDeviceProperties : public QObject
{
    Q_OBJECT

private slots:
    void init() { cudahost::reset(); }
    void describesDevice();
    void numbersDevices();
    void hasNoDevice();
    void hasNoDriver_data();
    void hasNoDriver();
    void namesErrors();
};

void TstDeviceProperties::describesDevice()
{
    cudahost::Settings settings;
    settings.computeMajor = 8;
    settings.computeMinor = 6;
    settings.cardBytes = std::size_t{24} << 30;
    settings.multiprocessors = 82;
    cudahost::reset(settings);
    cudaDeviceProp properties{};
    QCOMPARE(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
    QVERIFY(properties.name[0] != '\0');
    QCOMPARE(properties.major, 8);
    QCOMPARE(properties.minor, 6);
    QCOMPARE(properties.totalGlobalMem, std::size_t{24} << 30);
    QCOMPARE(properties.multiProcessorCount, 82);
    QCOMPARE(properties.warpSize, 32);
    QCOMPARE(properties.sharedMemPerBlockOptin, std::size_t{99} * 1024);
    const auto attribute = [](cudaDeviceAttr which) {
        int value = -1;
        cudaDeviceGetAttribute(&value, which, 0);
        return value;
    };
    QCOMPARE(attribute(cudaDevAttrComputeCapabilityMajor), 8);
    QCOMPARE(attribute(cudaDevAttrComputeCapabilityMinor), 6);
    QCOMPARE(attribute(cudaDevAttrMultiProcessorCount), 82);
    QCOMPARE(attribute(cudaDevAttrMaxSharedMemoryPerBlock), 48 * 1024);
    QVERIFY(attribute(cudaDevAttrMemoryClockRate) > 0);
    QVERIFY(attribute(cudaDevAttrGlobalMemoryBusWidth) > 0);
    char bus[16] = {};
    QCOMPARE(cudaDeviceGetPCIBusId(bus, sizeof(bus), 0), cudaSuccess);
    QCOMPARE(QString::fromLatin1(bus), QStringLiteral("0000:01:00.0"));
    QCOMPARE(cudaDeviceGetPCIBusId(bus, 5, 0), cudaErrorInvalidValue);
    int version = 0;
    QCOMPARE(cudaRuntimeGetVersion(&version), cudaSuccess);
    QCOMPARE(version, CUDART_VERSION);
}

void TstDeviceProperties::numbersDevices()
{
    cudahost::Settings settings;
    settings.devices = 2;
    cudahost::reset(settings);
    int number = -1;
    QCOMPARE(cudaGetDeviceCount(&number), cudaSuccess);
    QCOMPARE(number, 2);
    QCOMPARE(cudaSetDevice(1), cudaSuccess);
    QCOMPARE(cudaGetDevice(&number), cudaSuccess);
    QCOMPARE(number, 1);
    QCOMPARE(cudaSetDevice(2), cudaErrorInvalidDevice);
    QCOMPARE(cudaSetDevice(-1), cudaErrorInvalidDevice);
    cudaDeviceProp properties{};
    QCOMPARE(cudaGetDeviceProperties(&properties, 2), cudaErrorInvalidDevice);
    QCOMPARE(cudaSetDevice(0), cudaSuccess);
}

void TstDeviceProperties::hasNoDevice()
{
    cudahost::Settings settings;
    settings.devices = 0;
    cudahost::reset(settings);
    int number = -1;
    QCOMPARE(cudaGetDeviceCount(&number), cudaErrorNoDevice);
    QCOMPARE(number, 0);
    void *data = nullptr;
    QCOMPARE(cudaMalloc(&data, 1), cudaErrorNoDevice);
}

void TstDeviceProperties::hasNoDriver_data()
{
    QTest::addColumn<int>("version");
    QTest::addRow("none") << 0;
    QTest::addRow("an old one") << 11080;
}

void TstDeviceProperties::hasNoDriver()
{
    QFETCH(const int, version);
    cudahost::Settings settings;
    settings.driverVersion = version;
    cudahost::reset(settings);
    int number = -1;
    QCOMPARE(cudaGetDeviceCount(&number), cudaErrorInsufficientDriver);
    QCOMPARE(number, 0);
    QCOMPARE(cudaDriverGetVersion(&number), cudaSuccess);
    QCOMPARE(number, version);
    cudaStream_t stream = nullptr;
    QCOMPARE(cudaStreamCreate(&stream), cudaErrorInsufficientDriver);
}

void TstDeviceProperties::namesErrors()
{
    QCOMPARE(QString::fromLatin1(cudaGetErrorName(cudaErrorMemoryAllocation)),
             QStringLiteral("cudaErrorMemoryAllocation"));
    QVERIFY(cudaGetErrorString(cudaErrorIllegalAddress)[0] != '\0');
    QCOMPARE(QString::fromLatin1(cudaGetErrorName(static_cast<cudaError_t>(12345))),
             QStringLiteral("unrecognized error code"));
}

TOKENLOUPE_TEST_MAIN(TstDeviceProperties)
#include "tst_deviceproperties.moc"
