// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/launch.h"
#include "tests/cudahost/cudahost.h"
#include "tests/cudahost/devicevalues.h"
#include "tests/support/testmain.h"

using namespace cudahost::test;
using tokenloupe::cuda::followPrevious;
using tokenloupe::cuda::launch;
using tokenloupe::cuda::sharedMemory;

namespace {

// Every thread passes its number on to the next, so many times; sums[thread] = of all that it saw.
__global__ void passOn(int rounds, int *sums)
{
    followPrevious();
    auto &numbers = sharedMemory<int[1024]>();
    const unsigned int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    const unsigned int threads = blockDim.x * blockDim.y * blockDim.z;
    int number = static_cast<int>(thread);
    int sum = 0;
    for (int round = 0; round < rounds; ++round) {
        numbers[thread] = number;
        __syncthreads();
        number = numbers[(thread + 1) % threads];
        __syncthreads();
        sum += number;
    }
    sums[thread] = sum;
}

__global__ void countAtBarrier(int *results)
{
    followPrevious();
    const int isThird = threadIdx.x % 3 == 0 ? 1 : 0;
    const int count = __syncthreads_count(isThird);
    const int isAnd = __syncthreads_and(isThird);
    const int isAndOfAll = __syncthreads_and(1);
    const int isOr = __syncthreads_or(isThird);
    const int isOrOfNone = __syncthreads_or(0);
    results[threadIdx.x] = count * 10000 + isAnd * 1000 + isAndOfAll * 100 + isOr * 10 + isOrOfNone;
}

// Threads from `live` on end before the barriers that the others meet at.
__global__ void someEndEarly(unsigned int live, int *results)
{
    followPrevious();
    if (threadIdx.x >= live)
        return;
    results[threadIdx.x] = __syncthreads_count(1);
    __syncthreads();
    results[threadIdx.x] += __syncthreads_count(1);
}

__global__ void hangs()
{
    followPrevious();
    if (threadIdx.x < 32)
        __syncthreads();
    else
        __syncwarp(threadIdx.x < 40
                       ? 0x1FFU
                       : 0x1FFU << 8 & ~0xFFU); // lanes 0 to 7 wait for lane 8, which waits for 16
    if (threadIdx.x == 63)
        __syncwarp();
}

__global__ void barriersInDivergentCode()
{
    followPrevious();
    if (threadIdx.x % 2 == 0)
        __syncthreads();
    else
        __syncthreads();
}

__global__ void barrierOrEnd(const int *never)
{
    followPrevious();
    if (threadIdx.x == 40 && *never == 0) {
        __syncwarp(0xFFFFFFFF);
        return;
    }
    __syncthreads();
}

cudahost::Settings quiet()
{
    cudahost::Settings settings;
    settings.faultReport = cudahost::FaultReport::Kept;
    return settings;
}

} // namespace

/// __syncthreads and its kin, and what is said of kernels in which not all threads reach them.
class TstBarriers : public QObject
{
    Q_OBJECT

private slots:
    void init() { cudahost::reset(); }
    void passesOn_data();
    void passesOn();
    void counts();
    void endedThreadsDoNotCount_data();
    void endedThreadsDoNotCount();
    void reportsHang();
    void reportsDivergence();
    void runsAgainAfterFault();
};

void TstBarriers::passesOn_data()
{
    QTest::addColumn<unsigned int>("x");
    QTest::addColumn<unsigned int>("y");
    QTest::addColumn<unsigned int>("z");
    QTest::addRow("one") << 1U << 1U << 1U;
    QTest::addRow("part of a warp") << 7U << 1U << 1U;
    QTest::addRow("plane") << 33U << 3U << 1U;
    QTest::addRow("room") << 4U << 5U << 8U;
    QTest::addRow("most") << 1024U << 1U << 1U;
    QTest::addRow("deep") << 1U << 16U << 64U;
}

void TstBarriers::passesOn()
{
    QFETCH(const unsigned int, x);
    QFETCH(const unsigned int, y);
    QFETCH(const unsigned int, z);
    const int threads = static_cast<int>(x * y * z);
    constexpr int rounds = 5;
    std::vector<int> expected;
    for (int thread = 0; thread < threads; ++thread) {
        int sum = 0;
        for (int round = 1; round <= rounds; ++round)
            sum += (thread + round) % threads;
        expected.push_back(sum);
    }
    const DeviceValues<int> sums(expected.size());
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
        cudahost::setSeed(seed);
        QCOMPARE(launch(passOn, {dim3(1), dim3(x, y, z), sizeof(int[1024])}, nullptr, rounds, sums.data()),
                 cudaSuccess);
        QCOMPARE(sums.read(), expected);
    }
}

void TstBarriers::counts()
{
    const DeviceValues<int> results(100);
    QCOMPARE(launch(countAtBarrier, {dim3(1), dim3(100), 0}, nullptr, results.data()), cudaSuccess);
    QCOMPARE(results.read(), std::vector<int>(100, 34 * 10000 + 110));
}

void TstBarriers::endedThreadsDoNotCount_data()
{
    QTest::addColumn<int>("live");
    for (const int live : {1, 31, 32, 40, 96})
        QTest::addRow("%d", live) << live;
}

void TstBarriers::endedThreadsDoNotCount()
{
    QFETCH(const int, live);
    const DeviceValues<int> results(std::vector<int>(96, 0));
    std::vector<int> expected(96, 0);
    std::fill_n(expected.begin(), live, 2 * live);
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
        cudahost::setSeed(seed);
        QCOMPARE(launch(someEndEarly, {dim3(1), dim3(96), 0}, nullptr, static_cast<unsigned int>(live),
                        results.data()),
                 cudaSuccess);
        QCOMPARE(results.read(), expected);
    }
}

void TstBarriers::reportsHang()
{
    cudahost::reset(quiet());
    QCOMPARE(launch(hangs, {dim3(1), dim3(64), 0}, nullptr), cudaErrorLaunchFailure);
    const std::vector<std::string> faults = cudahost::takeFaults();
    QCOMPARE(faults.size(), std::size_t{1});
    const QString fault = QString::fromStdString(faults.front());
    QVERIFY2(fault.contains("hangs") && fault.contains("tst_barriers.cpp:"), qPrintable(fault));
    // Also where a thread waits for its warp while the warp waits for the block.
    const DeviceValues<int> never(std::vector<int>{0});
    QCOMPARE(launch(barrierOrEnd, {dim3(1), dim3(64), 0}, nullptr, never.data()), cudaErrorLaunchFailure);
    QVERIFY(cudahost::takeFaults().front().find("63 of 64 threads wait at the barrier") != std::string::npos);
}

void TstBarriers::reportsDivergence()
{
    cudahost::reset(quiet());
    QCOMPARE(launch(barriersInDivergentCode, {dim3(1), dim3(64), 0}, nullptr), cudaErrorLaunchFailure);
    // The device is lost, and says so whatever it is asked.
    void *data = nullptr;
    QCOMPARE(cudaMalloc(&data, 16), cudaErrorLaunchFailure);
    QCOMPARE(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
    QCOMPARE(cudaGetLastError(), cudaErrorLaunchFailure);
    const std::vector<std::string> faults = cudahost::takeFaults();
    QCOMPARE(faults.size(), std::size_t{1});
    QVERIFY(faults.front().find("barriersInDivergentCode") != std::string::npos);
    QVERIFY(faults.front().find("divergent") != std::string::npos);
    QCOMPARE(cudaGetLastError(), cudaSuccess);
}

void TstBarriers::runsAgainAfterFault()
{
    cudahost::reset(quiet());
    for (int time = 0; time < 3; ++time) {
        QCOMPARE(launch(barriersInDivergentCode, {dim3(4), dim3(512), 0}, nullptr), cudaErrorLaunchFailure);
        QCOMPARE(cudahost::takeFaults().size(), std::size_t{1});
        const DeviceValues<int> results(100);
        QCOMPARE(launch(countAtBarrier, {dim3(1), dim3(100), 0}, nullptr, results.data()), cudaSuccess);
        QCOMPARE(results.read(), std::vector<int>(100, 34 * 10000 + 110));
    }
}

TOKENLOUPE_TEST_MAIN(TstBarriers)
#include "tst_barriers.moc"
