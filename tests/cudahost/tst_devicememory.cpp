// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/launch.h"
#include "tests/cudahost/cudahost.h"
#include "tests/cudahost/devicevalues.h"
#include "tests/support/testmain.h"

#include <cmath>

using namespace cudahost::test;
using tokenloupe::cuda::followPrevious;
using tokenloupe::cuda::launch;

namespace {

__global__ void writeAt(volatile unsigned char *data, std::ptrdiff_t place)
{
    followPrevious();
    data[place] = 7;
}

cudahost::Settings quiet()
{
    cudahost::Settings settings;
    settings.faultReport = cudahost::FaultReport::Kept;
    return settings;
}

} // namespace

/// Memory of the device and page-locked memory, and the copies between them.
class TstDeviceMemory : public QObject
{
    Q_OBJECT

private slots:
    void init() { cudahost::reset(quiet()); }
    void beginsUndefined();
    void noticesWrites_data();
    void noticesWrites();
    void noticesWritesToFreed();
    void noticesWritesOfTheHost();
    void endsWhereTheCardEnds();
    void failsWhenAsked();
    void refusesWhatIsNoAllocation();
    void copiesOnlyWhatFits_data();
    void copiesOnlyWhatFits();
    void countsWhatIsAllocated();
};

void TstDeviceMemory::beginsUndefined()
{
    const DeviceValues<float> values(100);
    for (const float value : values.read())
        QVERIFY(std::isnan(value));
    int *host = nullptr;
    QCOMPARE(cudaMallocHost(&host, 100), cudaSuccess);
    QCOMPARE(host[24], -1);
    QCOMPARE(cudaFreeHost(host), cudaSuccess);
    QCOMPARE(reinterpret_cast<std::uintptr_t>(values.data()) % 512,
             std::uintptr_t{256}); // as promised, and no more
}

void TstDeviceMemory::noticesWrites_data()
{
    QTest::addColumn<qint64>("place");
    QTest::addColumn<bool>("isInside");
    QTest::addRow("first") << qint64{0} << true;
    QTest::addRow("last") << qint64{100} << true;
    QTest::addRow("after the last") << qint64{101} << false;
    QTest::addRow("far after") << qint64{600} << false;
    QTest::addRow("before the first") << qint64{-1} << false;
    QTest::addRow("far before") << qint64{-512} << false;
}

void TstDeviceMemory::noticesWrites()
{
    QFETCH(const qint64, place);
    QFETCH(const bool, isInside);
#ifdef __SANITIZE_ADDRESS__
    if (!isInside)
        QSKIP("the address sanitizer ends the program at such a write");
#endif
    const DeviceValues<unsigned char> values(101);
    QCOMPARE(
        launch(writeAt, {dim3(1), dim3(1), 0}, nullptr, values.data(), static_cast<std::ptrdiff_t>(place)),
        isInside ? cudaSuccess : cudaErrorIllegalAddress);
    const std::vector<std::string> faults = cudahost::takeFaults();
    QCOMPARE(faults.size(), std::size_t{isInside ? 0U : 1U});
    if (!isInside)
        QVERIFY2(faults.front().find("allocation 1 of 101 bytes") != std::string::npos,
                 faults.front().c_str());
    cudahost::checkMemory(); // what was broken is whole again
    QVERIFY(cudahost::takeFaults().empty());
}

void TstDeviceMemory::noticesWritesToFreed()
{
#ifdef __SANITIZE_ADDRESS__
    QSKIP("the address sanitizer ends the program at such a write");
#endif
    unsigned char *data = nullptr;
    QCOMPARE(cudaMalloc(&data, 64), cudaSuccess);
    QCOMPARE(cudaFree(data), cudaSuccess);
    QCOMPARE(launch(writeAt, {dim3(1), dim3(1), 0}, nullptr, data, std::ptrdiff_t{9}),
             cudaErrorIllegalAddress);
    QVERIFY(cudahost::takeFaults().front().find("written to after it was freed, at byte 9") !=
            std::string::npos);
}

void TstDeviceMemory::noticesWritesOfTheHost()
{
#ifdef __SANITIZE_ADDRESS__
    QSKIP("the address sanitizer ends the program at such a write");
#endif
    char *data = nullptr;
    QCOMPARE(cudaMallocHost(&data, 64), cudaSuccess);
    static_cast<volatile char *>(data)[64] = 'x';
    QCOMPARE(cudaFreeHost(data), cudaErrorIllegalAddress);
    QVERIFY(cudahost::takeFaults().front().find("page-locked host allocation 1") != std::string::npos);
}

void TstDeviceMemory::endsWhereTheCardEnds()
{
    cudahost::Settings settings = quiet();
    settings.cardBytes = 1000;
    cudahost::reset(settings);
    void *first = nullptr;
    void *second = &first;
    QCOMPARE(cudaMalloc(&first, 600), cudaSuccess);
    std::size_t freeBytes = 0;
    std::size_t totalBytes = 0;
    QCOMPARE(cudaMemGetInfo(&freeBytes, &totalBytes), cudaSuccess);
    QCOMPARE(freeBytes, std::size_t{400});
    QCOMPARE(totalBytes, std::size_t{1000});
    QCOMPARE(cudaMalloc(&second, 401), cudaErrorMemoryAllocation);
    QCOMPARE(second, nullptr);
    // Not a lost device: the next call is as good as any.
    QCOMPARE(cudaGetLastError(), cudaErrorMemoryAllocation);
    QCOMPARE(cudaGetLastError(), cudaSuccess);
    QCOMPARE(cudaMalloc(&second, 400), cudaSuccess);
    QCOMPARE(cudaFree(first), cudaSuccess);
    QCOMPARE(cudaMalloc(&first, 600), cudaSuccess);
    QCOMPARE(cudaMalloc(&first, ~std::size_t{0}), cudaErrorMemoryAllocation);
}

void TstDeviceMemory::failsWhenAsked()
{
    cudahost::Settings settings = quiet();
    settings.failingAllocation = 2;
    settings.failingHostAllocation = 1;
    cudahost::configure(settings);
    void *data = nullptr;
    QCOMPARE(cudaMalloc(&data, 8), cudaSuccess);
    QCOMPARE(cudaMalloc(&data, 8), cudaErrorMemoryAllocation);
    QCOMPARE(cudaMalloc(&data, 8), cudaSuccess);
    QCOMPARE(cudaMallocHost(&data, 8), cudaErrorMemoryAllocation);
    QCOMPARE(cudaMallocHost(&data, 8), cudaSuccess);
}

void TstDeviceMemory::refusesWhatIsNoAllocation()
{
    const DeviceValues<char> values(10);
    char pageable = 0;
    QCOMPARE(cudaFree(values.data() + 1), cudaErrorInvalidValue);
    QCOMPARE(cudaFree(&pageable), cudaErrorInvalidValue);
    QCOMPARE(cudaFreeHost(values.data()), cudaErrorInvalidValue);
    QCOMPARE(cudaFree(nullptr), cudaSuccess);
    void *data = nullptr;
    QCOMPARE(cudaMalloc(&data, 0), cudaSuccess);
    QCOMPARE(data, nullptr);
}

void TstDeviceMemory::copiesOnlyWhatFits_data()
{
    // Places: 0 device, 1 page-locked, 2 pageable, 3 another part of the device's.
    QTest::addColumn<int>("to");
    QTest::addColumn<int>("from");
    QTest::addColumn<int>("kind");
    QTest::addColumn<int>("bytes");
    QTest::addColumn<cudaError>("error");
    QTest::addRow("to the device") << 0 << 2 << int(cudaMemcpyHostToDevice) << 64 << cudaSuccess;
    QTest::addRow("page-locked to the device") << 0 << 1 << int(cudaMemcpyHostToDevice) << 64 << cudaSuccess;
    QTest::addRow("from the device") << 2 << 0 << int(cudaMemcpyDeviceToHost) << 64 << cudaSuccess;
    QTest::addRow("on the device") << 3 << 0 << int(cudaMemcpyDeviceToDevice) << 64 << cudaSuccess;
    QTest::addRow("on the host") << 2 << 1 << int(cudaMemcpyHostToHost) << 64 << cudaSuccess;
    QTest::addRow("by its pointers") << 2 << 0 << int(cudaMemcpyDefault) << 64 << cudaSuccess;
    QTest::addRow("nothing") << 0 << 0 << int(cudaMemcpyHostToDevice) << 0 << cudaSuccess;
    QTest::addRow("wrong way") << 0 << 2 << int(cudaMemcpyDeviceToHost) << 64 << cudaErrorInvalidValue;
    QTest::addRow("device as host") << 3 << 0 << int(cudaMemcpyHostToDevice) << 64 << cudaErrorInvalidValue;
    QTest::addRow("host as device") << 1 << 2 << int(cudaMemcpyHostToDevice) << 64 << cudaErrorInvalidValue;
    QTest::addRow("too much for the target")
        << 0 << 2 << int(cudaMemcpyHostToDevice) << 129 << cudaErrorInvalidValue;
    QTest::addRow("more than there is")
        << 2 << 0 << int(cudaMemcpyDeviceToHost) << 129 << cudaErrorInvalidValue;
    QTest::addRow("over itself") << 3 << 0 << int(cudaMemcpyDeviceToDevice) << 65 << cudaErrorInvalidValue;
}

void TstDeviceMemory::copiesOnlyWhatFits()
{
    QFETCH(const int, to);
    QFETCH(const int, from);
    QFETCH(const int, kind);
    QFETCH(const int, bytes);
    QFETCH(const cudaError, error);
    std::vector<char> pageable(200, 'p');
    char *pageLocked = nullptr;
    QCOMPARE(cudaMallocHost(&pageLocked, 128), cudaSuccess);
    std::fill_n(pageLocked, 128, 'l');
    const DeviceValues<char> device(std::vector<char>(128, 'd'));
    char *const places[] = {device.data(), pageLocked, pageable.data(), device.data() + 64};
    const char expected = from == 0 ? 'd' : from == 1 ? 'l' : 'p';
    QCOMPARE(cudaMemcpy(places[to], places[from], static_cast<std::size_t>(bytes),
                        static_cast<cudaMemcpyKind>(kind)),
             error);
    if (error == cudaSuccess && bytes != 0) {
        char copied = 0;
        QCOMPARE(cudaMemcpy(&copied, places[to] + 63, 1, cudaMemcpyDefault), cudaSuccess);
        QCOMPARE(copied, expected);
    }
    // A copy that was refused is no reason to give the device up.
    QCOMPARE(cudaDeviceSynchronize(), cudaSuccess);
}

void TstDeviceMemory::countsWhatIsAllocated()
{
    QCOMPARE(cudahost::allocatedBytes(), std::size_t{0});
    {
        const DeviceValues<int> first(10);
        const DeviceValues<int> second(5);
        QCOMPARE(cudahost::allocatedBytes(), std::size_t{60});
        QCOMPARE(cudahost::allocationCount(), std::size_t{2});
        QCOMPARE(cudahost::hostAllocationCount(), std::size_t{0});
        QCOMPARE(cudaMemset(first.data(), 1, 40), cudaSuccess);
        QCOMPARE(first.read(), std::vector<int>(10, 0x01010101));
        QCOMPARE(cudaMemset(first.data(), 1, 41), cudaErrorInvalidValue);
    }
    QCOMPARE(cudahost::allocatedBytes(), std::size_t{0});
}

TOKENLOUPE_TEST_MAIN(TstDeviceMemory)
#include "tst_devicememory.moc"
