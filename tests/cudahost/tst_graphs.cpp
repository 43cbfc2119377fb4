// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cuda/launch.h"
#include "tests/cudahost/cudahost.h"
#include "tests/cudahost/devicevalues.h"
#include "tests/support/testmain.h"

using namespace cudahost::test;
using tokenloupe::cuda::followPrevious;
using tokenloupe::cuda::launch;

namespace {

__global__ void addTo(float *value, float number)
{
    followPrevious();
    *value = *value * 10.0F + number;
}

cudaError_t append(float *value, int number, cudaStream_t stream)
{
    return launch(addTo, {dim3(1), dim3(1), 0}, stream, value, static_cast<float>(number));
}

} // namespace

/// Graphs that are made of what a stream is asked for.
class TstGraphs : public QObject
{
    Q_OBJECT

private slots:
    void init();
    void cleanup() { QVERIFY(cudahost::takeFaults().empty()); }
    void runsWhatWasAskedFor();
    void keepsParameters();
    void readsMemoryWhenLaunched();
    void isUpdated();
    void forksAndJoins();
    void hasToBeJoined();
    void breaksByWaiting_data();
    void breaksByWaiting();
    void breaksByOtherStreams();
    void relaxedCapturesAllow();
    void isEndedByItsStream();
    void losesDevice();

private:
    cudaGraphExec_t captured(float *value, std::initializer_list<int> numbers);

    cudaStream_t m_stream = nullptr;
};

void TstGraphs::init()
{
    cudahost::Settings settings;
    settings.faultReport = cudahost::FaultReport::Kept;
    cudahost::reset(settings);
    QCOMPARE(cudaStreamCreateWithFlags(&m_stream, cudaStreamNonBlocking), cudaSuccess);
}

// A graph that appends these numbers.
cudaGraphExec_t TstGraphs::captured(float *value, std::initializer_list<int> numbers)
{
    demand(cudaStreamBeginCapture(m_stream, cudaStreamCaptureModeThreadLocal));
    for (const int number : numbers)
        demand(append(value, number, m_stream));
    cudaGraph_t graph = nullptr;
    demand(cudaStreamEndCapture(m_stream, &graph));
    cudaGraphExec_t executable = nullptr;
    demand(cudaGraphInstantiate(&executable, graph));
    demand(cudaGraphDestroy(graph));
    return executable;
}

void TstGraphs::runsWhatWasAskedFor()
{
    const DeviceValues<float> value(std::vector<float>{0.0F});
    cudaGraphExec_t executable = captured(value.data(), {1, 2});
    QCOMPARE(value.read().front(), 0.0F); // nothing was done yet
    QCOMPARE(cudahost::launchCount(), 0);
    QCOMPARE(cudaGraphUpload(executable, m_stream), cudaSuccess);
    QCOMPARE(cudaGraphLaunch(executable, m_stream), cudaSuccess);
    QCOMPARE(cudaGraphLaunch(executable, m_stream), cudaSuccess);
    QCOMPARE(value.read().front(), 1212.0F);
    QCOMPARE(cudahost::launchCount(), 4);
    QCOMPARE(cudaGraphExecDestroy(executable), cudaSuccess);
    QCOMPARE(cudaGraphLaunch(executable, m_stream), cudaErrorInvalidValue);
}

void TstGraphs::keepsParameters()
{
    const DeviceValues<float> value(std::vector<float>{0.0F});
    int number = 7;
    QCOMPARE(cudaStreamBeginCapture(m_stream, cudaStreamCaptureModeGlobal), cudaSuccess);
    QCOMPARE(append(value.data(), number, m_stream), cudaSuccess);
    number = 8;
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    QCOMPARE(cudaStreamIsCapturing(m_stream, &status), cudaSuccess);
    QCOMPARE(status, cudaStreamCaptureStatusActive);
    cudaGraph_t graph = nullptr;
    QCOMPARE(cudaStreamEndCapture(m_stream, &graph), cudaSuccess);
    QCOMPARE(cudaStreamIsCapturing(m_stream, &status), cudaSuccess);
    QCOMPARE(status, cudaStreamCaptureStatusNone);
    std::size_t nodes = 0;
    QCOMPARE(cudaGraphGetNodes(graph, nullptr, &nodes), cudaSuccess);
    QCOMPARE(nodes, std::size_t{1});
    cudaGraphExec_t executable = nullptr;
    QCOMPARE(cudaGraphInstantiate(&executable, graph), cudaSuccess);
    QCOMPARE(cudaGraphLaunch(executable, m_stream), cudaSuccess);
    QCOMPARE(value.read().front(), 7.0F);
}

void TstGraphs::readsMemoryWhenLaunched()
{
    const DeviceValues<float> value(1);
    float *number = nullptr;
    QCOMPARE(cudaMallocHost(&number, 4), cudaSuccess);
    *number = 1.0F;
    QCOMPARE(cudaStreamBeginCapture(m_stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    QCOMPARE(cudaMemcpyAsync(value.data(), number, 4, cudaMemcpyHostToDevice, m_stream), cudaSuccess);
    QCOMPARE(append(value.data(), 5, m_stream), cudaSuccess);
    QCOMPARE(cudaMemcpyAsync(number, value.data(), 4, cudaMemcpyDeviceToHost, m_stream), cudaSuccess);
    cudaGraph_t graph = nullptr;
    QCOMPARE(cudaStreamEndCapture(m_stream, &graph), cudaSuccess);
    cudaGraphExec_t executable = nullptr;
    QCOMPARE(cudaGraphInstantiate(&executable, graph), cudaSuccess);
    *number = 3.0F;
    QCOMPARE(cudaGraphLaunch(executable, m_stream), cudaSuccess);
    QCOMPARE(*number, 35.0F);
    QCOMPARE(cudaGraphLaunch(executable, m_stream), cudaSuccess);
    QCOMPARE(*number, 355.0F);
}

void TstGraphs::isUpdated()
{
    const DeviceValues<float> value(std::vector<float>{0.0F});
    cudaGraphExec_t executable = captured(value.data(), {1, 2});
    const auto update = [&](std::initializer_list<int> numbers, cudaGraphExecUpdateResult expected) {
        demand(cudaStreamBeginCapture(m_stream, cudaStreamCaptureModeThreadLocal));
        for (const int number : numbers)
            demand(number == 0 ? cudaMemsetAsync(value.data(), 0, 4, m_stream)
                               : append(value.data(), number, m_stream));
        cudaGraph_t graph = nullptr;
        demand(cudaStreamEndCapture(m_stream, &graph));
        cudaGraphExecUpdateResultInfo result{};
        const cudaError_t error = cudaGraphExecUpdate(executable, graph, &result);
        QCOMPARE(result.result, expected);
        QCOMPARE(error,
                 expected == cudaGraphExecUpdateSuccess ? cudaSuccess : cudaErrorGraphExecUpdateFailure);
    };
    update({3, 4}, cudaGraphExecUpdateSuccess);
    update({5}, cudaGraphExecUpdateErrorTopologyChanged);
    update({5, 0}, cudaGraphExecUpdateErrorNodeTypeChanged);
    QCOMPARE(cudaGraphLaunch(executable, m_stream), cudaSuccess);
    QCOMPARE(value.read().front(), 34.0F);
}

void TstGraphs::forksAndJoins()
{
    const DeviceValues<float> values(std::vector<float>{0.0F, 0.0F});
    cudaStream_t other = nullptr;
    cudaEvent_t event = nullptr;
    QCOMPARE(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
    QCOMPARE(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
    QCOMPARE(cudaStreamBeginCapture(m_stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    QCOMPARE(append(values.data(), 1, m_stream), cudaSuccess);
    QCOMPARE(cudaEventRecord(event, m_stream), cudaSuccess);
    QCOMPARE(cudaStreamWaitEvent(other, event), cudaSuccess);
    QCOMPARE(append(values.data() + 1, 2, other), cudaSuccess);
    QCOMPARE(cudaEventQuery(event), cudaErrorCapturedEvent);
    QCOMPARE(cudaEventRecord(event, other), cudaSuccess);
    QCOMPARE(append(values.data(), 3, m_stream), cudaSuccess);
    QCOMPARE(cudaStreamWaitEvent(m_stream, event), cudaSuccess);
    cudaGraph_t graph = nullptr;
    QCOMPARE(cudaStreamEndCapture(m_stream, &graph), cudaSuccess);
    QCOMPARE(values.read(), (std::vector<float>{0.0F, 0.0F}));
    cudaGraphExec_t executable = nullptr;
    QCOMPARE(cudaGraphInstantiate(&executable, graph), cudaSuccess);
    QCOMPARE(cudaGraphLaunch(executable, m_stream), cudaSuccess);
    QCOMPARE(values.read(), (std::vector<float>{13.0F, 2.0F}));
    // The other stream is free again.
    QCOMPARE(append(values.data() + 1, 4, other), cudaSuccess);
    QCOMPARE(values.read(), (std::vector<float>{13.0F, 24.0F}));
    QCOMPARE(cudaStreamWaitEvent(other, event), cudaErrorCapturedEvent);
}

void TstGraphs::hasToBeJoined()
{
    const DeviceValues<float> value(std::vector<float>{0.0F});
    cudaStream_t other = nullptr;
    cudaEvent_t event = nullptr;
    QCOMPARE(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
    QCOMPARE(cudaEventCreate(&event), cudaSuccess);
    QCOMPARE(cudaStreamBeginCapture(m_stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    QCOMPARE(append(value.data(), 1, m_stream), cudaSuccess);
    QCOMPARE(cudaEventRecord(event, m_stream), cudaSuccess);
    QCOMPARE(cudaStreamWaitEvent(other, event), cudaSuccess);
    QCOMPARE(append(value.data(), 2, other), cudaSuccess);
    cudaGraph_t graph = nullptr;
    QCOMPARE(cudaStreamEndCapture(other, &graph), cudaErrorStreamCaptureUnmatched);
    QCOMPARE(cudaStreamEndCapture(m_stream, &graph), cudaErrorStreamCaptureInvalidated);

    QCOMPARE(cudaStreamBeginCapture(m_stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    QCOMPARE(append(value.data(), 1, m_stream), cudaSuccess);
    QCOMPARE(cudaEventRecord(event, m_stream), cudaSuccess);
    QCOMPARE(cudaStreamWaitEvent(other, event), cudaSuccess);
    QCOMPARE(append(value.data(), 2, other), cudaSuccess);
    QCOMPARE(cudaStreamEndCapture(m_stream, &graph), cudaErrorStreamCaptureUnjoined);
    QCOMPARE(graph, nullptr);
}

void TstGraphs::breaksByWaiting_data()
{
    QTest::addColumn<int>("call");
    QTest::addRow("for the stream") << 0;
    QTest::addRow("for the device") << 1;
    QTest::addRow("by allocating") << 2;
    QTest::addRow("by freeing") << 3;
    QTest::addRow("by copying") << 4;
    QTest::addRow("by asking") << 5;
    QTest::addRow("by allocating on the host") << 6;
}

void TstGraphs::breaksByWaiting()
{
    QFETCH(const int, call);
    const DeviceValues<float> value(std::vector<float>{0.0F});
    float number = 0.0F;
    void *data = nullptr;
    QCOMPARE(cudaStreamBeginCapture(m_stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    QCOMPARE(append(value.data(), 1, m_stream), cudaSuccess);
    const cudaError_t error = call == 0   ? cudaStreamSynchronize(m_stream)
                              : call == 1 ? cudaDeviceSynchronize()
                              : call == 2 ? cudaMalloc(&data, 4)
                              : call == 3 ? cudaFree(value.data())
                              : call == 4 ? cudaMemcpy(&number, value.data(), 4, cudaMemcpyDeviceToHost)
                              : call == 5 ? cudaStreamQuery(m_stream)
                                          : cudaMallocHost(&data, 4);
    QCOMPARE(error, cudaErrorStreamCaptureUnsupported);
    QCOMPARE(append(value.data(), 2, m_stream), cudaErrorStreamCaptureInvalidated);
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    QCOMPARE(cudaStreamIsCapturing(m_stream, &status), cudaSuccess);
    QCOMPARE(status, cudaStreamCaptureStatusInvalidated);
    cudaGraph_t graph = nullptr;
    QCOMPARE(cudaStreamEndCapture(m_stream, &graph), cudaErrorStreamCaptureInvalidated);
    QCOMPARE(append(value.data(), 3, m_stream), cudaSuccess);
    QCOMPARE(value.read().front(), 3.0F);
}

void TstGraphs::breaksByOtherStreams()
{
    cudaStream_t blocking = nullptr;
    QCOMPARE(cudaStreamCreate(&blocking), cudaSuccess);
    const DeviceValues<float> value(std::vector<float>{0.0F});
    QCOMPARE(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeRelaxed), cudaSuccess);
    QCOMPARE(append(value.data(), 1, nullptr), cudaErrorStreamCaptureImplicit);
    cudaGraph_t graph = nullptr;
    QCOMPARE(cudaStreamEndCapture(blocking, &graph), cudaErrorStreamCaptureInvalidated);
    // An event of before is no part of the graph.
    cudaEvent_t event = nullptr;
    QCOMPARE(cudaEventCreate(&event), cudaSuccess);
    QCOMPARE(cudaEventRecord(event, m_stream), cudaSuccess);
    QCOMPARE(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeRelaxed), cudaSuccess);
    QCOMPARE(cudaStreamWaitEvent(blocking, event), cudaErrorStreamCaptureIsolation);
    QCOMPARE(cudaStreamEndCapture(blocking, &graph), cudaErrorStreamCaptureInvalidated);
}

void TstGraphs::relaxedCapturesAllow()
{
    QCOMPARE(cudaStreamBeginCapture(m_stream, cudaStreamCaptureModeRelaxed), cudaSuccess);
    void *data = nullptr;
    QCOMPARE(cudaMalloc(&data, 4), cudaSuccess);
    cudaGraph_t graph = nullptr;
    QCOMPARE(cudaStreamEndCapture(m_stream, &graph), cudaSuccess);
    QCOMPARE(cudaFree(data), cudaSuccess);
}

void TstGraphs::isEndedByItsStream()
{
    cudaGraph_t graph = nullptr;
    QCOMPARE(cudaStreamEndCapture(m_stream, &graph), cudaErrorIllegalState);
    QCOMPARE(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal), cudaErrorStreamCaptureUnsupported);
    QCOMPARE(cudaStreamBeginCapture(m_stream, cudaStreamCaptureModeGlobal), cudaSuccess);
    QCOMPARE(cudaStreamBeginCapture(m_stream, cudaStreamCaptureModeGlobal), cudaErrorIllegalState);
    QCOMPARE(cudaStreamEndCapture(m_stream, &graph), cudaSuccess);
}

void TstGraphs::losesDevice()
{
    const DeviceValues<float> value(std::vector<float>{0.0F});
    cudaGraphExec_t executable = captured(value.data(), {1, 2, 3});
    cudahost::Settings settings = cudahost::settings();
    settings.loseAtLaunch = 2;
    cudahost::configure(settings);
    QCOMPARE(cudaGraphLaunch(executable, m_stream), cudaErrorIllegalAddress);
    QVERIFY(cudahost::takeFaults().empty());
    QCOMPARE(value.read().front(), 1.0F);
}

TOKENLOUPE_TEST_MAIN(TstGraphs)
#include "tst_graphs.moc"
