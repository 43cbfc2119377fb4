// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/launch.h"
#include "tests/cudahost/cudahost.h"
#include "tests/cudahost/devicevalues.h"
#include "tests/support/testmain.h"

#include <cmath>

using namespace cudahost::test;
using tokenloupe::cuda::followPrevious;
using tokenloupe::cuda::launch;
using tokenloupe::cuda::sharedMemory;

namespace {

// What thread 0 of each block finds, before it writes there itself.
__global__ void find(float *found)
{
    followPrevious();
    auto &shared = sharedMemory<float[8]>();
    found[blockIdx.x] = shared[blockIdx.x % 8];
    for (float &value : shared)
        value = 1.0F;
}

__global__ void writeAt(std::ptrdiff_t place)
{
    followPrevious();
    static_cast<volatile unsigned char *>(&sharedMemory<unsigned char>())[place] = 7;
}

__global__ void useMore()
{
    followPrevious();
    sharedMemory<unsigned char[101]>()[0] = 1;
}

__global__ void findAddress(unsigned long long *address)
{
    followPrevious();
    *address = reinterpret_cast<std::uintptr_t>(&sharedMemory<unsigned char>());
}

} // namespace

class TstSharedMemory : public QObject
{
    Q_OBJECT

private slots:
    void init();
    void beginsUndefined();
    void isAsLargeAsAsked();
    void isAligned();
    void noticesWrites_data();
    void noticesWrites();
};

void TstSharedMemory::init()
{
    cudahost::Settings settings;
    settings.faultReport = cudahost::FaultReport::Kept;
    cudahost::reset(settings);
}

void TstSharedMemory::beginsUndefined()
{
    const DeviceValues<float> found(std::vector<float>(30, 0.0F));
    QCOMPARE(launch(find, {dim3(30), dim3(1), sizeof(float[8])}, nullptr, found.data()), cudaSuccess);
    for (const float value : found.read())
        QVERIFY(std::isnan(value));
}

void TstSharedMemory::isAsLargeAsAsked()
{
    QCOMPARE(launch(useMore, {dim3(1), dim3(1), 101}, nullptr), cudaSuccess);
    QCOMPARE(launch(useMore, {dim3(1), dim3(1), 100}, nullptr), cudaErrorLaunchFailure);
    QVERIFY(cudahost::takeFaults().front().find("101 bytes is used, but the launch asked for 100") !=
            std::string::npos);
}

void TstSharedMemory::isAligned()
{
    const DeviceValues<unsigned long long> address(1);
    for (const std::size_t bytes : {1, 17, 4096, 40000}) {
        QCOMPARE(launch(findAddress, {dim3(1), dim3(1), bytes}, nullptr, address.data()), cudaSuccess);
        QCOMPARE(address.read().front() % 32, 16ULL); // to what is promised, and to no more
    }
}

void TstSharedMemory::noticesWrites_data()
{
    QTest::addColumn<qint64>("place");
    QTest::addColumn<bool>("isInside");
    QTest::addRow("first") << qint64{0} << true;
    QTest::addRow("last") << qint64{99} << true;
    QTest::addRow("after the last") << qint64{100} << false;
    QTest::addRow("far after") << qint64{1000} << false;
    QTest::addRow("before the first") << qint64{-1} << false;
    QTest::addRow("far before") << qint64{-999} << false;
}

void TstSharedMemory::noticesWrites()
{
    QFETCH(const qint64, place);
    QFETCH(const bool, isInside);
#ifdef __SANITIZE_ADDRESS__
    if (!isInside)
        QSKIP("the address sanitizer ends the program at such a write");
#endif
    QCOMPARE(launch(writeAt, {dim3(2), dim3(1), 100}, nullptr, static_cast<std::ptrdiff_t>(place)),
             isInside ? cudaSuccess : cudaErrorLaunchFailure);
    QCOMPARE(cudahost::takeFaults().size(), std::size_t{isInside ? 0U : 1U});
}

TOKENLOUPE_TEST_MAIN(TstSharedMemory)
#include "tst_sharedmemory.moc"
