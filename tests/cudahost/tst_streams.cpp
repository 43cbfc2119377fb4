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

__global__ void addTo(float *value, float number)
{
    followPrevious();
    *value = *value * 10.0F + number;
}

cudaStream_t newStream(unsigned int flags = cudaStreamNonBlocking)
{
    cudaStream_t stream = nullptr;
    demand(cudaStreamCreateWithFlags(&stream, flags));
    return stream;
}

cudaError_t append(float *value, int number, cudaStream_t stream)
{
    return launch(addTo, {dim3(1), dim3(1), 0}, stream, value, static_cast<float>(number));
}

// What lies there now, whatever is still to be done.
float peek(const float *value)
{
    return *value;
}

} // namespace

/// Streams whose work is deferred: what is there before anybody has waited, and what then.
class TstStreams : public QObject
{
    Q_OBJECT

private slots:
    void init();
    void worksWhenWaitedFor();
    void worksInOrder();
    void waitsForEvents();
    void eventsAreReachedOneByOne();
    void queriesEnd();
    void defaultStreamWaitsForOthers_data();
    void defaultStreamWaitsForOthers();
    void takesPageableNumbersAtOnce();
    void takesPageLockedNumbersLater();
    void givesNumbersLater();
    void freeingWaits();
    void freesInOrder();
    void noticesCopiesOfFreedMemory();
    void callsTheHost();
    void errorsComeLater();
    void measuresTime();
    void refusesWhatIsNoStream();
};

void TstStreams::init()
{
    cudahost::Settings settings;
    settings.completion = cudahost::Completion::Deferred;
    settings.faultReport = cudahost::FaultReport::Kept;
    cudahost::reset(settings);
}

void TstStreams::worksWhenWaitedFor()
{
    const DeviceValues<float> value(std::vector<float>{0.0F});
    cudaStream_t stream = newStream();
    QCOMPARE(append(value.data(), 3, stream), cudaSuccess);
    QCOMPARE(peek(value.data()), 0.0F);
    QCOMPARE(cudahost::launchCount(), 0);
    QCOMPARE(cudaStreamSynchronize(stream), cudaSuccess);
    QCOMPARE(peek(value.data()), 3.0F);
    QCOMPARE(append(value.data(), 4, stream), cudaSuccess);
    QCOMPARE(cudaDeviceSynchronize(), cudaSuccess);
    QCOMPARE(peek(value.data()), 34.0F);
    QCOMPARE(cudaStreamDestroy(stream), cudaSuccess);
}

void TstStreams::worksInOrder()
{
    const DeviceValues<float> value(1);
    cudaStream_t stream = newStream();
    QCOMPARE(cudaMemsetAsync(value.data(), 0, 4, stream), cudaSuccess);
    for (int number = 1; number <= 4; ++number)
        QCOMPARE(append(value.data(), number, stream), cudaSuccess);
    QVERIFY(std::isnan(peek(value.data())));
    QCOMPARE(cudaStreamSynchronize(stream), cudaSuccess);
    QCOMPARE(peek(value.data()), 1234.0F);
}

void TstStreams::waitsForEvents()
{
    const DeviceValues<float> value(std::vector<float>{0.0F});
    cudaStream_t first = newStream();
    cudaStream_t second = newStream();
    cudaEvent_t event = nullptr;
    QCOMPARE(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
    QCOMPARE(cudaStreamWaitEvent(second, event), cudaSuccess); // not recorded: nothing to wait for
    QCOMPARE(append(value.data(), 1, first), cudaSuccess);
    QCOMPARE(cudaEventRecord(event, first), cudaSuccess);
    QCOMPARE(append(value.data(), 9, first), cudaSuccess);
    QCOMPARE(cudaStreamWaitEvent(second, event), cudaSuccess);
    QCOMPARE(append(value.data(), 2, second), cudaSuccess);
    QCOMPARE(cudaStreamSynchronize(second), cudaSuccess);
    QCOMPARE(peek(value.data()), 12.0F); // and the 9 has nobody asked for
    QCOMPARE(cudaStreamSynchronize(first), cudaSuccess);
    QCOMPARE(peek(value.data()), 129.0F);
    // Without the event the order is another one: whoever forgets it sees that.
    QCOMPARE(append(value.data(), 1, first), cudaSuccess);
    QCOMPARE(append(value.data(), 2, second), cudaSuccess);
    QCOMPARE(cudaStreamSynchronize(second), cudaSuccess);
    QCOMPARE(peek(value.data()), 1292.0F);
    QCOMPARE(cudaEventDestroy(event), cudaSuccess);
    QCOMPARE(cudaEventDestroy(event), cudaErrorInvalidResourceHandle);
}

void TstStreams::eventsAreReachedOneByOne()
{
    const DeviceValues<float> value(std::vector<float>{0.0F});
    cudaStream_t stream = newStream();
    cudaEvent_t event = nullptr;
    QCOMPARE(cudaEventCreate(&event), cudaSuccess);
    QCOMPARE(cudaEventQuery(event), cudaSuccess);
    QCOMPARE(append(value.data(), 1, stream), cudaSuccess);
    QCOMPARE(cudaEventRecord(event, stream), cudaSuccess);
    QCOMPARE(append(value.data(), 2, stream), cudaSuccess);
    QCOMPARE(cudaEventSynchronize(event), cudaSuccess);
    QCOMPARE(peek(value.data()), 1.0F);
    QCOMPARE(cudaEventRecord(event, stream), cudaSuccess);
    QCOMPARE(cudaEventSynchronize(event), cudaSuccess);
    QCOMPARE(peek(value.data()), 12.0F);
}

// Not at once, but whoever asks again and again gets on.
void TstStreams::queriesEnd()
{
    const DeviceValues<float> value(std::vector<float>{0.0F});
    cudaStream_t stream = newStream();
    cudaEvent_t event = nullptr;
    QCOMPARE(cudaEventCreate(&event), cudaSuccess);
    QCOMPARE(append(value.data(), 1, stream), cudaSuccess);
    QCOMPARE(cudaEventRecord(event, stream), cudaSuccess);
    QCOMPARE(cudaEventQuery(event), cudaErrorNotReady);
    QCOMPARE(cudaEventQuery(event), cudaSuccess);
    QCOMPARE(peek(value.data()), 1.0F);
    QCOMPARE(append(value.data(), 2, stream), cudaSuccess);
    QCOMPARE(cudaStreamQuery(stream), cudaErrorNotReady);
    QCOMPARE(cudaStreamQuery(stream), cudaSuccess);
    QCOMPARE(peek(value.data()), 12.0F);
    QCOMPARE(cudaGetLastError(), cudaSuccess); // not ready is no error
}

void TstStreams::defaultStreamWaitsForOthers_data()
{
    QTest::addColumn<unsigned int>("flags");
    QTest::addColumn<float>("expected");
    QTest::addRow("blocking") << cudaStreamDefault << 12.0F;
    QTest::addRow("non-blocking") << cudaStreamNonBlocking << 2.0F;
}

void TstStreams::defaultStreamWaitsForOthers()
{
    QFETCH(const unsigned int, flags);
    QFETCH(const float, expected);
    const DeviceValues<float> value(std::vector<float>{0.0F});
    cudaStream_t stream = newStream(flags);
    QCOMPARE(append(value.data(), 1, stream), cudaSuccess);
    QCOMPARE(append(value.data(), 2, nullptr), cudaSuccess);
    QCOMPARE(cudaStreamSynchronize(nullptr), cudaSuccess);
    QCOMPARE(peek(value.data()), expected);
    // And the other way round.
    QCOMPARE(cudaDeviceSynchronize(), cudaSuccess);
    QCOMPARE(cudaMemset(value.data(), 0, 4), cudaSuccess);
    QCOMPARE(append(value.data(), 1, cudaStreamLegacy), cudaSuccess);
    QCOMPARE(append(value.data(), 2, stream), cudaSuccess);
    QCOMPARE(cudaStreamSynchronize(stream), cudaSuccess);
    QCOMPARE(peek(value.data()) == 12.0F, flags == cudaStreamDefault);
}

void TstStreams::takesPageableNumbersAtOnce()
{
    const DeviceValues<float> value(1);
    cudaStream_t stream = newStream();
    float number = 1.0F;
    QCOMPARE(cudaMemcpyAsync(value.data(), &number, 4, cudaMemcpyHostToDevice, stream), cudaSuccess);
    number = 2.0F;
    QCOMPARE(cudaStreamSynchronize(stream), cudaSuccess);
    QCOMPARE(peek(value.data()), 1.0F);
}

void TstStreams::takesPageLockedNumbersLater()
{
    const DeviceValues<float> value(1);
    cudaStream_t stream = newStream();
    float *number = nullptr;
    QCOMPARE(cudaMallocHost(&number, 4), cudaSuccess);
    *number = 1.0F;
    QCOMPARE(cudaMemcpyAsync(value.data(), number, 4, cudaMemcpyHostToDevice, stream), cudaSuccess);
    *number = 2.0F; // too early
    QCOMPARE(cudaStreamSynchronize(stream), cudaSuccess);
    QCOMPARE(peek(value.data()), 2.0F);
}

void TstStreams::givesNumbersLater()
{
    const DeviceValues<float> value(std::vector<float>{1.0F});
    cudaStream_t stream = newStream();
    float *number = nullptr;
    QCOMPARE(cudaMallocHost(&number, 4), cudaSuccess);
    *number = 0.0F;
    QCOMPARE(cudaMemcpyAsync(number, value.data(), 4, cudaMemcpyDeviceToHost, stream), cudaSuccess);
    QVERIFY(std::isnan(*number)); // too early
    QCOMPARE(cudaStreamSynchronize(stream), cudaSuccess);
    QCOMPARE(*number, 1.0F);
    // Pageable memory has its numbers when the call returns.
    QCOMPARE(append(value.data(), 5, stream), cudaSuccess);
    float pageable = 0.0F;
    QCOMPARE(cudaMemcpyAsync(&pageable, value.data(), 4, cudaMemcpyDeviceToHost, stream), cudaSuccess);
    QCOMPARE(pageable, 15.0F);
    // A plain copy knows nothing of what non-blocking streams still have to do.
    QCOMPARE(append(value.data(), 6, stream), cudaSuccess);
    QCOMPARE(cudaMemcpy(&pageable, value.data(), 4, cudaMemcpyDeviceToHost), cudaSuccess);
    QCOMPARE(pageable, 15.0F);
}

void TstStreams::freeingWaits()
{
    float *value = nullptr;
    QCOMPARE(cudaMalloc(&value, 4), cudaSuccess);
    cudaStream_t stream = newStream();
    QCOMPARE(append(value, 1, stream), cudaSuccess);
    QCOMPARE(cudaFree(value), cudaSuccess);
    QCOMPARE(cudahost::launchCount(), 1);
    QVERIFY(cudahost::takeFaults().empty());
}

void TstStreams::freesInOrder()
{
    cudaStream_t stream = newStream();
    float *value = nullptr;
    QCOMPARE(cudaMallocAsync(&value, 4, stream), cudaSuccess);
    QCOMPARE(append(value, 1, stream), cudaSuccess);
    QCOMPARE(cudaFreeAsync(value, stream), cudaSuccess);
    QCOMPARE(cudahost::allocationCount(), std::size_t{1});
    QCOMPARE(cudaStreamSynchronize(stream), cudaSuccess);
    QCOMPARE(cudahost::allocationCount(), std::size_t{0});
    QCOMPARE(cudaFreeAsync(value, stream), cudaErrorInvalidValue);
}

void TstStreams::noticesCopiesOfFreedMemory()
{
    cudaStream_t first = newStream();
    cudaStream_t second = newStream();
    const DeviceValues<float> target(1);
    float *source = nullptr;
    QCOMPARE(cudaMallocAsync(&source, 4, first), cudaSuccess);
    QCOMPARE(cudaMemcpyAsync(target.data(), source, 4, cudaMemcpyDeviceToDevice, first), cudaSuccess);
    QCOMPARE(cudaFreeAsync(source, second), cudaSuccess); // should have waited for the other stream
    QCOMPARE(cudaStreamSynchronize(second), cudaSuccess);
    QCOMPARE(cudaStreamSynchronize(first), cudaErrorIllegalAddress);
    QCOMPARE(cudahost::takeFaults(),
             std::vector<std::string>{"a copy's source was freed before the copy was done"});
}

void TstStreams::callsTheHost()
{
    cudaStream_t stream = newStream();
    int calls = 0;
    const auto count = [](void *argument) { ++*static_cast<int *>(argument); };
    QCOMPARE(cudaLaunchHostFunc(stream, count, &calls), cudaSuccess);
    QCOMPARE(calls, 0);
    QCOMPARE(cudaStreamSynchronize(stream), cudaSuccess);
    QCOMPARE(calls, 1);
}

void TstStreams::errorsComeLater()
{
    cudahost::Settings settings = cudahost::settings();
    settings.loseAtLaunch = 1;
    cudahost::configure(settings);
    const DeviceValues<float> value(std::vector<float>{0.0F});
    cudaStream_t stream = newStream();
    QCOMPARE(append(value.data(), 1, stream), cudaSuccess);
    QCOMPARE(append(value.data(), 2, stream), cudaSuccess);
    QCOMPARE(cudaStreamSynchronize(stream), cudaErrorIllegalAddress);
    QCOMPARE(peek(value.data()), 0.0F);
    QCOMPARE(append(value.data(), 3, stream), cudaErrorIllegalAddress);
}

void TstStreams::measuresTime()
{
    cudaStream_t stream = newStream();
    cudaEvent_t from = nullptr;
    cudaEvent_t to = nullptr;
    cudaEvent_t withoutTime = nullptr;
    QCOMPARE(cudaEventCreate(&from), cudaSuccess);
    QCOMPARE(cudaEventCreate(&to), cudaSuccess);
    QCOMPARE(cudaEventCreateWithFlags(&withoutTime, cudaEventDisableTiming), cudaSuccess);
    float milliseconds = -1.0F;
    QCOMPARE(cudaEventElapsedTime(&milliseconds, from, to), cudaErrorInvalidResourceHandle);
    QCOMPARE(cudaEventRecord(from, stream), cudaSuccess);
    QCOMPARE(cudaEventRecord(to, stream), cudaSuccess);
    QCOMPARE(cudaEventElapsedTime(&milliseconds, from, to), cudaErrorNotReady);
    QCOMPARE(cudaEventSynchronize(to), cudaSuccess);
    QCOMPARE(cudaEventElapsedTime(&milliseconds, from, to), cudaSuccess);
    QVERIFY(milliseconds >= 0.0F);
    QCOMPARE(cudaEventRecord(withoutTime, stream), cudaSuccess);
    QCOMPARE(cudaEventElapsedTime(&milliseconds, from, withoutTime), cudaErrorInvalidResourceHandle);
}

void TstStreams::refusesWhatIsNoStream()
{
    cudaStream_t stream = newStream();
    QCOMPARE(cudaStreamDestroy(stream), cudaSuccess);
    QCOMPARE(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
    QCOMPARE(cudaStreamDestroy(stream), cudaErrorInvalidResourceHandle);
    const DeviceValues<float> value(1);
    QCOMPARE(append(value.data(), 1, stream), cudaErrorInvalidResourceHandle);
    QCOMPARE(cudaMemsetAsync(value.data(), 0, 4, stream), cudaErrorInvalidResourceHandle);
    QCOMPARE(cudaStreamCreateWithFlags(&stream, 2), cudaErrorInvalidValue);
}

TOKENLOUPE_TEST_MAIN(TstStreams)
#include "tst_streams.moc"
