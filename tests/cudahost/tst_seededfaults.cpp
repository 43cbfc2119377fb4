// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/launch.h"
#include "tests/cudahost/cudahost.h"
#include "tests/cudahost/devicevalues.h"
#include "tests/support/testmain.h"

#include <functional>

using namespace cudahost::test;
using tokenloupe::cuda::followPrevious;
using tokenloupe::cuda::launch;
using tokenloupe::cuda::sharedMemory;

namespace {

// What is wrong with the one kernel of this test. Each is a mistake that is easily made and that often goes
// unnoticed on a device.
enum class Mistake {
    None,
    NoBarrierBeforeReading,
    NoBarrierBeforeReuse,
    NoBarrierBetweenStages,
    DivergentBarrier,
    BarrierForSomeOnly,
    ShuffleForSomeOnly,
    LeftWithoutShuffle,
    OneColumnShort,
    OneColumnTooMany,
    WrongStride,
    SharedReadPastEnd,
    SharedWritePastEnd,
    SharedTypeTooLarge,
    SharedReadUnwritten,
    WritePastAllocation,
    WriteBeforeAllocation,
    NotAtomic,
};

struct Shared
{
    float values[64];
};

constexpr int blockThreads = 64;
constexpr int writer = 29; // the thread that writes the result

// output[block] = four times the sum of the block's row of the input: once and twice it by a tree in shared
// memory, which is used again, and once through the shuffles of a warp.
__global__ void quadrupleSum(Mistake mistake, const float *input, int columns, float *output, int *counter)
{
    followPrevious();
    const int thread = static_cast<int>(threadIdx.x);
    auto &shared = sharedMemory<Shared>();
    if (mistake == Mistake::SharedTypeTooLarge)
        sharedMemory<float[65]>()[0] = 0.0F;
    const float *row = input + static_cast<std::ptrdiff_t>(blockIdx.x) *
                                   (mistake == Mistake::WrongStride ? columns - 1 : columns);
    const int end = mistake == Mistake::OneColumnShort     ? columns - 1
                    : mistake == Mistake::OneColumnTooMany ? columns + 1
                                                           : columns;
    float sum = 0.0F;
    for (int column = thread; column < end; column += blockThreads)
        sum += row[column];

    float treeSum = 0.0F;
    float firstSum = 0.0F;
    for (int pass = 1; pass <= 2; ++pass) {
        if (!(mistake == Mistake::SharedReadUnwritten && thread == 5))
            shared.values[thread] = static_cast<float>(pass) * sum;
        if (mistake == Mistake::SharedWritePastEnd && thread == blockThreads - 1)
            (&shared.values[0])[thread + 1] = sum;
        for (int half = blockThreads / 2; half > 0; half /= 2) {
            const bool isMissing = (mistake == Mistake::NoBarrierBeforeReading && half == blockThreads / 2) ||
                                   (mistake == Mistake::NoBarrierBetweenStages && half == 8);
            if (!isMissing)
                __syncthreads();
            if (thread < half)
                shared.values[thread] +=
                    (&shared.values[0])[thread + half +
                                        (mistake == Mistake::SharedReadPastEnd && half == 32 ? 1 : 0)];
        }
        __syncthreads();
        treeSum += shared.values[0];
        firstSum = pass == 1 ? treeSum : firstSum;
        if (mistake != Mistake::NoBarrierBeforeReuse)
            __syncthreads();
    }
    if (mistake == Mistake::DivergentBarrier) {
        if (thread % 2 == 0)
            __syncthreads();
        else
            __syncthreads();
    }
    if (mistake == Mistake::BarrierForSomeOnly && thread < 40)
        __syncthreads();
    const int before = *counter;
    __syncthreads();
    if (mistake == Mistake::NotAtomic)
        *counter = before + 1;
    else
        atomicAdd(counter, 1);

    if (mistake == Mistake::LeftWithoutShuffle && thread == 20)
        return;
    if (thread < 32) {
        float warpSum = thread == writer ? firstSum : 0.0F;
        if (mistake != Mistake::ShuffleForSomeOnly || thread < 30)
            for (int delta = 16; delta > 0; delta /= 2)
                warpSum += __shfl_xor_sync(0xFFFFFFFF, warpSum, delta);
        else
            __syncwarp(0xC0000000);
        if (thread == writer) {
            const int place = mistake == Mistake::WritePastAllocation     ? static_cast<int>(gridDim.x)
                              : mistake == Mistake::WriteBeforeAllocation ? -1
                                                                          : static_cast<int>(blockIdx.x);
            output[place] = warpSum + treeSum;
        }
    }
}

} // namespace

Q_DECLARE_METATYPE(Mistake)

/// Every mistake shows for at least one order of the threads; the right kernel is right for all.
class TstSeededFaults : public QObject
{
    Q_OBJECT

private slots:
    void isNoticed_data();
    void isNoticed();
};

void TstSeededFaults::isNoticed_data()
{
    QTest::addColumn<Mistake>("mistake");
    QTest::addColumn<bool>(
        "isSeenByAddress"); // the address sanitizer ends the program where it sees such a one
    QTest::addRow("none") << Mistake::None << false;
    QTest::addRow("no barrier before reading") << Mistake::NoBarrierBeforeReading << false;
    QTest::addRow("no barrier before reuse") << Mistake::NoBarrierBeforeReuse << false;
    QTest::addRow("no barrier between stages") << Mistake::NoBarrierBetweenStages << false;
    QTest::addRow("divergent barrier") << Mistake::DivergentBarrier << false;
    QTest::addRow("barrier for some only") << Mistake::BarrierForSomeOnly << false;
    QTest::addRow("shuffle for some only") << Mistake::ShuffleForSomeOnly << false;
    QTest::addRow("left without shuffle") << Mistake::LeftWithoutShuffle << false;
    QTest::addRow("one column short") << Mistake::OneColumnShort << false;
    QTest::addRow("one column too many") << Mistake::OneColumnTooMany << true;
    QTest::addRow("wrong stride") << Mistake::WrongStride << false;
    QTest::addRow("shared read past the end") << Mistake::SharedReadPastEnd << true;
    QTest::addRow("shared write past the end") << Mistake::SharedWritePastEnd << true;
    QTest::addRow("shared type too large") << Mistake::SharedTypeTooLarge << false;
    QTest::addRow("shared read unwritten") << Mistake::SharedReadUnwritten << false;
    QTest::addRow("write past the allocation") << Mistake::WritePastAllocation << true;
    QTest::addRow("write before the allocation") << Mistake::WriteBeforeAllocation << true;
    QTest::addRow("not atomic") << Mistake::NotAtomic << false;
}

void TstSeededFaults::isNoticed()
{
    QFETCH(const Mistake, mistake);
#ifdef __SANITIZE_ADDRESS__
    QFETCH(const bool, isSeenByAddress);
    if (isSeenByAddress)
        return;
#endif
    constexpr int rows = 3;
    constexpr int columns = 150;
    std::vector<float> input(rows * columns);
    std::vector<float> expected(rows);
    for (std::size_t i = 0; i < input.size(); ++i) {
        input[i] = static_cast<float>(1 + i % 7);
        expected[i / columns] += 4.0F * input[i];
    }
    constexpr int seeds = 20;
    int noticed = 0;
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        cudahost::Settings settings;
        settings.faultReport = cudahost::FaultReport::Kept;
        cudahost::reset(settings);
        cudahost::setSeed(seed);
        const DeviceValues<float> deviceInput(input);
        const DeviceValues<float> output(expected.size());
        const DeviceValues<int> counter(std::vector<int>{0});
        const cudaError_t error =
            launch(quadrupleSum, {dim3(rows), dim3(blockThreads), sizeof(Shared)}, nullptr, mistake,
                   deviceInput.data(), columns, output.data(), counter.data());
        const bool isRight = error == cudaSuccess && output.read() == expected &&
                             counter.read() == std::vector<int>{rows * blockThreads};
        QCOMPARE(error != cudaSuccess, !cudahost::takeFaults().empty());
        noticed += isRight ? 0 : 1;
    }
    if (mistake == Mistake::None)
        QCOMPARE(noticed, 0);
    else
        QVERIFY2(noticed > 0, "no seed shows it");
    qInfo("%d of %d seeds", noticed, seeds);
}

TOKENLOUPE_TEST_MAIN(TstSeededFaults)
#include "tst_seededfaults.moc"
