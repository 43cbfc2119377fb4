// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cudahost/calls.h"
#include "tests/cudahost/launch.h"
#include "tests/cudahost/runtimeapi.h"

#include <algorithm>

using cudahost::beginsEarly;
using cudahost::Call;
using cudahost::Capture;
using cudahost::failed;
using cudahost::runOverlapped;
using cudahost::Work;
using cudahost::WorkKind;

namespace {

bool isJoined(const Capture &capture)
{
    return std::all_of(capture.branches.begin(), capture.branches.end(),
                       [](const auto &branch) { return branch.second.joined >= branch.second.asked; });
}

} // namespace

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode)
{
    const Call call;
    if (call.isRefused())
        return call.refusal();
    const std::shared_ptr<CUstream_st> stream = call.device.streams.find(handle);
    if (stream == nullptr)
        return failed(cudaErrorInvalidResourceHandle);
    if (call.device.streams.isDefault(stream))
        return failed(cudaErrorStreamCaptureUnsupported);
    if (stream->capture != nullptr)
        return failed(cudaErrorIllegalState);
    stream->capture = std::make_shared<Capture>();
    stream->capture->origin = stream.get();
    stream->capture->mode = mode;
    stream->capture->thread = std::this_thread::get_id();
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t *graph)
{
    const Call call;
    if (call.isRefused())
        return call.refusal();
    *graph = nullptr;
    const std::shared_ptr<CUstream_st> stream = call.device.streams.find(handle);
    if (stream == nullptr)
        return failed(cudaErrorInvalidResourceHandle);
    const std::shared_ptr<Capture> capture = stream->capture;
    if (capture == nullptr)
        return failed(cudaErrorIllegalState);
    if (capture->origin != stream.get()) {
        capture->isBroken = true;
        return failed(cudaErrorStreamCaptureUnmatched);
    }
    if (capture->mode != cudaStreamCaptureModeRelaxed && capture->thread != std::this_thread::get_id())
        return failed(cudaErrorStreamCaptureWrongThread);
    const cudaError_t error = capture->isBroken     ? cudaErrorStreamCaptureInvalidated
                              : !isJoined(*capture) ? cudaErrorStreamCaptureUnjoined
                                                    : cudaSuccess;
    call.device.streams.leaveCapture(capture);
    if (error != cudaSuccess)
        return failed(error);
    *graph = call.device.graphs.create();
    (*graph)->nodes = std::move(capture->nodes);
    return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus *status)
{
    const Call call;
    if (call.isRefused())
        return call.refusal();
    const std::shared_ptr<CUstream_st> stream = call.device.streams.find(handle);
    if (stream == nullptr)
        return failed(cudaErrorInvalidResourceHandle);
    *status = stream->capture == nullptr  ? cudaStreamCaptureStatusNone
              : stream->capture->isBroken ? cudaStreamCaptureStatusInvalidated
                                          : cudaStreamCaptureStatusActive;
    return cudaSuccess;
}

// Only their number: nothing can be done with single nodes here.
cudaError_t cudaGraphGetNodes(cudaGraph_t handle, cudaGraphNode_t *nodes, std::size_t *count)
{
    const Call call;
    if (call.isRefused())
        return call.refusal();
    const std::shared_ptr<CUgraph_st> graph = call.device.graphs.find(handle);
    if (graph == nullptr || count == nullptr)
        return failed(cudaErrorInvalidValue);
    if (nodes != nullptr)
        return failed(cudaErrorNotSupported);
    *count = graph->nodes.size();
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t handle, unsigned long long)
{
    const Call call;
    if (call.isRefused())
        return call.refusal();
    const std::shared_ptr<CUgraph_st> graph = call.device.graphs.find(handle);
    if (graph == nullptr || executable == nullptr)
        return failed(cudaErrorInvalidValue);
    *executable = call.device.executables.create();
    (*executable)->nodes = graph->nodes;
    return cudaSuccess;
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executableHandle, cudaGraph_t handle,
                                cudaGraphExecUpdateResultInfo *result)
{
    const Call call;
    if (call.isRefused())
        return call.refusal();
    const std::shared_ptr<CUgraph_st> graph = call.device.graphs.find(handle);
    const std::shared_ptr<CUgraphExec_st> executable = call.device.executables.find(executableHandle);
    if (graph == nullptr || executable == nullptr || result == nullptr)
        return failed(cudaErrorInvalidValue);
    *result = {cudaGraphExecUpdateSuccess, nullptr, nullptr};
    if (graph->nodes.size() != executable->nodes.size())
        result->result = cudaGraphExecUpdateErrorTopologyChanged;
    for (std::size_t i = 0; i < graph->nodes.size() && result->result == cudaGraphExecUpdateSuccess; ++i)
        if (graph->nodes[i].kind != executable->nodes[i].kind)
            result->result = cudaGraphExecUpdateErrorNodeTypeChanged;
    if (result->result != cudaGraphExecUpdateSuccess)
        return failed(cudaErrorGraphExecUpdateFailure);
    executable->nodes = graph->nodes;
    return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t handle, cudaStream_t)
{
    const Call call;
    if (call.isRefused())
        return call.refusal();
    return failed(call.device.executables.find(handle) != nullptr ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t handle, cudaStream_t stream)
{
    const Call call;
    if (call.isRefused())
        return call.refusal();
    const std::shared_ptr<CUgraphExec_st> executable = call.device.executables.find(handle);
    if (executable == nullptr)
        return failed(cudaErrorInvalidValue);
    // What is launched is the graph as it is now, whatever becomes of it.
    const auto run = [&device = call.device, nodes = executable->nodes] {
        for (std::size_t i = 0; i < nodes.size() && device.state() == cudaSuccess; ++i) {
            if (i + 1 < nodes.size() && beginsEarly(nodes[i], nodes[i + 1])) {
                runOverlapped(nodes[i], nodes[i + 1]);
                ++i;
            } else {
                nodes[i].run();
            }
        }
    };
    return failed(call.device.streams.submit(stream, {WorkKind::Graph, nullptr, run}));
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable)
{
    const Call call;
    if (call.isRefused())
        return call.refusal();
    return failed(call.device.executables.destroy(executable) ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    const Call call;
    if (call.isRefused())
        return call.refusal();
    return failed(call.device.graphs.destroy(graph) ? cudaSuccess : cudaErrorInvalidValue);
}
