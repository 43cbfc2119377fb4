// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/launch.h"
#include "tests/cudahost/cudahost.h"
#include "tests/cudahost/devicevalues.h"
#include "tests/support/testmain.h"

using namespace cudahost::test;
using tokenloupe::cuda::canBeginEarly;
using tokenloupe::cuda::followPrevious;
using tokenloupe::cuda::launch;
using tokenloupe::cuda::sharedMemory;

namespace {

constexpr int threads = 64;
constexpr int blocks = 3;
constexpr int values = threads * blocks;

enum class Mistake {
    None,
    ReadsEarly,    ///< what the kernel in front writes
    WritesEarly,   ///< what the kernel in front reads
    OneReadsEarly, ///< of all threads
    NeverFollows,
    OneLeavesFirst, ///< without having followed
    BarrierForSome, ///< in front of it, that the others never reach
};

// to[i] = from[values - 1 - i] + 1
__global__ void turnAround(Mistake mistake, const int *from, int *to)
{
    const auto thread = static_cast<int>(blockIdx.x * threads + threadIdx.x);
    const int source = values - 1 - thread;
    int early = 0;
    if (mistake == Mistake::ReadsEarly || (mistake == Mistake::OneReadsEarly && threadIdx.x == 13))
        early = from[source];
    if (mistake == Mistake::WritesEarly)
        to[thread] = 0;
    if (mistake == Mistake::OneLeavesFirst && threadIdx.x == 13)
        return;
    if (mistake == Mistake::BarrierForSome && threadIdx.x < 32)
        __syncthreads();
    if (mistake != Mistake::NeverFollows)
        followPrevious();
    const bool isEarly =
        mistake == Mistake::ReadsEarly || (mistake == Mistake::OneReadsEarly && threadIdx.x == 13);
    to[thread] = (isEarly ? early : from[source]) + 1;
}

// Its first instructions need nothing that others write.
__global__ void addFromShared(int *to, int added)
{
    int &shared = sharedMemory<int>();
    if (threadIdx.x == 0)
        shared = added;
    __syncthreads();
    followPrevious();
    to[blockIdx.x * threads + threadIdx.x] += shared;
}

} // namespace

Q_DECLARE_METATYPE(Mistake)

/// Kernels that begin before those in front of them have ended: what they do too early shows.
class TstEarlyKernels : public QObject
{
    Q_OBJECT

private slots:
    void init();
    void isNoticed_data();
    void isNoticed();
    void countsInOrder();
    void whatWentWrongInFrontIsNotFollowed();
    void onlyWhereTheDeviceCan_data();
    void onlyWhereTheDeviceCan();
    void canBeTurnedOff();

private:
    /// What came out; nothing where the device was lost.
    static std::vector<int> replay(Mistake mistake, std::uint64_t seed);
};

void TstEarlyKernels::init()
{
    cudahost::Settings settings;
    settings.faultReport = cudahost::FaultReport::Kept;
    cudahost::reset(settings);
}

// A ring of four kernels, each of which turns around what the one in front wrote.
std::vector<int> TstEarlyKernels::replay(Mistake mistake, std::uint64_t seed)
{
    cudahost::setSeed(seed);
    const DeviceValues<int> first(std::vector<int>(values, 100));
    const DeviceValues<int> second(std::vector<int>(values, 200));
    cudaStream_t stream = nullptr;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    const tokenloupe::cuda::LaunchShape shape{dim3(blocks), dim3(threads), sizeof(int)};
    for (int i = 0; i < 2; ++i) {
        launch(turnAround, shape, stream, mistake, first.data(), second.data());
        launch(addFromShared, shape, stream, second.data(), 10);
        launch(turnAround, shape, stream, mistake, second.data(), first.data());
    }
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&executable, graph, 0);
    cudaGraphLaunch(executable, stream);
    std::vector<int> result;
    if (cudaStreamSynchronize(stream) == cudaSuccess)
        result = first.read();
    cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
    return result;
}

void TstEarlyKernels::isNoticed_data()
{
    QTest::addColumn<Mistake>("mistake");
    QTest::addColumn<QString>("said"); // of those that are faults whatever comes out
    QTest::addRow("none") << Mistake::None << QString();
    QTest::addRow("reads early") << Mistake::ReadsEarly << QString();
    QTest::addRow("writes early") << Mistake::WritesEarly << QString();
    QTest::addRow("one thread reads early") << Mistake::OneReadsEarly << QString();
    QTest::addRow("never follows") << Mistake::NeverFollows
                                   << "0 of 64 threads waited for the kernel in front";
    QTest::addRow("one thread leaves first")
        << Mistake::OneLeavesFirst << "63 of 64 threads waited for the kernel in front";
    QTest::addRow("barrier for some") << Mistake::BarrierForSome << "threads wait at the barrier";
}

void TstEarlyKernels::isNoticed()
{
    QFETCH(const Mistake, mistake);
    QFETCH(const QString, said);
    const std::vector<int> expected(values, 124);
    constexpr int seeds = 20;
    int noticed = 0;
    int heard = 0;
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        init();
        const bool isRight = replay(mistake, seed) == expected;
        const std::vector<std::string> faults = cudahost::takeFaults();
        noticed += isRight && faults.empty() ? 0 : 1;
        for (const std::string &fault : faults)
            heard += !said.isEmpty() && QString::fromStdString(fault).contains(said) ? 1 : 0;
        if (said.isEmpty())
            QCOMPARE(faults.size(), 0);
    }
    if (mistake == Mistake::None)
        QCOMPARE(noticed, 0);
    else
        QVERIFY2(noticed > 0, "no seed shows it");
    if (!said.isEmpty())
        QVERIFY(heard > 0);
    qInfo("%d of %d seeds", noticed, seeds);
}

void TstEarlyKernels::countsInOrder()
{
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        init();
        cudahost::recordLaunches();
        replay(Mistake::None, seed);
        QStringList names;
        for (const cudahost::LaunchRecord &record : cudahost::takeLaunches())
            names.append(QString::fromStdString(record.kernel).contains("turnAround") ? "turn" : "add");
        QCOMPARE(names.join(' '), "turn add turn turn add turn");
        QCOMPARE(cudahost::launchCount(), 6);
    }
}

void TstEarlyKernels::whatWentWrongInFrontIsNotFollowed()
{
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        init();
        cudahost::Settings settings = cudahost::settings();
        settings.loseAtLaunch = 2;
        cudahost::configure(settings);
        replay(Mistake::None, seed);
        QCOMPARE(cudahost::launchCount(), 2);
        QCOMPARE(cudahost::takeFaults().size(), 0);
    }
}

void TstEarlyKernels::onlyWhereTheDeviceCan_data()
{
    QTest::addColumn<int>("major");
    QTest::addColumn<int>("minor");
    QTest::addColumn<bool>("canDo");
    QTest::addRow("7.5") << 7 << 5 << false;
    QTest::addRow("8.6") << 8 << 6 << false;
    QTest::addRow("8.9") << 8 << 9 << false;
    QTest::addRow("9.0") << 9 << 0 << true;
    QTest::addRow("12.0") << 12 << 0 << true;
}

void TstEarlyKernels::onlyWhereTheDeviceCan()
{
    QFETCH(const int, major);
    QFETCH(const int, minor);
    QFETCH(const bool, canDo);
    cudahost::Settings settings = cudahost::settings();
    settings.computeMajor = major;
    settings.computeMinor = minor;
    cudahost::reset(settings);
    QCOMPARE(canBeginEarly(reinterpret_cast<const void *>(addFromShared)), canDo);
    QCOMPARE(replay(Mistake::None, 1), std::vector<int>(values, 124));
    QCOMPARE(cudahost::takeFaults().size(), 0);
    // Where kernels run one after the other nothing is too early.
    if (!canDo)
        QCOMPARE(replay(Mistake::ReadsEarly, 1), std::vector<int>(values, 124));
    // The runtime refuses what the device cannot do.
    const DeviceValues<int> target(std::vector<int>(threads, 0));
    const cudaError_t asked = cudahost::launch(addFromShared, dim3(1), dim3(1), sizeof(int), nullptr, true,
                                               std::tuple<int *, int>(target.data(), 1));
    QCOMPARE(asked, canDo ? cudaSuccess : cudaErrorInvalidConfiguration);
}

void TstEarlyKernels::canBeTurnedOff()
{
    qputenv("TOKENLOUPE_CUDA_OVERLAP", "0");
    const bool isOn = canBeginEarly(reinterpret_cast<const void *>(addFromShared));
    qunsetenv("TOKENLOUPE_CUDA_OVERLAP");
    QVERIFY(!isOn);
    QVERIFY(canBeginEarly(reinterpret_cast<const void *>(addFromShared)));
}

TOKENLOUPE_TEST_MAIN(TstEarlyKernels)
#include "tst_earlykernels.moc"
