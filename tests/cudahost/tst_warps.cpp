// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/launch.h"
#include "tests/cudahost/cudahost.h"
#include "tests/cudahost/devicevalues.h"
#include "tests/support/testmain.h"

#include <cuda_fp16.h>

using namespace cudahost::test;
using tokenloupe::cuda::followPrevious;
using tokenloupe::cuda::launch;

namespace {

constexpr unsigned int all = 0xFFFFFFFF;

// results[form][lane]
__global__ void shuffles(int number, int width, int *results)
{
    followPrevious();
    const int lane = static_cast<int>(threadIdx.x);
    const int value = 100 + lane;
    results[lane] = __shfl_sync(all, value, number, width);
    results[32 + lane] = __shfl_down_sync(all, value, static_cast<unsigned int>(number), width);
    results[64 + lane] = __shfl_up_sync(all, value, static_cast<unsigned int>(number), width);
    results[96 + lane] = __shfl_xor_sync(all, value, number, width);
}

__global__ void shufflesOfTypes(double *results)
{
    followPrevious();
    const int lane = static_cast<int>(threadIdx.x);
    results[lane] = __shfl_xor_sync(all, 0.1 * lane, 1);
    results[32 + lane] = static_cast<double>(__shfl_xor_sync(all, 1LL << (lane + 20), 2));
    results[64 + lane] = static_cast<double>(__shfl_xor_sync(all, 0.5F * static_cast<float>(lane), 4));
    results[96 + lane] = static_cast<double>(
        __half2float(__shfl_xor_sync(all, __float2half(0.25F * static_cast<float>(lane)), 8)));
}

__global__ void votes(unsigned int *results)
{
    followPrevious();
    const unsigned int lane = threadIdx.x;
    const unsigned int even = __ballot_sync(all, lane % 2 == 0);
    const auto any = static_cast<unsigned int>(__any_sync(all, lane == 7) * 2 + __any_sync(all, 0));
    const auto every = static_cast<unsigned int>(__all_sync(all, lane != 7) * 2 + __all_sync(all, lane < 32));
    int isSame = 0;
    const unsigned int same = __match_any_sync(all, lane / 5);
    const unsigned int sameForAll = __match_all_sync(all, 3, &isSame);
    results[lane] = even;
    results[32 + lane] = any;
    results[64 + lane] = every;
    results[96 + lane] = same;
    results[128 + lane] = sameForAll + static_cast<unsigned int>(isSame);
}

__global__ void reductions(int *results)
{
    followPrevious();
    const int value = (static_cast<int>(threadIdx.x) * 7) % 32 - 16;
    const auto bits = static_cast<unsigned int>(value);
    results[0] = __reduce_add_sync(all, value);
    results[1] = __reduce_min_sync(all, value);
    results[2] = __reduce_max_sync(all, value);
    results[3] = static_cast<int>(__reduce_min_sync(all, bits));
    results[4] = static_cast<int>(__reduce_max_sync(all, bits));
    results[5] = static_cast<int>(__reduce_and_sync(all, bits | 4U));
    results[6] = static_cast<int>(__reduce_or_sync(all, bits & 5U));
    results[7] = static_cast<int>(__reduce_xor_sync(all, bits));
}

// The four quarters of a warp each on their own, in code that only they come to.
__global__ void groups(int *results)
{
    followPrevious();
    const unsigned int lane = threadIdx.x;
    const unsigned int mask = 0xFFU << (lane / 8 * 8);
    int sum = static_cast<int>(lane);
    for (unsigned int times = 0; times <= lane / 8; ++times)
        for (int delta = 4; delta > 0; delta /= 2)
            sum += __shfl_xor_sync(mask, sum, delta);
    results[lane] = sum;
}

enum class Wrong { OwnLane, EndedLane, NoSuchLane, OtherMask, OtherAction, Width, WaitsForever };

__global__ void isWrong(Wrong wrong)
{
    followPrevious();
    const unsigned int lane = threadIdx.x;
    switch (wrong) {
    case Wrong::OwnLane:
        __shfl_sync(0x0000FFFF, 1, 0);
        return;
    case Wrong::EndedLane:
        if (lane != 3)
            __ballot_sync(all, 1);
        return;
    case Wrong::NoSuchLane:
        __reduce_add_sync(1U << 30 | 0xFFFFFU, 1);
        return;
    case Wrong::OtherMask:
        __syncwarp(lane < 10 ? 0xFFFFFU : 0xFFFFEU);
        return;
    case Wrong::OtherAction:
        if (lane < 5)
            __shfl_sync(0xFFFFF, 1, 0);
        else
            __ballot_sync(0xFFFFF, 1);
        return;
    case Wrong::Width:
        __shfl_sync(0xFFFFF, 1, 0, 12);
        return;
    case Wrong::WaitsForever:
        if (lane < 10)
            __syncwarp(0x7FF);
        else
            __syncthreads();
        return;
    }
}

} // namespace

Q_DECLARE_METATYPE(Wrong)

/// Shuffles, votes and reductions of a warp, and what is said where its lanes do not agree.
class TstWarps : public QObject
{
    Q_OBJECT

private slots:
    void init();
    void cleanup() { QVERIFY(cudahost::takeFaults().empty()); }
    void shufflesIntegers_data();
    void shufflesIntegers();
    void shufflesTypes();
    void countsVotes();
    void reduces();
    void keepsGroupsApart();
    void reportsWrongUse_data();
    void reportsWrongUse();
};

void TstWarps::init()
{
    cudahost::Settings settings;
    settings.faultReport = cudahost::FaultReport::Kept;
    cudahost::reset(settings);
}

void TstWarps::shufflesIntegers_data()
{
    QTest::addColumn<int>("number");
    QTest::addColumn<int>("width");
    for (const int width : {1, 2, 8, 16, 32})
        for (const int number : {0, 1, 3, 5, 15, 31})
            QTest::addRow("%d of %d", number, width) << number << width;
}

void TstWarps::shufflesIntegers()
{
    QFETCH(const int, number);
    QFETCH(const int, width);
    std::vector<int> expected(128);
    for (int lane = 0; lane < 32; ++lane) {
        const int begin = lane / width * width;
        const auto value = [&](int source, bool isInReach) { return 100 + (isInReach ? source : lane); };
        const auto at = static_cast<std::size_t>(lane);
        expected[at] = value(begin + number % width, true);
        expected[32 + at] = value(lane + number, lane + number < begin + width);
        expected[64 + at] = value(lane - number, lane - number >= begin);
        expected[96 + at] = value(lane ^ number, (lane ^ number) < begin + width);
    }
    const DeviceValues<int> results(128);
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
        cudahost::setSeed(seed);
        QCOMPARE(launch(shuffles, {dim3(1), dim3(32), 0}, nullptr, number, width, results.data()),
                 cudaSuccess);
        QCOMPARE(results.read(), expected);
    }
}

void TstWarps::shufflesTypes()
{
    const DeviceValues<double> results(128);
    QCOMPARE(launch(shufflesOfTypes, {dim3(1), dim3(32), 0}, nullptr, results.data()), cudaSuccess);
    const std::vector<double> values = results.read();
    for (int lane = 0; lane < 32; ++lane) {
        const auto at = static_cast<std::size_t>(lane);
        QCOMPARE(values[at], 0.1 * (lane ^ 1));
        QCOMPARE(values[32 + at], static_cast<double>(1LL << ((lane ^ 2) + 20)));
        QCOMPARE(values[64 + at], 0.5 * (lane ^ 4));
        QCOMPARE(values[96 + at], 0.25 * (lane ^ 8));
    }
}

void TstWarps::countsVotes()
{
    const DeviceValues<unsigned int> results(160);
    QCOMPARE(launch(votes, {dim3(1), dim3(32), 0}, nullptr, results.data()), cudaSuccess);
    const std::vector<unsigned int> values = results.read();
    for (unsigned int lane = 0; lane < 32; ++lane) {
        QCOMPARE(values[lane], 0x55555555U);
        QCOMPARE(values[32 + lane], 2U);
        QCOMPARE(values[64 + lane], 1U);
        QCOMPARE(values[96 + lane], lane < 30 ? 0x1FU << (lane / 5 * 5) : 0xC0000000U);
        QCOMPARE(values[128 + lane], 0U); // all lanes, and 1
    }
}

void TstWarps::reduces()
{
    const DeviceValues<int> results(8);
    QCOMPARE(launch(reductions, {dim3(1), dim3(32), 0}, nullptr, results.data()), cudaSuccess);
    QCOMPARE(results.read(), (std::vector<int>{-16, -16, 15, 0, -1, 4, 5, 0}));
}

void TstWarps::keepsGroupsApart()
{
    std::vector<int> expected(32);
    for (std::size_t lane = 0; lane < 32; ++lane) {
        const int group = static_cast<int>(lane / 8);
        int sum = 8 * 8 * group + 28;
        for (int times = 0; times < group; ++times)
            sum *= 8;
        expected[lane] = sum;
    }
    const DeviceValues<int> results(32);
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        cudahost::setSeed(seed);
        QCOMPARE(launch(groups, {dim3(1), dim3(32), 0}, nullptr, results.data()), cudaSuccess);
        QCOMPARE(results.read(), expected);
    }
}

void TstWarps::reportsWrongUse_data()
{
    QTest::addColumn<Wrong>("wrong");
    QTest::addColumn<QString>("report");
    QTest::addRow("own lane") << Wrong::OwnLane << "is missing from its own mask";
    QTest::addRow("ended lane") << Wrong::EndedLane << "end";
    QTest::addRow("no such lane") << Wrong::NoSuchLane << "have ended or do not exist: 0x40000000";
    QTest::addRow("other mask") << Wrong::OtherMask << "with mask";
    QTest::addRow("other action") << Wrong::OtherAction << "does something else";
    QTest::addRow("width") << Wrong::Width << "no power of two";
    QTest::addRow("waits forever") << Wrong::WaitsForever << "hangs";
}

void TstWarps::reportsWrongUse()
{
    QFETCH(const Wrong, wrong);
    QFETCH(const QString, report);
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        cudahost::setSeed(seed);
        QCOMPARE(launch(isWrong, {dim3(1), dim3(20), 0}, nullptr, wrong), cudaErrorLaunchFailure);
        const std::vector<std::string> faults = cudahost::takeFaults();
        QCOMPARE(faults.size(), std::size_t{1});
        QVERIFY2(faults.front().find(report.toStdString()) != std::string::npos, faults.front().c_str());
    }
}

TOKENLOUPE_TEST_MAIN(TstWarps)
#include "tst_warps.moc"
