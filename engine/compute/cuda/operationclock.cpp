// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/compute/cuda/operationclock.h"

#include <utility>

namespace tokenloupe {

OperationClock::~OperationClock()
{
    for (const cudaEvent_t event : m_events)
        cudaEventDestroy(event);
    if (!m_events.empty())
        cudaGetLastError();
}

void OperationClock::turn(Measuring measuring)
{
    m_isOn = measuring == Measuring::On;
    m_times = {};
    m_marks.clear();
}

void OperationClock::begin(Operation operation, cudaStream_t stream)
{
    if (!m_isOn)
        return;
    const bool goesOn = !m_marks.empty() && !m_marks.back().isEnd && m_marks.back().operation == operation;
    if (!goesOn)
        mark({operation, false}, stream);
}

void OperationClock::end(cudaStream_t stream)
{
    if (m_isOn && !m_marks.empty() && !m_marks.back().isEnd)
        mark({m_marks.back().operation, true}, stream);
}

void OperationClock::mark(Mark mark, cudaStream_t stream)
{
    if (m_events.size() == m_marks.size()) {
        cudaEvent_t event = nullptr;
        if (cudaEventCreate(&event) != cudaSuccess) {
            cudaGetLastError();
            return;
        }
        m_events.push_back(event);
    }
    if (cudaEventRecord(m_events[m_marks.size()], stream) == cudaSuccess)
        m_marks.push_back(mark);
    else
        cudaGetLastError();
}

void OperationClock::settle()
{
    for (std::size_t i = 0; i + 1 < m_marks.size(); ++i) {
        if (m_marks[i].isEnd)
            continue;
        float milliseconds = 0.0F;
        if (cudaEventElapsedTime(&milliseconds, m_events[i], m_events[i + 1]) == cudaSuccess)
            m_times.add(m_marks[i].operation, milliseconds);
        else
            cudaGetLastError();
    }
    m_marks.clear();
}

OperationTimes OperationClock::take()
{
    return std::exchange(m_times, {});
}

} // namespace tokenloupe
