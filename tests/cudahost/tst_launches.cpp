// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/launch.h"
#include "tests/cudahost/cudahost.h"
#include "tests/cudahost/devicevalues.h"
#include "tests/support/testmain.h"

#include <algorithm>

using namespace cudahost::test;
using tokenloupe::cuda::followPrevious;
using tokenloupe::cuda::launch;
using tokenloupe::cuda::sharedMemory;

namespace {

__global__ void visit(int *order, int *counter)
{
    followPrevious();
    if (threadIdx.x == 0) {
        const unsigned int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
        order[atomicAdd(counter, 1)] = static_cast<int>(block);
    }
}

__global__ void orderOfThreads(int *order, int *counter)
{
    followPrevious();
    order[atomicAdd(counter, 1)] = static_cast<int>(threadIdx.x);
}

__global__ void nothing()
{
    followPrevious();
}

__global__ void useShared(std::size_t bytes)
{
    followPrevious();
    static_cast<unsigned char *>(cudahost::sharedMemory(bytes))[bytes - 1] = 1;
}

} // namespace

/// What launches are refused for, in which order blocks and threads come, and what tests can see of them.
class TstLaunches : public QObject
{
    Q_OBJECT

private slots:
    void init() { cudahost::reset(); }
    void keepsLimits_data();
    void keepsLimits();
    void asksForSharedMemory_data();
    void asksForSharedMemory();
    void sharedMemoryHasToBeAskedFor();
    void visitsEachBlockOnce_data();
    void visitsEachBlockOnce();
    void ordersBySeed();
    void recordsLaunches();
    void losesDevice();
    void needsCodeForDevice();
};

void TstLaunches::keepsLimits_data()
{
    QTest::addColumn<QList<unsigned int>>("grid");
    QTest::addColumn<QList<unsigned int>>("block");
    QTest::addColumn<bool>("isPossible");
    const auto add = [](const char *name, QList<unsigned int> grid, QList<unsigned int> block,
                        bool isPossible) { QTest::addRow("%s", name) << grid << block << isPossible; };
    add("least", {1, 1, 1}, {1, 1, 1}, true);
    add("most threads", {1, 1, 1}, {1024, 1, 1}, true);
    add("too many threads", {1, 1, 1}, {1025, 1, 1}, false);
    add("too many together", {1, 1, 1}, {32, 33, 1}, false);
    add("deepest", {1, 1, 1}, {1, 16, 64}, true);
    add("too deep", {1, 1, 1}, {1, 1, 65}, false);
    add("no threads", {1, 1, 1}, {1, 0, 1}, false);
    add("no blocks", {0, 1, 1}, {1, 1, 1}, false);
    add("high", {1, 65535, 1}, {1, 1, 1}, true);
    add("too high", {1, 65536, 1}, {1, 1, 1}, false);
    add("too deep a grid", {1, 1, 65536}, {1, 1, 1}, false);
    add("wide", {70000, 1, 1}, {1, 1, 1}, true);
    add("too wide", {0x80000000U, 1, 1}, {1, 1, 1}, false);
}

void TstLaunches::keepsLimits()
{
    QFETCH(const QList<unsigned int>, grid);
    QFETCH(const QList<unsigned int>, block);
    QFETCH(const bool, isPossible);
    QCOMPARE(
        launch(nothing, {dim3(grid[0], grid[1], grid[2]), dim3(block[0], block[1], block[2]), 0}, nullptr),
        isPossible ? cudaSuccess : cudaErrorInvalidConfiguration);
    QCOMPARE(cudahost::launchCount(), isPossible ? 1 : 0);
}

void TstLaunches::asksForSharedMemory_data()
{
    QTest::addColumn<int>("major");
    QTest::addColumn<int>("minor");
    QTest::addColumn<int>("kibibytes");
    QTest::addRow("7.5") << 7 << 5 << 64;
    QTest::addRow("8.0") << 8 << 0 << 163;
    QTest::addRow("8.6") << 8 << 6 << 99;
    QTest::addRow("8.9") << 8 << 9 << 99;
    QTest::addRow("9.0") << 9 << 0 << 227;
    QTest::addRow("12.0") << 12 << 0 << 99;
}

void TstLaunches::asksForSharedMemory()
{
    QFETCH(const int, major);
    QFETCH(const int, minor);
    QFETCH(const int, kibibytes);
    cudahost::Settings settings;
    settings.computeMajor = major;
    settings.computeMinor = minor;
    cudahost::reset(settings);
    const std::size_t most = static_cast<std::size_t>(kibibytes) * 1024;
    QCOMPARE(launch(useShared, {dim3(1), dim3(1), most}, nullptr, most), cudaSuccess);
    QCOMPARE(launch(useShared, {dim3(1), dim3(1), most + 1}, nullptr, most), cudaErrorInvalidValue);
    int value = 0;
    QCOMPARE(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0), cudaSuccess);
    QCOMPARE(static_cast<std::size_t>(value), most);
}

void TstLaunches::sharedMemoryHasToBeAskedFor()
{
    constexpr std::size_t plain = 48 * 1024;
    const auto start = [](std::size_t bytes) {
        return cudahost::launch(useShared, dim3(1), dim3(1), bytes, nullptr, false, std::tuple(bytes));
    };
    QCOMPARE(start(plain), cudaSuccess);
    QCOMPARE(start(plain + 1), cudaErrorInvalidValue);
    QCOMPARE(cudaFuncSetAttribute(useShared, cudaFuncAttributeMaxDynamicSharedMemorySize, plain + 1),
             cudaSuccess);
    QCOMPARE(start(plain + 1), cudaSuccess);
    QCOMPARE(start(plain + 2), cudaErrorInvalidValue);
    cudaFuncAttributes attributes{};
    QCOMPARE(cudaFuncGetAttributes(&attributes, useShared), cudaSuccess);
    QCOMPARE(attributes.maxDynamicSharedSizeBytes, static_cast<int>(plain + 1));
}

void TstLaunches::visitsEachBlockOnce_data()
{
    QTest::addColumn<unsigned int>("x");
    QTest::addColumn<unsigned int>("y");
    QTest::addColumn<unsigned int>("z");
    QTest::addRow("one") << 1U << 1U << 1U;
    QTest::addRow("two") << 2U << 1U << 1U;
    QTest::addRow("three") << 1U << 3U << 1U;
    QTest::addRow("odd") << 5U << 7U << 3U;
    QTest::addRow("round") << 64U << 4U << 4U;
}

void TstLaunches::visitsEachBlockOnce()
{
    QFETCH(const unsigned int, x);
    QFETCH(const unsigned int, y);
    QFETCH(const unsigned int, z);
    std::vector<int> expected;
    for (unsigned int i = 0; i < x * y * z; ++i)
        expected.push_back(static_cast<int>(i));
    const DeviceValues<int> order(expected.size());
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        cudahost::setSeed(seed);
        const DeviceValues<int> counter(std::vector<int>{0});
        QCOMPARE(launch(visit, {dim3(x, y, z), dim3(2), 0}, nullptr, order.data(), counter.data()),
                 cudaSuccess);
        std::vector<int> visited = order.read();
        std::sort(visited.begin(), visited.end());
        QCOMPARE(visited, expected);
    }
}

void TstLaunches::ordersBySeed()
{
    const auto orderOf = [](std::uint64_t seed) {
        cudahost::reset();
        cudahost::setSeed(seed);
        const DeviceValues<int> order(128);
        const DeviceValues<int> counter(std::vector<int>{0});
        demand(launch(orderOfThreads, {dim3(1), dim3(128), 0}, nullptr, order.data(), counter.data()));
        return order.read();
    };
    QCOMPARE(orderOf(3), orderOf(3));
    bool isWarpReversed = false;
    bool isLaneReversed = false;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const std::vector<int> order = orderOf(seed);
        const auto placeOf = [&](int thread) {
            return std::find(order.begin(), order.end(), thread) - order.begin();
        };
        isWarpReversed |= placeOf(0) > placeOf(127);
        isLaneReversed |= placeOf(0) > placeOf(1);
    }
    QVERIFY(isWarpReversed);
    QVERIFY(isLaneReversed);
    QVERIFY(orderOf(1) != orderOf(2));
}

void TstLaunches::recordsLaunches()
{
    QCOMPARE(launch(nothing, {dim3(1), dim3(1), 0}, nullptr), cudaSuccess);
    QVERIFY(cudahost::takeLaunches().empty());
    cudahost::recordLaunches();
    QCOMPARE(launch(useShared, {dim3(2), dim3(3, 4), 77}, nullptr, std::size_t{9}), cudaSuccess);
    const std::vector<cudahost::LaunchRecord> launches = cudahost::takeLaunches();
    QCOMPARE(launches.size(), std::size_t{1});
    QVERIFY2(launches[0].kernel.find("useShared") != std::string::npos, launches[0].kernel.c_str());
    QCOMPARE(launches[0].grid.x, 2U);
    QCOMPARE(launches[0].block.y, 4U);
    QCOMPARE(launches[0].sharedBytes, std::size_t{77});
    QCOMPARE(cudahost::launchCount(), 2);
}

void TstLaunches::losesDevice()
{
    cudahost::Settings settings;
    settings.loseAtLaunch = 2;
    cudahost::configure(settings);
    void *data = nullptr;
    QCOMPARE(cudaMalloc(&data, 16), cudaSuccess);
    QCOMPARE(launch(nothing, {dim3(1), dim3(1), 0}, nullptr), cudaSuccess);
    QCOMPARE(launch(nothing, {dim3(1), dim3(1), 0}, nullptr), cudaErrorIllegalAddress);
    QCOMPARE(launch(nothing, {dim3(1), dim3(1), 0}, nullptr), cudaErrorIllegalAddress);
    QCOMPARE(cudaFree(data), cudaErrorIllegalAddress);
    QCOMPARE(cudaMemset(data, 0, 16), cudaErrorIllegalAddress);
    QCOMPARE(cudaGetLastError(), cudaErrorIllegalAddress);
    QCOMPARE(cudaGetLastError(), cudaErrorIllegalAddress); // it stays
    QVERIFY(cudahost::takeFaults().empty());               // and was nobody's fault
}

void TstLaunches::needsCodeForDevice()
{
    cudahost::Settings settings;
    settings.computeMajor = 6;
    settings.computeMinor = 1;
    cudahost::reset(settings);
    QCOMPARE(launch(nothing, {dim3(1), dim3(1), 0}, nullptr), cudaErrorNoKernelImageForDevice);
    settings.computeMajor = 7;
    settings.computeMinor = 5;
    cudahost::reset(settings);
    QCOMPARE(launch(nothing, {dim3(1), dim3(1), 0}, nullptr), cudaSuccess);
}

TOKENLOUPE_TEST_MAIN(TstLaunches)
#include "tst_launches.moc"
