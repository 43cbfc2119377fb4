// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/bench/gpucheck/devicetimes.h"
#include "tests/cudahost/cudahost.h"
#include "tests/support/testmain.h"

using namespace tokenloupe::test;

class TestDeviceTimes : public QObject
{
    Q_OBJECT

private slots:
    void init() { cudahost::reset(); }
    void timesEverything();
    void saysThatThereIsNoDevice();
};

void TestDeviceTimes::timesEverything()
{
    DeviceTimesRequest request;
    request.copyBytes = 4096;
    request.matrixSize = 16;
    request.spreadBytes = 1;
    request.rounds = 1;
    request.embedding = 256;
    request.feedForward = 512;
    request.vocabulary = 300;
    request.heads = 4;
    request.kvHeads = 2;
    request.context = 70;
    request.promptRows = 17;
    const nlohmann::json times = measureDevice(request);
    QVERIFY(times["copy_bytes_per_s"].get<double>() > 0.0);
    QVERIFY(times["half_operations_per_s"].get<double>() > 0.0);
    QCOMPARE(times["kernels"].size(), 20U);
    for (const nlohmann::json &kernel : times["kernels"])
        QVERIFY2(kernel["microseconds"].get<double>() > 0.0, kernel.dump().c_str());
    cudahost::checkMemory();
    QCOMPARE(cudahost::takeFaults(), std::vector<std::string>());
    QCOMPARE(cudahost::allocationCount(), 0U);
}

void TestDeviceTimes::saysThatThereIsNoDevice()
{
    cudahost::Settings settings;
    settings.devices = 0;
    cudahost::reset(settings);
    QVERIFY_EXCEPTION_THROWN(measureDevice({}), NoDeviceError);
}

TOKENLOUPE_TEST_MAIN(TestDeviceTimes)
#include "tst_devicetimes.moc"
