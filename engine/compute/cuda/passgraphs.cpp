// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/cuda/passgraphs.h"

#include <algorithm>
#include <utility>

namespace tokenloupe {

namespace {

constexpr std::size_t mostEntries = 8; ///< one for each doubling of the context, and some for other shapes

void destroy(cudaGraphExec_t launches)
{
    if (launches)
        cudaGraphExecDestroy(launches);
}

} // namespace

PassGraphs::~PassGraphs()
{
    abandon();
    forget();
}

std::size_t PassGraphs::count() const
{
    return static_cast<std::size_t>(
        std::count_if(m_entries.begin(), m_entries.end(), [](const Entry &entry) { return entry.launches; }));
}

void PassGraphs::forget()
{
    drop();
    m_entries.clear();
}

void PassGraphs::drop()
{
    for (Entry &entry : m_entries)
        destroy(std::exchange(entry.launches, nullptr));
}

PassGraphs::Entry &PassGraphs::entryFor(const PassKey &key)
{
    const auto known = std::find_if(m_entries.begin(), m_entries.end(),
                                    [&](const Entry &entry) { return entry.key == key; });
    if (known != m_entries.end())
        return *known;
    if (m_entries.size() < mostEntries)
        return m_entries.emplace_back(Entry{key, nullptr, 0});
    Entry &oldest = *std::min_element(m_entries.begin(), m_entries.end(),
                                      [](const Entry &a, const Entry &b) { return a.usedAt < b.usedAt; });
    destroy(oldest.launches);
    oldest = Entry{key, nullptr, 0};
    return oldest;
}

Status PassGraphs::start(Entry &entry)
{
    ++m_replays;
    return m_queue->check(cudaGraphLaunch(entry.launches, m_queue->stream()), "forward pass");
}

Result<PassGraphs::Step> PassGraphs::begin(const PassKey &key)
{
    if (!m_isOn)
        return Step::Run;
    Entry &entry = entryFor(key);
    const bool isNew = entry.usedAt == 0;
    entry.usedAt = ++m_clock;
    if (entry.launches) {
        if (Status started = start(entry); !started)
            return tl::unexpected(started.error());
        return Step::Replayed;
    }
    if (isNew)
        return Step::Run;
    if (cudaStreamBeginCapture(m_queue->stream(), cudaStreamCaptureModeThreadLocal) != cudaSuccess) {
        cudaGetLastError();
        m_isOn = false;
        return Step::Run;
    }
    m_isCapturing = true;
    m_captured = static_cast<std::size_t>(&entry - m_entries.data());
    return Step::Capture;
}

Result<bool> PassGraphs::end()
{
    m_isCapturing = false;
    cudaGraph_t graph = nullptr;
    cudaError_t made = cudaStreamEndCapture(m_queue->stream(), &graph);
    Entry &entry = m_entries[m_captured];
    if (made == cudaSuccess)
        made = cudaGraphInstantiate(&entry.launches, graph, 0);
    if (graph)
        cudaGraphDestroy(graph);
    if (made == cudaSuccess) {
        if (Status started = start(entry); !started)
            return tl::unexpected(started.error());
        return true;
    }
    entry.launches = nullptr;
    m_isOn = false;
    const Status failed = m_queue->check(made, "remember a forward pass");
    if (m_queue->isLost())
        return tl::unexpected(failed.error());
    return false; // without graphs it works as well
}

void PassGraphs::abandon()
{
    if (!m_isCapturing)
        return;
    m_isCapturing = false;
    cudaGraph_t graph = nullptr;
    cudaStreamEndCapture(m_queue->stream(), &graph);
    if (graph)
        cudaGraphDestroy(graph);
    cudaGetLastError();
}

} // namespace tokenloupe
